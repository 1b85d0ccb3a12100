"""Noisy tables of shares made proper: no cell below 0, a sum of 1, and no two tables that contradict.

All of it is post-processing and costs no privacy.

References: Wang et al., *Locally Differentially Private Frequency Estimation with Consistency*, 2020
(norm-sub); Qardaji, Yang and Li, *PriView*, 2014, and Zhang et al., *CALM*, 2018 (consistency).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from crowdveil.arrays import Floats, Ints

IPF_SWEEPS = 100
IPF_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Marginal:
    """The shares of the cells of some columns, an axis for each, and the variance of a cell."""

    columns: tuple[int, ...]
    shares: Floats
    variance: float = 1.0

    def onto(self, columns: Sequence[int]) -> Floats:
        """The shares of cells of some of its columns, in ascending order."""
        gone = tuple(axis for axis, column in enumerate(self.columns) if column not in columns)
        found: Floats = self.shares.sum(axis=gone)
        return found


def norm_sub(shares: Floats, total: float = 1.0) -> Floats:
    """The nearest table with no cell below 0 and that sum: what is added to all cells is one number."""
    flat = np.sort(shares, axis=None)[::-1]
    added = (total - np.cumsum(flat)) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat + added > 0)[-1])
    found: Floats = np.maximum(shares + added[last], 0.0)
    return found


def consistent(tables: Sequence[Marginal]) -> list[Marginal]:
    """Tables of ascending columns that agree wherever they overlap, and all sum to 1.

    From few columns to many: the tables that hold the same columns are averaged there, the more exact ones
    counting more, and each is moved by as much in all cells that fall together. Agreement on fewer columns
    stays as it was.
    """
    made = [
        replace(table, shares=table.shares + (1.0 - table.shares.sum()) / table.shares.size)
        for table in tables
    ]
    for columns in _overlaps(tables):
        holding = [place for place, table in enumerate(made) if set(columns) <= set(table.columns)]
        told = [made[place].onto(columns) for place in holding]
        merged = [made[place].shares.size / told[0].size for place in holding]
        weights = np.array(
            [1.0 / (made[place].variance * many) for place, many in zip(holding, merged, strict=True)]
        )
        agreed = np.einsum("i,i...->...", weights / weights.sum(), np.array(told))
        for place, own, many in zip(holding, told, merged, strict=True):
            table = made[place]
            shape = [
                size if column in columns else 1
                for column, size in zip(table.columns, table.shares.shape, strict=True)
            ]
            made[place] = replace(table, shares=table.shares + ((agreed - own) / many).reshape(shape))
    return made


def _overlaps(tables: Sequence[Marginal]) -> list[tuple[int, ...]]:
    """All sets of columns that two tables share, and what such sets share, small ones first."""
    sets: Collection[frozenset[int]] = [frozenset(table.columns) for table in tables]
    found: set[frozenset[int]] = set()
    while more := {a & b for a, b in combinations(sets, 2)} - found:
        found |= more
        sets = found
    return sorted((tuple(sorted(each)) for each in found if each), key=lambda each: (len(each), each))


def ipf(table: Floats, margins: Sequence[Floats]) -> Floats:
    """The table with these sums along each axis that keeps its odds (iterative proportional fitting).

    Cells start from a little more than 0, so that there is such a table.
    """
    found = np.maximum(table, 1e-12)
    for _ in range(IPF_SWEEPS):
        off = 0.0
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(found.ndim) if other != axis)
            now = found.sum(axis=others)
            off = max(off, float(np.abs(now - margin).max()))
            shape = [margin.size if other == axis else 1 for other in range(found.ndim)]
            found = found * np.divide(margin, now, out=np.zeros_like(margin), where=now > 0).reshape(shape)
        if off < IPF_CLOSE:
            break
    return found


def mutual_information(pair: Floats) -> float:
    """Of a proper table of two columns, in nats."""
    apart = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    held = pair > 0
    return max(0.0, float((pair[held] * np.log(pair[held] / apart[held])).sum()))


def rounded(expected: Floats, whole: int, start: float) -> Ints:
    """Whole numbers with that sum, each the expected one rounded up or down, without bias.

    `start` is a uniform number in [0, 1): the only draw.
    """
    ends = np.floor(np.cumsum(expected) + start)
    ends[-1] = whole
    return np.diff(np.minimum(ends, whole), prepend=0.0).astype(np.int64)
