"""Rows from the marginals of single columns and of pairs: independent columns, then swaps within a column.

Every column first gets the values that its shares prescribe, in random order, so columns are independent.
Then two rows swap their values of one column whenever this lowers the sum of squared differences between the
counts of pairs and their targets. A swap never changes the counts of single columns.

The paper goes through pairs in order, swaps between cells that are over- and under-counted, and requires that
all earlier pairs stay as they are, which few swaps can fulfil. Here all pairs count at once: a swap is made
if it helps some pairs more than it harms others.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023, section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.kernels.swaps import swap
from crowdveil.randomness import Randomness, Stream
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.synthesis.marginals import rounded

SWEEPS = 50  # each tries a swap for every cell of the table of rows
DONE = 0.001  # of a sweep's attempts: fewer swaps than that end the search

Pairs = Mapping[tuple[int, int], Floats]
"""For pairs of columns (a, b), a < b: the shares of their cells, a down and b across."""


def independent_columns(shares: Sequence[Floats], rows: int, *, rng: Randomness) -> Codes:
    """(rows, d): each column with its shares, rounded to whole rows, in random order."""
    stream = rng.stream("columns", purpose="rows")
    return np.stack([_shuffled(column, rows, stream) for column in shares], axis=1).astype(np.int32)


def _shuffled(shares: Floats, rows: int, stream: Stream) -> Ints:
    counts = rounded(rows * shares, rows, stream.uniforms(1)[0])
    values = np.repeat(np.arange(shares.size), counts)
    return values[np.argsort(stream.uniforms(rows), kind="stable")]


def swapped(codes: Codes, sizes: Sequence[int], pairs: Pairs, *, rng: Randomness) -> Codes:
    """The rows after swaps that bring their pairs nearer to these; pairs that are not given are free."""
    rows, d = codes.shape
    moved = np.ascontiguousarray(codes, dtype=np.int32).copy()
    if not pairs or rows < 2:
        return moved
    bases, strides, excess = _excess(moved, sizes, pairs)
    key, nonces = rng.streams(["swaps"], purpose="rows")
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    start(state, key, nonces[0])
    moving = [column for column in range(d) if (bases[column] >= 0).any()]
    for _ in range(SWEEPS):
        swaps = sum(swap(state, moved, column, rows, bases, strides, excess) for column in moving)
        if swaps < DONE * rows * len(moving):
            break
    return moved


def _excess(codes: Codes, sizes: Sequence[int], pairs: Pairs) -> tuple[Ints, Ints, Floats]:
    """Where each pair's cells begin, their strides, and counts minus targets, as the loop takes them."""
    rows, d = codes.shape
    bases, strides = np.full((d, d), -1, dtype=np.int64), np.zeros((d, d), dtype=np.int64)
    parts, first = [], 0
    for a, b in combinations(range(d), 2):
        if (a, b) not in pairs:
            continue
        bases[a, b] = bases[b, a] = first
        strides[a, b], strides[b, a] = sizes[b], 1
        cells = sizes[a] * sizes[b]
        counts = np.bincount(codes[:, a].astype(np.int64) * sizes[b] + codes[:, b], minlength=cells)
        parts.append(counts - rows * pairs[a, b].ravel())
        first += cells
    return bases, strides, np.concatenate(parts)
