"""What devices are asked, and the table of counts that the answers to each question make.

A question is a few columns. Its answer is the joint code of a record's values there, and one report of it by
a frequency oracle is all that a device ever sends.

Notation: n records, d columns, K cells of a question (the product of its columns' sizes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.oracle import Oracle, PureOracle
from crowdveil.randomness import Randomness


@dataclass(frozen=True)
class Question:
    """Columns, by place, and the oracle of their joint code, in which the last column runs fastest."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    oracle: Oracle

    @property
    def cells(self) -> int:
        """K."""
        return prod(self.sizes)

    @property
    def pure(self) -> PureOracle:
        """The oracle, for whoever needs its p and q; refuses an oracle that has none."""
        if not isinstance(self.oracle, PureOracle):
            raise ParameterError(f"reports of {self.oracle.name} do not support cells with p and q")
        return self.oracle

    # --- the device ----------------------------------------------------------------------------------------

    def codes(self, records: Codes) -> Ints:
        """(n,): the joint codes of records' codes (n, d)."""
        joint = np.zeros(len(records), dtype=np.int64)
        for column, size in zip(self.columns, self.sizes, strict=True):
            joint = joint * size + records[:, column]
        return joint

    def code(self, record: Sequence[int]) -> int:
        """The joint code of one record, given as the codes of all its columns."""
        joint = 0
        for column, size in zip(self.columns, self.sizes, strict=True):
            if column >= len(record) or not 0 <= record[column] < size:
                raise InputError("a code lies outside its column's domain")
            joint = joint * size + int(record[column])
        return joint

    def report_one(self, record: Sequence[int], *, rng: Randomness | None = None) -> NDArray[Any]:
        """What the device of one record answers."""
        return self.oracle.report_one(self.code(record), rng=rng)

    # --- what is published ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All that a device needs to answer, as plain JSON."""
        return {
            "columns": list(self.columns),
            "sizes": list(self.sizes),
            "oracle": self.oracle.to_dict(),
            "weights": self.oracle.weights(),
        }

    @classmethod
    def from_dict(cls, published: Mapping[str, Any]) -> Question:
        """The question that was published; refuses one that contradicts itself."""
        try:
            columns, sizes = ([*published[key]] for key in ("columns", "sizes"))
            oracle = Oracle.from_dict(published["oracle"])
            if not all(type(number) is int and number >= 0 for number in (*columns, *sizes)):
                raise ValueError
            if len(columns) != len(sizes) or len({*columns}) < len(columns) or prod(sizes) != oracle.cells:
                raise ValueError
            if published["weights"] != oracle.weights():
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise InputError("this is not a question that was published") from None
        return cls(tuple(columns), tuple(sizes), oracle)


@dataclass(frozen=True, eq=False)
class Table:
    """The reports to one question, counted: `support[cell]` of `asked` devices support a cell."""

    question: Question
    support: Ints  # (K,)
    asked: int

    def __add__(self, other: Table) -> Table:
        return Table(self.question, self.support + other.support, self.asked + other.asked)

    def frequencies(self) -> Floats:
        """Unbiased shares (sizes...): noisy, perhaps below 0, and their sum is not exactly 1."""
        shares = self.question.oracle.frequencies(self.support, self.asked)
        return shares.reshape(self.question.sizes)

    def variance(self) -> float:
        """The variance of the share of a rare cell, sampling of people not included."""
        return self.question.oracle.rare_variance(self.asked)


def merged(parts: Iterable[Iterable[Table]]) -> tuple[Table, ...]:
    """The tables of all parts; those about the same columns are added up."""
    sums: dict[tuple[int, ...], Table] = {}
    for table in chain.from_iterable(parts):
        columns = table.question.columns
        sums[columns] = sums[columns] + table if columns in sums else table
    return tuple(sums.values())
