"""The loops of factorization: a user's sums, and means of predictions without a table of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled, fused, inlined
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import below


@compiled
def fill_profile(state: Words, fineness: int, steps: int, out: Ints) -> None:
    """Fill `out` with positive random shares of `steps`, rounded towards zero: no more in all."""
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
    """Add (times * code - less) * profile of its object to `sums`, over a user's answers."""
    for s in range(answered.size):
        value = times * np.int64(codes[s]) - less
        for k in range(sums.size):
            sums[k] += value * profiles[answered[s], k]


@compiled
def add_products(answered: Codes, profiles: Ints, triangle: Ints) -> None:
    """Add products of the entries of each answered object's profile: the upper triangle, row by row.

    Entries have at most 32 bits, and of those a vector instruction makes several products at once.
    """
    dimensions = profiles.shape[1]
    profile = np.empty(dimensions, dtype=np.int32)
    for s in range(answered.size):
        profile[:] = profiles[answered[s]]
        place = 0
        for k in range(dimensions):
            entry, others = np.int64(profile[k]), profile[k:]
            row = triangle[place : place + others.size]
            for i in range(others.size):
                row[i] += entry * np.int64(others[i])
            place += others.size


@inlined
def _predict(
    user: Floats, dimensions: Floats, centre: float, low: float, high: float, first: int, out: Floats
) -> None:
    """Fill `out` with a user's predictions for objects from `first` on, kept in [low, high].

    One dimension after another: so the loops over objects are vector instructions.
    """
    out[:] = centre
    for k in range(user.size):
        share, along = user[k], dimensions[k][first : first + out.size]
        for j in range(out.size):
            out[j] += share * along[j]
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
    """Fill `out` for objects from `first` to `last` with mean predictions, kept in [low, high], by weights.

    `dimensions` has objects' profiles as columns.
    """
    means, predicted = out[first:last], np.empty(last - first)
    means[:] = 0.0
    whole = 0.0
    for u in range(users.shape[0]):
        whole += weights[u]
        _predict(users[u], dimensions, centre, low, high, first, predicted)
        for j in range(means.size):
            means[j] += weights[u] * predicted[j]
    for j in range(means.size):
        means[j] /= whole


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
    """Fill `out` for users from `first` to `last` with the mean squared distance of predictions to truths."""
    predicted = np.empty(truths.size)
    for u in range(first, last):
        _predict(users[u], dimensions, centre, low, high, 0, predicted)
        total = 0.0
        for j in range(truths.size):
            residual = predicted[j] - truths[j]
            total += residual * residual
        out[u] = total / truths.size
