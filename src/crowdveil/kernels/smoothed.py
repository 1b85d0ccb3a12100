"""The loop that draws from smoothed densities on a grid: whole weights, exact draws."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.compiled import compiled, inlined
from crowdveil.kernels.sorting import sort
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.samplers import below


@compiled
def draw_weighted(state: Words, cumulative: Ints) -> int:
    """Exact: an index with a probability proportional to its whole weight; `cumulative` adds them up."""
    return np.searchsorted(cumulative, below(state, cumulative[-1]), side="right")


@inlined
def fold(place: int, cells: int) -> int:
    """A cell outside 0 ... cells - 1, reflected at the outer edges of the first and last cell."""
    turn = place % (2 * cells)
    return min(turn, 2 * cells - 1 - turn)


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

    With probability num/den a cell comes from the public base, else from the kernel around a claim, reflected
    at the edges. `base` and `kernel` are cumulative whole weights, of cells and of offsets -r ... r.
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
