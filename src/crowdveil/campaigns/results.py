"""Truths of a campaign as plain data and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from crowdveil.campaigns.kind import Result
from crowdveil.truths import Truths

LEVEL = 0.9  # how often intervals should cover the truth


def truths_result(truths: Truths, own_units: Mapping[str, tuple[float, float]] | None = None) -> Result:
    """Estimates with intervals, and users' weights; in objects' own units where these differ."""
    table = truths.to_frame(LEVEL)
    if own_units is not None:
        scale = pl.DataFrame(
            {
                "object": list(own_units),
                "low": [low for low, _ in own_units.values()],
                "length": [length for _, length in own_units.values()],
            }
        )
        joined = table.join(scale, on="object", how="left", maintain_order="left")
        ends = [
            (pl.col(name) * pl.col("length") + pl.col("low")).alias(name)
            for name in ("estimate", "lower", "upper")
        ]
        table = joined.with_columns(*ends, error=pl.col("error") * pl.col("length")).select(table.columns)
    summary: dict[str, Any] = {
        "truths": table.to_dicts(),
        "method": truths.method,
        "level": LEVEL,
        "converged": truths.converged,
    }
    return Result(summary, {"truths": table, "weights": truths.user_frame()})
