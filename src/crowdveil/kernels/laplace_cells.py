"""The loops of Laplace noise on every cell: a device's row, and the server's weighted means of all rows."""

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
    """Fill `out` with a noisy place for each object: its noise plus its answer; `answered` ascends.

    A cell without an answer counts as the answer of code `null` or, if that is negative, as a random one.
    What lies beyond `most` on either side is set to it.
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
    """Fill `out` with each object's mean place by users' weights."""
    out[:] = 0.0
    whole = 0.0
    for u in range(places.shape[0]):
        weight = weights[u]
        whole += weight
        for j in range(out.size):
            out[j] += weight * places[u, j]
    for j in range(out.size):
        out[j] /= whole


@compiled
def mean_squares(places: Places, truths: Floats, out: Floats) -> None:
    """Fill `out` with each user's mean squared distance to the truths."""
    for u in range(places.shape[0]):
        total = 0.0
        for j in range(truths.size):
            residual = places[u, j] - truths[j]
            total += residual * residual
        out[u] = total / truths.size
