"""One pass over claims by object: its truth, and its users' losses while its claims are in cache."""

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
    """Put each object's weighted mean into `truths` and add (x - truth)^2 / scale to each user's total.

    `prior` is the weight of one more claim at the object's median. Totals are whole multiples of 1/unit, so
    that the order of adding cannot matter. Where no weight is left the claims weigh the same; an object
    without a scale has a truth and tells nothing about users, and one without a claim has no truth (NaN).
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
    """The mean of ascending claims by their users' weights, taken around the median: digits are kept."""
    upper, lower = (a + b) >> np.uint64(1), (a + b - np.uint64(1)) >> np.uint64(1)
    centre = x[upper] + 0.5 * (x[lower] - x[upper])
    whole, weighted = prior, 0.0
    for s in range(a, b):
        weight = weights[np.uint64(users[s])]
        whole += weight
        weighted += weight * (x[s] - centre)
    if whole > 0.0:
        return centre + weighted / whole
    plain = 0.0
    for s in range(a, b):
        plain += x[s] - centre
    return centre + plain / (b - a)


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
    """The standard error of each weighted mean by its residuals r: sum (p r / (1 - p))^2, p shares of weight.

    A claim that counts for much pulls the mean towards itself; r / (1 - p) is its distance from the mean of
    the others. 1 / sum p^2 - 1 are the degrees of freedom, at least one. One claim, or one with all the
    weight, has an infinite error.
    """
    for i in range(first, last):
        a, b = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        whole = squares = spread = 0.0
        for s in range(a, b):
            whole += weights[np.uint64(user_codes[s])]
        truth = truths[i]
        for s in range(a, b):
            share = weights[np.uint64(user_codes[s])] / whole if whole > 0.0 else 1.0 / (b - a)
            apart = share * (values[s] - truth) / (1.0 - share) if share < 1.0 else 0.0
            squares += share * share
            spread += apart * apart
        known = b - a > np.uint64(1) and squares < 1.0 - 1e-9
        errors[i] = math.sqrt(spread) if known else np.inf
        freedom[i] = max(1.0, 1.0 / squares - 1.0) if known else 0.0


@compiled
def add_claims(offsets: Ints, user_codes: Codes, scales: Floats, first: int, last: int, totals: Ints) -> None:
    """Add one to a user's total for each claim about an object with a scale."""
    for i in range(first, last):
        if scales[i] > 0.0:
            for s in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
                totals[np.uint64(user_codes[s])] += 1


@compiled
def mean_step(truths: Floats, before: Floats, sd: Floats) -> float:
    """How far truths moved on average, in spreads; objects without a spread are left out."""
    steps, moving = 0.0, 0
    for i in range(truths.size):
        if sd[i] > 0.0:
            steps += abs(truths[i] - before[i]) / sd[i]
            moving += 1
    return steps / moving if moving > 0 else 0.0
