"""pandas with sums by `groupby`, weights and truths looked up by code."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.peers.truth_sweeps import Floats, discover
from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"pandas {pd.__version__}"


def truths(inputs: Arrays, method: str) -> Steps:
    """The table holds codes of objects and users, and is there before the clock starts."""
    return discover(inputs, _Groups(inputs), method)


class _Groups:
    def __init__(self, inputs: Arrays) -> None:
        offsets = inputs["offsets"]
        self._claims = pd.DataFrame(
            {
                "object": np.repeat(np.arange(offsets.size - 1), np.diff(offsets)),
                "user": inputs["users"].astype(np.int64),
                "value": inputs["values"],
            }
        )

    def prepare(self, power: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        claims = self._claims
        by_object = claims.groupby("object")["value"]
        medians, sd = by_object.median().to_numpy(), by_object.std().to_numpy()
        claims["apart"] = claims["value"] - medians[claims["object"]]
        claims["per_scale"] = (sd**-power)[claims["object"]]
        return medians, sd, claims.groupby("user").size().to_numpy()

    def means(self, weights: Floats, prior: float) -> Floats:
        claims = self._claims
        claims["weight"] = weights[claims["user"]]
        claims["weighted"] = claims["weight"] * claims["apart"]
        sums = claims.groupby("object")[["weighted", "weight"]].sum()
        found: Floats = (sums["weighted"] / (prior + sums["weight"])).to_numpy()
        return found

    def losses(self, means: Floats) -> Floats:
        claims = self._claims
        residuals = claims["apart"] - means[claims["object"]]
        claims["loss"] = residuals * residuals * claims["per_scale"]
        found: Floats = claims.groupby("user")["loss"].sum().to_numpy()
        return found
