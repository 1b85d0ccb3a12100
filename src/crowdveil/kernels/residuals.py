"""One pass over claims by object: its truth, and its users' losses while its claims are in cache."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled


@compiled
def add_squared_residuals(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    weights: Floats,
    scales: Floats,
    unit: float,
    first: int,
    last: int,
    truths: Floats,
    totals: Ints,
) -> None:
    """Put each object's weighted mean into `truths` and add (x - truth)^2 / scale to each user's total.

    Totals are whole multiples of 1/unit, so that the order of adding cannot matter. Where no weight is left
    the claims weigh the same; an object without a scale has a truth and tells nothing about users, and one
    without a claim has no truth (NaN).
    """
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        truths[i] = weighted_mean(values[a:b], user_codes[a:b], weights) if b > a else np.nan
        if scales[i] > 0.0:
            in_units = unit / scales[i]
            for s in range(a, b):
                residual = values[s] - truths[i]
                totals[user_codes[s]] += np.int64(residual * residual * in_units + 0.5)


@compiled
def weighted_mean(x: Floats, users: Codes, weights: Floats) -> float:
    """The mean of ascending claims by their users' weights, taken around the median: digits are kept."""
    centre = x[x.size // 2]
    weighted = whole = plain = 0.0
    for s in range(x.size):
        weight = weights[users[s]]
        whole += weight
        weighted += weight * (x[s] - centre)
        plain += x[s] - centre
    return centre + (weighted / whole if whole > 0.0 else plain / x.size)
