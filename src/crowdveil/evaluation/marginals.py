"""How far apart the marginals of two tables are.

The total variation distance (TVD) of two distributions is half the sum of absolute differences: the largest
difference in the chance of any event. It is taken of every table of one, two and three columns.

Notation: P and Q, the shares of real and of synthetic records in a cell.
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

MOST_TABLES = 300  # of three columns and more, of which distances are taken; of more, that many are drawn
_DENSE = 2**22  # cells that a table has at most to be counted in full


@dataclass(frozen=True)
class Distances:
    """Total variation distances of tables of the same number of columns."""

    columns: tuple[tuple[int, ...], ...]
    tvd: tuple[float, ...]
    sampled: bool  # whether there are more tables than were looked at

    @property
    def mean(self) -> float:
        """Over tables."""
        return float(np.mean(self.tvd))

    @property
    def largest(self) -> float:
        """Over tables."""
        return max(self.tvd)

    def to_dict(self) -> dict[str, float | int | bool]:
        """For machines."""
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
    """The TVD of every table of that many columns; of three and more, of at most `most` tables, drawn."""
    _check(real, synthetic)
    chosen, sampled = _tables(len(real.schema.columns), ways, most, rng or seeded(0))
    found = tuple(tvd(real, synthetic, columns) for columns in chosen)
    return Distances(chosen, found, sampled)


def tvd(real: Records, synthetic: Records, columns: Sequence[int]) -> float:
    """The total variation distance of one table."""
    p, q = shares(real, synthetic, columns)
    return float(np.abs(p - q).sum() / 2)


def shares(real: Records, synthetic: Records, columns: Sequence[int]) -> tuple[Floats, Floats]:
    """P and Q in the cells of a table of these columns; cells that neither table has may be left out."""
    sizes = [real.schema.sizes[column] for column in columns]
    cells = np.concatenate([real.codes[:, columns], synthetic.codes[:, columns]])
    keys, size = _numbered(cells, sizes)
    counts = [np.bincount(part, minlength=size) for part in np.split(keys, [len(real)])]
    return counts[0] / len(real), counts[1] / len(synthetic)


def independent(real: Records, ways: int, *, most: int = MOST_TABLES, rng: Randomness | None = None) -> float:
    """The mean TVD that remains if every one-way marginal is right and columns are drawn independently.

    A yardstick: synthetic records that do not beat it have kept nothing of what columns tell of each other.
    """
    chosen, _ = _tables(len(real.schema.columns), ways, most, rng or seeded(0))
    alone = [real.counts(column) / len(real) for column in range(len(real.schema.columns))]
    return float(np.mean([_independent(real, columns, alone) for columns in chosen]))


def _independent(real: Records, columns: tuple[int, ...], alone: list[Floats]) -> float:
    """Over the cells that the table has, as all others sum up to what these leave of 1."""
    cells = real.codes[:, columns]
    keys, size = _numbered(cells, [real.schema.sizes[column] for column in columns])
    one = np.zeros(size, dtype=np.int64)
    one[keys] = np.arange(len(real))  # some row of each cell
    counts = np.bincount(keys, minlength=size)
    held = counts > 0
    p = counts[held] / len(real)
    q = np.prod([alone[column][cells[one[held], k]] for k, column in enumerate(columns)], axis=0)
    return max(0.0, float((np.abs(p - q).sum() + 1.0 - q.sum()) / 2))


def relative_error(real: Records, synthetic: Records) -> float:
    """RE, the paper's error: the mean of |P - Q| / P over the cells of the table of all columns.

    Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023, equation
    13. The paper means to average over the whole product of domains, where most cells have P = 0 and no
    relative error; here it is over the cells that real records have. Such cells hold one or two records
    each, and a table that misses them all has an error of 1: it hardly tells good tables from bad ones.
    """
    _check(real, synthetic)
    p, q = shares(real, synthetic, range(len(real.schema.columns)))
    held = p > 0
    return float(np.mean(np.abs(p[held] - q[held]) / p[held]))


def _check(real: Records, synthetic: Records) -> None:
    if real.schema.columns != synthetic.schema.columns:
        raise ParameterError("both tables need the same schema")


def _tables(columns: int, ways: int, most: int, rng: Randomness) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """All tables of that many columns or, of three and more, as many as are wanted, none twice."""
    if not 1 <= ways <= columns:
        raise ParameterError(f"there are no tables of {ways} columns among {columns}")
    if ways <= 2 or comb(columns, ways) <= most:
        return tuple(combinations(range(columns), ways)), False
    stream, chosen = rng.stream("tables", purpose="evaluation"), set[tuple[int, ...]]()
    while len(chosen) < most:
        chosen.add(tuple(sorted(np.argsort(stream.uniforms(columns))[:ways].tolist())))
    return tuple(sorted(chosen)), True


def _numbered(cells: Codes, sizes: Sequence[int]) -> tuple[Ints, int]:
    """The number of each row's cell, and a bound on numbers; in large tables only cells with rows count."""
    if prod(sizes) <= _DENSE:
        return np.ravel_multi_index(tuple(cells.T), sizes), prod(sizes)
    keys = np.zeros(len(cells), dtype=np.int64)
    size = 1
    for column, many in zip(cells.T, sizes, strict=True):  # the product may be too large for 64 bits
        found, keys = np.unique(keys * many + column, return_inverse=True)
        size = found.size
    return keys, size
