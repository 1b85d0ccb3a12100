"""Loops over raw claims for a certified release: noisy counts, and distances of random pairs."""

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

CELLS = 3  # cells per bin: the bins of different objects start at different cells


@compiled
def cell_of(value: float, low: float, width: float, cells: int) -> int:
    """Index of the cell that contains a value; values outside the range go into the first or last cell."""
    place = (value - low) / width
    if not place > 0.0:
        return 0
    return min(int(place), cells - 1)


@compiled
def count_claims(
    state: Words, x: Floats, low: float, width: float, cells: int, shifts: NDArray[np.int8], i: int, row: Ints
) -> int:
    """Fill `row` with the number of claims in each bin; returns the number of bins.

    Bins hold three cells each and start `shifts[i]` cells before the range. The shift is drawn uniformly from
    the object's stream, independently of the claims.
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
    """Fill row i of `out` with counts of object i's claims per bin, plus Laplace noise of scale num/den."""
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
    """As `laplace_counts`, with Gaussian noise of variance num/den."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(first, last):
        start(state, key, nonces[i])
        bins = count_claims(state, values[offsets[i] : offsets[i + 1]], low, width, cells, shifts, i, out[i])
        for b in range(bins):
            out[i, b] += discrete_gaussian(state, num, den)


@compiled
def add_laplace_noise(
    cells: int, shifts: NDArray[np.int8], num: int, den: int, key: Words, nonces: Words, counts: Ints
) -> None:
    """Add Laplace noise of scale num/den to the bins of each row that its object has."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(counts.shape[0]):
        start(state, key, nonces[i])
        for b in range((cells - 1 + shifts[i]) // CELLS + 1):
            counts[i, b] += discrete_laplace(state, num, den)


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
    """Add to `totals` a histogram, on a log scale, of the distances of random pairs of claims of an object.

    Bin 0 holds distances up to `smallest`; the upper end of each further bin is exp(log_ratio) times larger.
    The matching is uniformly random, independently of the values; a claim is in at most one pair.
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
