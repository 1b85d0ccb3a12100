"""Distances between the marginals of two sets of records.

The total variation distance (TVD) of two distributions is half the sum of absolute differences: the largest
difference in the probability of any event. It is computed for marginals of one, two and three columns.

Notation: P and Q are the shares of real and of synthetic records in a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, seeded
from crowdveil.records import Records

MOST_TABLES = 300  # if there are more tables of three or more columns, a sample of this size is used
_DENSE = 2**22  # largest number of cells of a table that is stored densely


@dataclass(frozen=True)
class Distances:
    """Total variation distances of the marginals over sets of columns of one size."""

    columns: tuple[tuple[int, ...], ...]
    tvd: tuple[float, ...]
    sampled: bool  # whether only a sample of the tables was used

    @property
    def mean(self) -> float:
        """Mean TVD over tables."""
        return float(np.mean(self.tvd))

    @property
    def largest(self) -> float:
        """Largest TVD over tables."""
        return max(self.tvd)

    def to_dict(self) -> dict[str, float | int | bool]:
        """The summary as a dictionary that JSON can hold."""
        return {
            "tables": len(self.tvd),
            "sampled": self.sampled,
            "mean_tvd": self.mean,
            "largest_tvd": self.largest,
        }


def distances(
    real: Records,
    synthetic: Records,
    ways: int,
    *,
    most: int = MOST_TABLES,
    rng: Randomness | None = None,
) -> Distances:
    """The TVD of every marginal of `ways` columns; from three columns on, of a sample of at most `most`."""
    _check(real, synthetic)
    chosen, sampled = _tables(len(real.schema.columns), ways, most, rng or seeded(0))
    measured = tuple(tvd(real, synthetic, columns) for columns in chosen)
    return Distances(chosen, measured, sampled)


def tvd(real: Records, synthetic: Records, columns: Sequence[int]) -> float:
    """The total variation distance of the marginal over the given columns."""
    p, q = shares(real, synthetic, columns)
    return float(np.abs(p - q).sum() / 2)


def shares(real: Records, synthetic: Records, columns: Sequence[int]) -> tuple[Floats, Floats]:
    """P and Q in the cells of the marginal over the given columns; empty cells may be omitted."""
    sizes = [real.schema.sizes[column] for column in columns]
    cells = np.concatenate([real.codes[:, columns], synthetic.codes[:, columns]])
    keys, size = _numbered(cells, sizes)
    counts = [np.bincount(part, minlength=size) for part in np.split(keys, [len(real)])]
    return counts[0] / len(real), counts[1] / len(synthetic)


def independent(real: Records, ways: int, *, most: int = MOST_TABLES, rng: Randomness | None = None) -> float:
    """Mean TVD of the product of exact one-way marginals, that is, of independent columns.

    A baseline: synthetic records that do not beat it preserve none of the dependence between columns.
    """
    chosen, _ = _tables(len(real.schema.columns), ways, most, rng or seeded(0))
    one_way = [real.counts(column) / len(real) for column in range(len(real.schema.columns))]
    return float(np.mean([_independent(real, columns, one_way) for columns in chosen]))


def _independent(real: Records, columns: tuple[int, ...], one_way: list[Floats]) -> float:
    """The TVD between one marginal and the product of one-way marginals.

    The sum is over the cells with P > 0; the other cells contribute the rest of Q.
    """
    cells = real.codes[:, columns]
    keys, size = _numbered(cells, [real.schema.sizes[column] for column in columns])
    some_row = np.zeros(size, dtype=np.int64)
    some_row[keys] = np.arange(len(real))  # any one row of each cell
    counts = np.bincount(keys, minlength=size)
    present = counts > 0
    p = counts[present] / len(real)
    q = np.prod([one_way[column][cells[some_row[present], k]] for k, column in enumerate(columns)], axis=0)
    return max(0.0, float((np.abs(p - q).sum() + 1.0 - q.sum()) / 2))


def relative_error(real: Records, synthetic: Records) -> float:
    """The paper's relative error (RE): the mean of |P - Q| / P over the cells of the joint distribution.

    Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
    doi:10.1007/s11432-022-3583-x, equation 13. The paper averages over the full product of domains, where
    most cells have P = 0 and no relative error; here the mean is over the cells with P > 0. Most of these
    hold one or two records, and records that miss all of them have an error of 1, so the measure hardly
    separates good from bad records.
    """
    _check(real, synthetic)
    p, q = shares(real, synthetic, range(len(real.schema.columns)))
    present = p > 0
    return float(np.mean(np.abs(p[present] - q[present]) / p[present]))


def _check(real: Records, synthetic: Records) -> None:
    if real.schema.columns != synthetic.schema.columns:
        raise ParameterError("both tables need the same schema")


def _tables(columns: int, ways: int, most: int, rng: Randomness) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """All sets of `ways` columns or, for three or more columns, a sample of `most` without repetition."""
    if not 1 <= ways <= columns:
        raise ParameterError(f"there are no tables of {ways} columns among {columns}")
    if ways <= 2 or comb(columns, ways) <= most:
        return tuple(combinations(range(columns), ways)), False
    stream, chosen = rng.stream("tables", purpose="evaluation"), set[tuple[int, ...]]()
    while len(chosen) < most:
        chosen.add(tuple(sorted(np.argsort(stream.uniforms(columns))[:ways].tolist())))
    return tuple(sorted(chosen)), True


def _numbered(cells: Codes, sizes: Sequence[int]) -> tuple[Ints, int]:
    """The index of each row's cell, and the number of indices; large tables index only non-empty cells."""
    if prod(sizes) <= _DENSE:
        return np.ravel_multi_index(tuple(cells.T), sizes), prod(sizes)
    keys = np.zeros(len(cells), dtype=np.int64)
    size = 1
    for column, codes in zip(cells.T, sizes, strict=True):  # the product may be too large for 64 bits
        distinct, keys = np.unique(keys * codes + column, return_inverse=True)
        size = distinct.size
    return keys, size
