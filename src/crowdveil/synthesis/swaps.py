"""Rows from tables of one and of two columns: columns side by side, then swaps inside a column.

Every column first gets the values that its shares ask for, in random order: columns are independent. Then two
rows swap their values of a column whenever the tables of pairs come nearer to what they should be, in squares
of counts. A swap never changes how often a value occurs.

The paper goes through pairs in order, swaps between cells that are over- and under-counted, and wants all
pairs that were done before to stay as they are, which few swaps can fulfil. Here all tables count at once: a
swap that helps one pair more than it harms others is made.

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
DONE = 0.001  # of a sweep's swaps: then it is over

Pairs = Mapping[tuple[int, int], Floats]
"""The shares of cells of pairs of columns, first column first."""


def independent_columns(shares: Sequence[Floats], rows: int, *, rng: Randomness) -> Codes:
    """(rows, d): each column with its shares, as exactly as whole numbers can be, in random order."""
    stream = rng.stream("columns", purpose="rows")
    return np.stack([_shuffled(each, rows, stream) for each in shares], axis=1).astype(np.int32)


def _shuffled(shares: Floats, rows: int, stream: Stream) -> Ints:
    counts = rounded(rows * shares, rows, stream.uniforms(1)[0])
    values = np.repeat(np.arange(shares.size), counts)
    return values[np.argsort(stream.uniforms(rows), kind="stable")]


def swapped(codes: Codes, sizes: Sequence[int], pairs: Pairs, *, rng: Randomness) -> Codes:
    """The rows after swaps that bring tables of pairs nearer to these; pairs that are not told are free."""
    rows, d = codes.shape
    made = np.ascontiguousarray(codes, dtype=np.int32).copy()
    if not pairs or rows < 2:
        return made
    bases, strides, excess = _excess(made, sizes, pairs)
    key, nonces = rng.streams(["swaps"], purpose="rows")
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    start(state, key, nonces[0])
    moving = [column for column in range(d) if (bases[column] >= 0).any()]
    for _ in range(SWEEPS):
        done = sum(swap(state, made, column, rows, bases, strides, excess) for column in moving)
        if done < DONE * rows * len(moving):
            break
    return made


def _excess(codes: Codes, sizes: Sequence[int], pairs: Pairs) -> tuple[Ints, Ints, Floats]:
    """Where each pair's cells are, and counts minus what they should be, as the loop takes them."""
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
