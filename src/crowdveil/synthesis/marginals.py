"""Marginals made proper and consistent: no cell below 0, a sum of 1, and agreement wherever they overlap.

All of it is post-processing and costs no privacy.

References: Wang et al., *Locally Differentially Private Frequency Estimation with Consistency*, 2020
(norm-sub); Qardaji, Yang and Li, *PriView: Practical Differentially Private Release of Marginal Contingency
Tables*, 2014, and Zhang et al., *CALM: Consistent Adaptive Local Marginal for Marginal Release under Local
Differential Privacy*, 2018 (consistency).
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
    """The shares of the cells of some columns, one axis per column, and the variance of a cell."""

    columns: tuple[int, ...]
    shares: Floats
    variance: float = 1.0

    def onto(self, columns: Sequence[int]) -> Floats:
        """The marginal on some of its columns, in ascending order."""
        summed = tuple(axis for axis, column in enumerate(self.columns) if column not in columns)
        marginal: Floats = self.shares.sum(axis=summed)
        return marginal


def norm_sub(shares: Floats, total: float = 1.0) -> Floats:
    """The nearest table with no cell below 0 and this sum: adds one number to all cells and clips at 0."""
    flat = np.sort(shares, axis=None)[::-1]
    added = (total - np.cumsum(flat)) / np.arange(1, flat.size + 1)
    positive = np.flatnonzero(flat + added > 0)
    if positive.size == 0:  # noise so large that the total is lost in rounding
        return np.full(shares.shape, total / shares.size)
    last = int(positive[-1])
    proper: Floats = np.maximum(shares + added[last], 0.0)
    return proper


def consistent(tables: Sequence[Marginal]) -> list[Marginal]:
    """The tables, changed so that they have equal marginals wherever they overlap, and all sum to 1.

    Columns of each table are in ascending order. For every overlap, from few columns to many, the marginals
    of the tables that hold it are averaged with weights of inverse variance, and each table's difference from
    the average is spread evenly over the cells that are summed. This keeps the agreement on fewer columns.
    """
    adjusted = [
        replace(table, shares=table.shares + (1.0 - table.shares.sum()) / table.shares.size)
        for table in tables
    ]
    for columns in _overlaps(tables):
        holding = [place for place, table in enumerate(adjusted) if set(columns) <= set(table.columns)]
        marginals = [adjusted[place].onto(columns) for place in holding]
        merged = [adjusted[place].shares.size / marginals[0].size for place in holding]
        weights = np.array(
            [1.0 / (adjusted[place].variance * many) for place, many in zip(holding, merged, strict=True)]
        )
        mean = np.einsum("i,i...->...", weights / weights.sum(), np.array(marginals))
        for place, marginal, many in zip(holding, marginals, merged, strict=True):
            table = adjusted[place]
            shape = [
                size if column in columns else 1
                for column, size in zip(table.columns, table.shares.shape, strict=True)
            ]
            adjusted[place] = replace(table, shares=table.shares + ((mean - marginal) / many).reshape(shape))
    return adjusted


def _overlaps(tables: Sequence[Marginal]) -> list[tuple[int, ...]]:
    """All sets of columns that two tables share, closed under intersection, small sets first."""
    sets: Collection[frozenset[int]] = [frozenset(table.columns) for table in tables]
    shared: set[frozenset[int]] = set()
    while more := {a & b for a, b in combinations(sets, 2)} - shared:
        shared |= more
        sets = shared
    return sorted((tuple(sorted(each)) for each in shared if each), key=lambda each: (len(each), each))


def ipf(table: Floats, margins: Sequence[Floats]) -> Floats:
    """The table with these marginals that keeps the odds ratios, by iterative proportional fitting.

    Empty cells start slightly above 0, so that such a table exists.
    """
    fitted = np.maximum(table, 1e-12)
    for _ in range(IPF_SWEEPS):
        off = 0.0
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(fitted.ndim) if other != axis)
            now = fitted.sum(axis=others)
            off = max(off, float(np.abs(now - margin).max()))
            shape = [margin.size if other == axis else 1 for other in range(fitted.ndim)]
            fitted = fitted * np.divide(margin, now, out=np.zeros_like(margin), where=now > 0).reshape(shape)
        if off < IPF_CLOSE:
            break
    return fitted


def mutual_information(pair: Floats) -> float:
    """The mutual information of the two columns of a proper table, in nats."""
    independent = np.outer(pair.sum(axis=1), pair.sum(axis=0))
    positive = pair > 0
    ratios = pair[positive] / independent[positive]
    return max(0.0, float((pair[positive] * np.log(ratios)).sum()))


def rounded(expected: Floats, total: int, start: float) -> Ints:
    """Whole numbers with this total, each the expected one rounded up or down, without bias.

    `start` is a uniform number in [0, 1): the only draw.
    """
    ends = np.floor(np.cumsum(expected) + start)
    ends[-1] = total
    return np.diff(np.minimum(ends, total), prepend=0.0).astype(np.int64)
