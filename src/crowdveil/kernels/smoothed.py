"""Exact draws from smoothed densities on a grid, with integer weights."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.compiled import compiled, inlined
from crowdveil.kernels.sorting import sort
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.samplers import below


@compiled
def draw_weighted(state: Words, cumulative: Ints) -> int:
    """Exact: an index with probability proportional to its integer weight, given cumulative weights."""
    return np.searchsorted(cumulative, below(state, cumulative[-1]), side="right")


@inlined
def fold(place: int, cells: int) -> int:
    """A cell reflected into 0 ... cells - 1 at the outer edges of the first and last cell."""
    phase = place % (2 * cells)
    return min(phase, 2 * cells - 1 - phase)


@compiled
def draw_smoothed(
    offsets: Ints,
    places: Ints,
    base: Ints,
    kernel: Ints,
    base_num: int,
    base_den: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    out: Ints,
) -> None:
    """Fill row i of `out` with cells drawn from object i's smoothed density, ascending.

    With probability base_num/base_den a cell is drawn from the public base, otherwise from the kernel around
    a random claim, reflected at the edges. `base` and `kernel` hold cumulative integer weights, of cells and
    of the offsets -r ... r.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    cells = base.size
    reach = kernel.size // 2
    for i in range(first, last):
        start(state, key, nonces[i])
        a, b = offsets[i], offsets[i + 1]
        for j in range(out.shape[1]):
            if below(state, base_den) < base_num:
                out[i, j] = draw_weighted(state, base)
            else:
                seed = places[a + below(state, b - a)]
                out[i, j] = fold(seed + draw_weighted(state, kernel) - reach, cells)
        sort(out[i])
