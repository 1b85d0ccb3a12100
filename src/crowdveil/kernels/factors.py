"""The loops of factorization: a user's sums, and means of predictions without a table of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled, inlined
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
    """Add products of the entries of each answered object's profile: the upper triangle, row by row."""
    for s in range(answered.size):
        place = 0
        for k in range(profiles.shape[1]):
            for other in range(k, profiles.shape[1]):
                triangle[place] += profiles[answered[s], k] * profiles[answered[s], other]
                place += 1


@inlined
def _predicted(user: Floats, profile: Floats, centre: float, low: float, high: float) -> float:
    found = centre
    for k in range(user.size):
        found += user[k] * profile[k]
    return min(max(found, low), high)


@compiled
def weighted_means(
    users: Floats, profiles: Floats, centre: float, low: float, high: float, weights: Floats, out: Floats
) -> None:
    """Fill `out` with each object's mean prediction, kept in [low, high], by users' weights."""
    out[:] = 0.0
    whole = 0.0
    for u in range(users.shape[0]):
        whole += weights[u]
        for j in range(out.size):
            out[j] += weights[u] * _predicted(users[u], profiles[j], centre, low, high)
    for j in range(out.size):
        out[j] /= whole


@compiled
def mean_squares(
    users: Floats, profiles: Floats, centre: float, low: float, high: float, truths: Floats, out: Floats
) -> None:
    """Fill `out` with the mean squared distance of each user's predictions to the truths."""
    for u in range(users.shape[0]):
        total = 0.0
        for j in range(truths.size):
            residual = _predicted(users[u], profiles[j], centre, low, high) - truths[j]
            total += residual * residual
        out[u] = total / truths.size
