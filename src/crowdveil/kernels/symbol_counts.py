"""Passes over a matrix of reports, one byte for each user and object, that count or look up symbols.

Users are in groups. A pass writes only entries of the objects, or of the users, of its block, and adds them
up in a fixed order, so results do not depend on how the blocks are cut.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled

Symbols = NDArray[np.uint8]


@compiled
def by_user(symbols: Symbols, first: int, last: int, out: Floats) -> None:
    """Fill `out[user, symbol]` with the number of times each user in [first, last) reported each symbol."""
    for u in range(first, last):
        for y in range(out.shape[1]):
            out[u, y] = 0.0
        for j in range(symbols.shape[1]):
            out[u, symbols[u, j]] += 1.0


@compiled
def by_object(symbols: Symbols, groups: Ints, first: int, last: int, out: Floats) -> None:
    """Fill `out[group, object, symbol]` with counts of each group's reports about objects [first, last)."""
    out[:, first:last] = 0.0
    for u in range(symbols.shape[0]):
        row, counts = symbols[u], out[groups[u]]
        for j in range(first, last):
            counts[j, row[j]] += 1.0


@compiled
def summed_by_user(symbols: Symbols, groups: Ints, table: Floats, first: int, last: int, out: Floats) -> None:
    """Fill `out[user, type]` with the sum of `table[group, object, symbol, type]` over a user's reports."""
    types = table.shape[3]
    for u in range(first, last):
        row, entries, sums = symbols[u], table[groups[u]], out[u]
        for k in range(types):
            sums[k] = 0.0
        for j in range(symbols.shape[1]):
            entry = entries[j, row[j]]
            for k in range(types):
                sums[k] += entry[k]


@compiled
def weighed_values(symbols: Symbols, values: Floats, weights: Floats, sums: Floats, totals: Floats) -> None:
    """Fill `sums` and `totals` with each object's weighted sum of reported values and sum of weights.

    The last symbol, NULL, has no value and is skipped.
    """
    null = values.size - 1
    sums[:] = 0.0
    totals[:] = 0.0
    for u in range(symbols.shape[0]):
        row, weight = symbols[u], weights[u]
        for j in range(row.size):
            counted = weight if row[j] != null else 0.0
            sums[j] += counted * values[row[j]]
            totals[j] += counted


@compiled
def squares_by_user(symbols: Symbols, values: Floats, truths: Floats, sums: Floats, counts: Floats) -> None:
    """Fill `sums` and `counts` with each user's sum of squared distances to the truths and its terms."""
    null = values.size - 1
    for u in range(symbols.shape[0]):
        row = symbols[u]
        total, count = 0.0, 0
        for j in range(row.size):
            if row[j] != null:
                residual = values[row[j]] - truths[j]
                total += residual * residual
                count += 1
        sums[u], counts[u] = total, count
