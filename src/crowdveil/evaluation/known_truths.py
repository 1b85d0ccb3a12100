"""How close inferred truths come to known ones, over the objects that both tables have."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdveil.errors import ParameterError


def errors_of_numbers(inferred: pl.DataFrame, known: pl.DataFrame, *, source: str) -> dict[str, float]:
    """Mean absolute and root mean squared error, and the share of intervals that cover the known value.

    Parameters
    ----------
    inferred:
        Columns object, estimate, lower, upper and error; an unknown end of an interval is null.
    known:
        Columns object (text) and value.
    source:
        What error messages call the known values.

    """
    both = _joined(inferred, known, source)
    errors = (both["estimate"] - both["known"]).to_numpy()
    figures = {
        "compared": both.height,
        "mae": float(np.abs(errors).mean()),
        "rmse": float(np.sqrt(np.square(errors).mean())),
    }
    if both["error"].is_not_null().any():
        above = both["lower"].is_null() | (both["lower"] <= both["known"])
        below = both["upper"].is_null() | (both["known"] <= both["upper"])
        figures["covered"] = float((above & below).to_numpy().mean())
    return figures


def accuracy_of_labels(inferred: pl.DataFrame, known: pl.DataFrame, *, source: str) -> dict[str, float]:
    """The share of labels that are right; both tables as for numbers, with labels as text."""
    both = _joined(inferred.with_columns(pl.col("estimate").cast(pl.String)), known, source)
    return {"compared": both.height, "accuracy": float((both["estimate"] == both["known"]).to_numpy().mean())}


def _joined(inferred: pl.DataFrame, known: pl.DataFrame, source: str) -> pl.DataFrame:
    values = known.select("object", pl.col("value").alias("known"))
    both = inferred.with_columns(pl.col("object").cast(pl.String)).join(values, on="object")
    if both.is_empty():
        raise ParameterError(f"{source}: no object is in both files")
    return both
