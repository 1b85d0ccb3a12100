"""Loops of matrix factorization: a user's sums, and means of predictions without storing the predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled, fused, inlined
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import below


@compiled
def fill_profile(state: Words, fineness: int, steps: int, out: Ints) -> None:
    """Fill `out` with random positive shares of `steps`, rounded down; their sum is at most `steps`."""
    total = 0
    for k in range(out.size):
        out[k] = 1 + below(state, fineness)
        total += out[k]
    for k in range(out.size):
        out[k] = out[k] * steps // total


@compiled
def add_answers(
    answered: Codes, codes: NDArray[np.uint8], profiles: Ints, times: int, less: int, sums: Ints
) -> None:
    """Add (times * code - less) * (profile of the object) to `sums`, over a user's answers."""
    for s in range(answered.size):
        value = times * np.int64(codes[s]) - less
        for k in range(sums.size):
            sums[k] += value * profiles[answered[s], k]


@compiled
def add_products(answered: Codes, profiles: Ints, triangle: Ints) -> None:
    """Add the outer product of each answered object's profile to `triangle`: the upper triangle, by rows.

    Entries have at most 32 bits, so that a vector instruction computes several products at once.
    """
    dimensions = profiles.shape[1]
    profile = np.empty(dimensions, dtype=np.int32)
    for s in range(answered.size):
        profile[:] = profiles[answered[s]]
        begin = 0
        for k in range(dimensions):
            entry, others = np.int64(profile[k]), profile[k:]
            row = triangle[begin : begin + others.size]
            for i in range(others.size):
                row[i] += entry * np.int64(others[i])
            begin += others.size


@inlined
def _predict(
    user: Floats, dimensions: Floats, centre: float, low: float, high: float, first: int, out: Floats
) -> None:
    """Fill `out` with a user's predictions for objects from `first` on, clamped to [low, high].

    The outer loop is over dimensions, so that the loops over objects are vector instructions.
    """
    out[:] = centre
    for k in range(user.size):
        factor, row = user[k], dimensions[k][first : first + out.size]
        for j in range(out.size):
            out[j] += factor * row[j]
    for j in range(out.size):
        out[j] = min(max(out[j], low), high)


@fused
def weighted_means(
    users: Floats,
    dimensions: Floats,
    centre: float,
    low: float,
    high: float,
    weights: Floats,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Fill `out` for objects [first, last) with weighted means over users of predictions in [low, high].

    The columns of `dimensions` are the profiles of objects.
    """
    means, predicted = out[first:last], np.empty(last - first)
    means[:] = 0.0
    total_weight = 0.0
    for u in range(users.shape[0]):
        total_weight += weights[u]
        _predict(users[u], dimensions, centre, low, high, first, predicted)
        for j in range(means.size):
            means[j] += weights[u] * predicted[j]
    for j in range(means.size):
        means[j] /= total_weight


@fused
def mean_squares(
    users: Floats,
    dimensions: Floats,
    centre: float,
    low: float,
    high: float,
    truths: Floats,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Fill `out` for users [first, last) with the mean squared distance of predictions to truths."""
    predicted = np.empty(truths.size)
    for u in range(first, last):
        _predict(users[u], dimensions, centre, low, high, 0, predicted)
        total = 0.0
        for j in range(truths.size):
            residual = predicted[j] - truths[j]
            total += residual * residual
        out[u] = total / truths.size
