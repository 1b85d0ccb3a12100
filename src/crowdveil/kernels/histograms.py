"""The loops that look at raw claims for a certified release: counts, and distances of random pairs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.ranges import longest
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.gaussian import discrete_gaussian
from crowdveil.randomness.samplers import below, discrete_laplace

CELLS = 3  # cells in a bin: bins of different objects start at different cells


@compiled
def cell_of(value: float, low: float, width: float, cells: int) -> int:
    """The cell of the range that holds a value; what lies outside goes into the first or last one."""
    place = (value - low) / width
    if not place > 0.0:
        return 0
    return min(int(place), cells - 1)


@compiled
def count_claims(
    state: Words, x: Floats, low: float, width: float, cells: int, shifts: NDArray[np.int8], i: int, row: Ints
) -> int:
    """Put counts of claims in bins into `row`; say how many bins there are.

    Bins hold three cells each and start `shifts[i]` cells before the range: a coin of the object's own
    stream, thrown before anything is looked at.
    """
    shift = below(state, np.int64(CELLS))
    shifts[i] = shift
    row[:] = 0
    for s in range(x.size):
        row[(cell_of(x[s], low, width, cells) + shift) // CELLS] += 1
    return (cells - 1 + shift) // CELLS + 1


@compiled
def laplace_counts(
    offsets: Ints,
    values: Floats,
    low: float,
    width: float,
    cells: int,
    num: int,
    den: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    shifts: NDArray[np.int8],
    out: Ints,
) -> None:
    """Row i of `out`: the counts of object i's claims in bins, each with Laplace noise of scale num/den."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(first, last):
        start(state, key, nonces[i])
        bins = count_claims(state, values[offsets[i] : offsets[i + 1]], low, width, cells, shifts, i, out[i])
        for b in range(bins):
            out[i, b] += discrete_laplace(state, num, den)


@compiled
def gaussian_counts(
    offsets: Ints,
    values: Floats,
    low: float,
    width: float,
    cells: int,
    num: int,
    den: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    shifts: NDArray[np.int8],
    out: Ints,
) -> None:
    """The same with Gaussian noise of variance num/den."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(first, last):
        start(state, key, nonces[i])
        bins = count_claims(state, values[offsets[i] : offsets[i + 1]], low, width, cells, shifts, i, out[i])
        for b in range(bins):
            out[i, b] += discrete_gaussian(state, num, den)


@compiled
def add_pair_distances(
    offsets: Ints,
    values: Floats,
    smallest: float,
    log_ratio: float,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    totals: Ints,
) -> None:
    """Add, for a random matching of each object's claims into pairs, their distances on a log scale.

    Bin 0 holds distances up to `smallest`, each further bin those up to exp(log_ratio) times more. The
    matching is a uniformly random one whatever the values are; a claim is in one pair at the most.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    order = np.empty(longest(offsets, first, last), dtype=np.int64)
    for i in range(first, last):
        start(state, key, nonces[i])
        a = offsets[i]
        n = offsets[i + 1] - a
        for s in range(n):
            order[s] = s
        for s in range(n - 1, 0, -1):
            t = below(state, s + 1)
            order[s], order[t] = order[t], order[s]
        for pair in range(n // 2):
            distance = abs(values[a + order[2 * pair]] - values[a + order[2 * pair + 1]])
            b = 0
            if distance > smallest:
                b = min(totals.size - 1, int(math.log(distance / smallest) / log_ratio) + 1)
            totals[b] += 1
