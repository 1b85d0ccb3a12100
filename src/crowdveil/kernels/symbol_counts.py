"""Passes over a matrix of reports, one byte for each user and object: symbols counted and looked up.

Users come in groups. Whatever a pass writes belongs to the objects, or to the users, of its block alone, and
is added up in one order: no result depends on how the blocks are cut.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled

Symbols = NDArray[np.uint8]


@compiled
def by_user(symbols: Symbols, first: int, last: int, out: Floats) -> None:
    """Count in `out[user, symbol]` how often each of these users reported each symbol."""
    for u in range(first, last):
        for y in range(out.shape[1]):
            out[u, y] = 0.0
        for j in range(symbols.shape[1]):
            out[u, symbols[u, j]] += 1.0


@compiled
def by_object(symbols: Symbols, groups: Ints, first: int, last: int, out: Floats) -> None:
    """Count in `out[group, object, symbol]` what each group reported about these objects."""
    out[:, first:last] = 0.0
    for u in range(symbols.shape[0]):
        row, counts = symbols[u], out[groups[u]]
        for j in range(first, last):
            counts[j, row[j]] += 1.0


@compiled
def summed_by_user(symbols: Symbols, groups: Ints, table: Floats, first: int, last: int, out: Floats) -> None:
    """Add up `table[group, object, symbol, type]` over a user's reports, in `out[user, type]`."""
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
def weighed_values(symbols: Symbols, values: Floats, weights: Floats, sums: Floats, whole: Floats) -> None:
    """Each object's weighed sum of reported values and of weights; the last symbol, NULL, has none."""
    null = values.size - 1
    sums[:] = 0.0
    whole[:] = 0.0
    for u in range(symbols.shape[0]):
        row, weight = symbols[u], weights[u]
        for j in range(row.size):
            told = weight if row[j] != null else 0.0
            sums[j] += told * values[row[j]]
            whole[j] += told


@compiled
def squares_by_user(symbols: Symbols, values: Floats, truths: Floats, sums: Floats, told: Floats) -> None:
    """Each user's sum of squared distances of reported values to the truths, and how many there are."""
    null = values.size - 1
    for u in range(symbols.shape[0]):
        row = symbols[u]
        total, many = 0.0, 0
        for j in range(row.size):
            if row[j] != null:
                residual = values[row[j]] - truths[j]
                total += residual * residual
                many += 1
        sums[u], told[u] = total, many
