"""One pass over the claims by object: its truth, and the losses of its users while claims are in cache."""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled


@compiled
def add_squared_residuals(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    weights: Floats,
    prior: float,
    scales: Floats,
    unit: float,
    first: int,
    last: int,
    truths: Floats,
    totals: Ints,
) -> None:
    """Fill `truths` with each object's weighted mean and add (x - truth)^2 / scale to each user's total.

    `prior` is the weight of an additional claim at the object's median. Totals are integer multiples of
    1/unit, so the order of addition does not matter. If all weights are 0, the claims weigh the same. An
    object of scale 0 gets a truth but adds to no total; the truth of an object without claims is NaN.
    """
    for i in range(first, last):
        a, b = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        truth = weighted_mean(values, user_codes, weights, prior, a, b) if b > a else np.nan
        truths[i] = truth
        if scales[i] > 0.0:
            in_units = unit / scales[i]
            for s in range(a, b):
                residual = values[s] - truth
                totals[np.uint64(user_codes[s])] += np.int64(residual * residual * in_units + 0.5)


@compiled
def weighted_mean(x: Floats, users: Codes, weights: Floats, prior: float, a: int, b: int) -> float:
    """The weighted mean of ascending claims x[a:b], computed around the median for precision."""
    upper, lower = (a + b) >> np.uint64(1), (a + b - np.uint64(1)) >> np.uint64(1)
    centre = x[upper] + 0.5 * (x[lower] - x[upper])
    total_weight, weighted_sum = prior, 0.0
    for s in range(a, b):
        weight = weights[np.uint64(users[s])]
        total_weight += weight
        weighted_sum += weight * (x[s] - centre)
    if total_weight > 0.0:
        return centre + weighted_sum / total_weight
    plain_sum = 0.0
    for s in range(a, b):
        plain_sum += x[s] - centre
    return centre + plain_sum / (b - a)


@compiled
def standard_errors(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    weights: Floats,
    truths: Floats,
    first: int,
    last: int,
    errors: Floats,
    freedom: Floats,
) -> None:
    """Standard error of each weighted mean: the root of sum (p r / (1 - p))^2, for residuals r and weights p.

    The weights p of an object sum to 1. A claim of large weight pulls the mean towards itself; r / (1 - p) is
    its distance from the mean of the others. The degrees of freedom are 1 / sum p^2 - 1, at least 1. The
    error is infinite if there is one claim, or one claim has all the weight.
    """
    for i in range(first, last):
        a, b = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        total_weight = squares = variance = 0.0
        for s in range(a, b):
            total_weight += weights[np.uint64(user_codes[s])]
        truth = truths[i]
        for s in range(a, b):
            share = weights[np.uint64(user_codes[s])] / total_weight if total_weight > 0.0 else 1.0 / (b - a)
            term = share * (values[s] - truth) / (1.0 - share) if share < 1.0 else 0.0
            squares += share * share
            variance += term * term
        finite = b - a > np.uint64(1) and squares < 1.0 - 1e-9
        errors[i] = math.sqrt(variance) if finite else np.inf
        freedom[i] = max(1.0, 1.0 / squares - 1.0) if finite else 0.0


@compiled
def add_claims(offsets: Ints, user_codes: Codes, scales: Floats, first: int, last: int, totals: Ints) -> None:
    """Add 1 to a user's total for each of the user's claims about an object of positive scale."""
    for i in range(first, last):
        if scales[i] > 0.0:
            for s in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
                totals[np.uint64(user_codes[s])] += 1


@compiled
def mean_step(truths: Floats, before: Floats, sd: Floats) -> float:
    """The mean absolute change of truths, in units of each object's spread, over objects of spread > 0."""
    steps, counted = 0.0, 0
    for i in range(truths.size):
        if sd[i] > 0.0:
            steps += abs(truths[i] - before[i]) / sd[i]
            counted += 1
    return steps / counted if counted > 0 else 0.0
