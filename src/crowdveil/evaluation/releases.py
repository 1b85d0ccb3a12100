"""Errors of released claims with respect to known truths, and to the raw claims if they are available."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from crowdveil.claims import Claims
from crowdveil.errors import InputError
from crowdveil.evaluation.release_measures import (
    error_to_normal,
    integrated_squared_error,
    ise,
    silverman,
    sise,
    sise_as_printed,
)


def evaluate(
    released: pl.DataFrame, *, truths: pl.DataFrame | None = None, raw: Claims | None = None
) -> dict[str, Any]:
    """Errors of means and medians and, if `truths` has spreads or `raw` is given, of densities.

    The density of a released object has bandwidth 1.06 sd n^(-1/5) of its released claims.
    """
    values = {
        name: rows["value"].sort().to_numpy()
        for (name,), rows in released.group_by("object", maintain_order=True)
    }
    results: dict[str, Any] = {"objects_released": len(values), "claims_released": released.height}
    if truths is not None:
        results["truths"] = _against_truths(values, truths)
    if raw is not None:
        results["raw"] = _against_raw(values, raw)
    return results


def _summary(errors: list[float]) -> dict[str, float]:
    array = np.array(errors)
    return {"ise": ise(array), "sise": sise(array), "sise_as_printed": sise_as_printed(array)}


def _against_truths(values: dict[Any, Any], truths: pl.DataFrame) -> dict[str, Any]:
    compared = [row for row in truths.iter_rows(named=True) if row["object"] in values]
    if not compared:
        raise InputError("no object with a known truth was released")
    medians = [abs(float(np.median(values[row["object"]])) - row["value"]) for row in compared]
    means = [abs(float(np.mean(values[row["object"]])) - row["value"]) for row in compared]
    results: dict[str, Any] = {
        "objects": len(compared),
        "objects_missing": truths.height - len(compared),
        "error_of_median": float(np.mean(medians)),
        "error_of_mean": float(np.mean(means)),
        "median_error_of_median": float(np.median(medians)),
    }
    if "spread" in truths.columns:
        errors = []
        for row in compared:
            x = values[row["object"]]
            errors.append(error_to_normal(x, silverman(x, 1e-3 * row["spread"]), row["value"], row["spread"]))
        results["density"] = _summary(errors)
    return results


def _against_raw(values: dict[Any, Any], raw: Claims) -> dict[str, Any]:
    errors, centres = [], []
    for index, name in enumerate(raw.objects.cast(pl.String)):
        claims = raw.of(index)
        if name not in values or claims.size < 2 or claims[0] == claims[-1]:
            continue
        h = silverman(claims, 0.0)
        x = values[name]
        # In units of the object's own bandwidth, so that objects of all scales have the same weight.
        errors.append(
            integrated_squared_error(claims / h, None, 1.0, x / h, None, max(silverman(x, 0.0) / h, 1e-3))
        )
        centres.append(abs(float(np.median(x)) - float(np.median(claims))) / h)
    if not errors:
        raise InputError("no released object has raw claims that differ from each other")
    return {
        "secret": True,  # computed from raw claims
        "objects": len(errors),
        "error_of_median_in_bandwidths": float(np.mean(centres)),
        "density": _summary(errors),
    }
