"""A fixed number of attempts per object: candidates on a grid of cells, each subject to the privacy test."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.smoothed import draw_weighted, fold
from crowdveil.kernels.sorting import sort
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.samplers import below, laplace_at_least


@compiled
def seeds_between(places: Ints, y: int, near: int, far: int) -> int:
    """Number of ascending `places` whose distance d to y satisfies near <= d < far."""
    right = np.searchsorted(places, y + far) - np.searchsorted(places, y + near)
    # y itself, at distance 0, is counted once.
    left = np.searchsorted(places, min(y - near + 1, y)) - np.searchsorted(places, y - far + 1)
    return right + left  # type: ignore[return-value]


@compiled
def attempt(
    offsets: Ints,
    places: Ints,
    kernel: Ints,
    bins: Ints,
    cells: int,
    attempts: int,
    k: int,
    rate_num: int,
    rate_den: int,
    fail_num: int,
    fail_den: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    out: Ints,
    passed: Ints,
) -> None:
    """Fill row i of `out` with the candidates of object i that pass, ascending; `passed[i]` is their number.

    `places` are the cells of claims, ascending within an object; `kernel` holds cumulative integer weights of
    the offsets -r ... r; `bins` holds the distances at which the bins of the test begin, and r + 1. Every
    object is treated in the same way, even if its claims are few or all equal.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    reach = kernel.size // 2
    for i in range(first, last):
        start(state, key, nonces[i])
        x = places[offsets[i] : offsets[i + 1]]
        passed[i] = 0
        for _ in range(attempts):
            if below(state, fail_den) < fail_num:
                continue
            offset = draw_weighted(state, kernel) - reach
            y = x[below(state, x.size)] + offset
            b = np.searchsorted(bins, abs(offset), side="right") - 1
            count = seeds_between(x, y, bins[b], bins[b + 1])
            if laplace_at_least(state, k - count, rate_num, rate_den):
                out[i, passed[i]] = fold(y, cells)
                passed[i] += 1
        sort(out[i, : passed[i]])
