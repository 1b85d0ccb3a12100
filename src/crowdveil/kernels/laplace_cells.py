"""Loops for Laplace noise on every cell: a device's row, and the server's weighted means over all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import below

Places = NDArray[np.int16]


@compiled
def fill_noisy(
    state: Words,
    answered: Codes,
    codes: NDArray[np.uint8],
    answers: int,
    null: int,
    noise: Ints,
    most: int,
    out: Places,
) -> None:
    """Fill `out` with each object's answer code plus its noise; `answered` lists answered objects, ascending.

    A cell without an answer takes the code `null` or, if that is negative, a uniformly random code. Results
    are clamped to [-most, most].
    """
    s = 0
    for j in range(out.size):
        if s < answered.size and answered[s] == j:
            place = np.int64(codes[s])
            s += 1
        else:
            place = np.int64(null) if null >= 0 else below(state, answers)
        out[j] = min(max(place + noise[j], -most), most)


@compiled
def weighted_means(places: Places, weights: Floats, out: Floats) -> None:
    """Fill `out` with each object's mean report, weighted by users."""
    out[:] = 0.0
    total_weight = 0.0
    for u in range(places.shape[0]):
        weight = weights[u]
        total_weight += weight
        for j in range(out.size):
            out[j] += weight * places[u, j]
    for j in range(out.size):
        out[j] /= total_weight


@compiled
def mean_squares(places: Places, truths: Floats, out: Floats) -> None:
    """Fill `out` with each user's mean squared distance to the truths."""
    for u in range(places.shape[0]):
        total = 0.0
        for j in range(truths.size):
            residual = places[u, j] - truths[j]
            total += residual * residual
        out[u] = total / truths.size
