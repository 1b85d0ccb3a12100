"""Trees of gradient boosting on categorical codes: histograms of gradients, splits into two sets of codes.

A tree is full: node k has children 2k + 1 and 2k + 2, and leaves are counted from 0 at the last level.

Notation: g and h, the first and second derivatives of the loss at each row.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Flags, Floats, Ints
from crowdveil.compiled import compiled

_NOWHERE = -1  # the column of a node that is not split: all its rows go left


@compiled
def grow(
    codes: Codes,  # (n, d)
    sizes: Ints,
    ordered: Flags,
    g: Floats,
    h: Floats,
    least_rows: int,
    pull: float,
    columns: Codes,  # (nodes,), out: the column that splits a node
    left: Flags,  # (nodes, most values), out: which of its codes go left
    leaves: Floats,  # (nodes + 1,), out: what is added to the score of a leaf's rows
    place: Codes,  # (n,), out: the leaf of each row
) -> None:
    """Grow one tree: each node is split where that lowers the loss most."""
    nodes, most = left.shape
    sums = np.empty((leaves.size, sizes.size, most, 3))
    first, width = 0, 1
    place[:] = 0
    while first < nodes:
        add_histograms(codes, g, h, place, width, sums)
        for node in range(width):
            split(sums[node], sizes, ordered, least_rows, pull, columns, left, first + node)
        for i in range(place.size):
            node = first + place[i]
            column = columns[node]
            goes_left = column == _NOWHERE or left[node, codes[i, column]]
            place[i] = 2 * place[i] + (0 if goes_left else 1)
        first, width = first + width, 2 * width
    totals = np.zeros((leaves.size, 2))
    for i in range(place.size):
        totals[place[i], 0] += g[i]
        totals[place[i], 1] += h[i]
    for leaf in range(leaves.size):
        leaves[leaf] = -totals[leaf, 0] / (totals[leaf, 1] + pull)


@compiled
def add_histograms(codes: Codes, g: Floats, h: Floats, place: Codes, width: int, sums: Floats) -> None:
    """Sums of g, of h and of rows for each node of a level, column and code."""
    sums[:width] = 0.0
    for i in range(place.size):
        node = place[i]
        for j in range(codes.shape[1]):
            cell = sums[node, j, codes[i, j]]
            cell[0] += g[i]
            cell[1] += h[i]
            cell[2] += 1.0


@compiled
def split(
    sums: Floats,  # (d, most values, 3)
    sizes: Ints,
    ordered: Flags,
    least_rows: int,
    pull: float,
    columns: Codes,
    left: Flags,
    node: int,
) -> None:
    """The best split of one node; without one that leaves enough rows on both sides it has none.

    Codes of a column that is not ordered are tried in the order of their own best scores -g / h: of all
    splits into two sets the best one is among those, for a quadratic loss.
    """
    columns[node] = _NOWHERE
    best = -np.inf
    for j in range(sizes.size):
        size = sizes[j]
        total_g, total_h, total = 0.0, 0.0, 0.0
        for v in range(size):
            total_g += sums[j, v, 0]
            total_h += sums[j, v, 1]
            total += sums[j, v, 2]
        if total < 2 * least_rows:
            return
        order = np.arange(size)
        if not ordered[j]:
            order = np.argsort(sums[j, :size, 0] / (sums[j, :size, 1] + pull), kind="mergesort")
        side_g, side_h, side = 0.0, 0.0, 0.0
        for k in range(size - 1):
            v = order[k]
            side_g += sums[j, v, 0]
            side_h += sums[j, v, 1]
            side += sums[j, v, 2]
            if sums[j, v, 2] == 0.0 or side < least_rows:
                continue
            if total - side < least_rows:
                break
            gain = side_g**2 / (side_h + pull) + (total_g - side_g) ** 2 / (total_h - side_h + pull)
            gain -= total_g**2 / (total_h + pull)
            if gain > best:
                best = gain
                columns[node] = j
                left[node, :] = False
                for v2 in order[: k + 1]:
                    left[node, v2] = True


@compiled
def add_tree(codes: Codes, columns: Codes, left: Flags, leaves: Floats, scores: Floats) -> None:
    """Add what one tree says of each row to its score."""
    for i in range(scores.size):
        node = 0
        while node < columns.size:
            column = columns[node]
            goes_left = column == _NOWHERE or left[node, codes[i, column]]
            node = 2 * node + (1 if goes_left else 2)
        scores[i] += leaves[node - columns.size]
