"""What devices are asked, and what all of them together tell: a table of counts for each question.

A question is a few columns; the answer is the joint code of a record's values there, and one report of a
frequency oracle is all that a device ever sends.

Notation: n records, K cells of a question (the product of its columns' sizes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.local.oracle import Oracle
from crowdveil.randomness import Randomness
from crowdveil.records import Records


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

    def codes(self, records: Codes) -> Ints:
        """(n,): the joint codes of records' codes (n, d)."""
        found = np.zeros(len(records), dtype=np.int64)
        for column, size in zip(self.columns, self.sizes, strict=True):
            found = found * size + records[:, column]
        return found


@dataclass(frozen=True, eq=False)
class Table:
    """The reports to one question, counted: `support[cell]` of `asked` devices support a cell."""

    question: Question
    support: Ints  # (K,)
    asked: int

    def __add__(self, other: Table) -> Table:
        return Table(self.question, self.support + other.support, self.asked + other.asked)

    def frequencies(self) -> Floats:
        """Unbiased shares (sizes...): noisy, also below 0, and their sum is not exactly 1."""
        found = self.question.oracle.frequencies(self.support, self.asked)
        return found.reshape(self.question.sizes)

    def variance(self) -> float:
        """The variance of the share of a rare cell, sampling of people not included."""
        return float(np.asarray(self.question.oracle.variance(0.0, self.asked)))


def merged(parts: Iterable[Iterable[Table]]) -> tuple[Table, ...]:
    """The same tables, those about the same columns added up."""
    found: dict[tuple[int, ...], Table] = {}
    for table in chain.from_iterable(parts):
        known = found.get(table.question.columns)
        found[table.question.columns] = table if known is None else known + table
    return tuple(found.values())


def ask(
    records: Records, questions: Sequence[Question], asked: Ints, *, rng: Randomness
) -> list[Table | None]:
    """Have record i answer question `asked[i]`, once (none if below 0); None where nobody was asked.

    This is what all devices do together: a simulation, as whoever holds the records has no need of it.
    """
    tables: list[Table | None] = [None] * len(questions)
    for place, (rows, reports) in answered(records, questions, asked, "question", rng=rng).items():
        question = questions[place]
        tables[place] = Table(question, question.oracle.support(reports), int(rows.size))
    return tables


def answered(
    records: Records, questions: Sequence[Question], asked: Ints, part: str, *, rng: Randomness
) -> dict[int, tuple[Ints, NDArray[Any]]]:
    """For each question that is asked the rows of those who are, and what they report.

    `part` names what they draw from, so that no two groups share their draws.
    """
    order = np.argsort(asked, kind="stable")
    ends = np.searchsorted(asked[order], np.arange(len(questions) + 1))
    found = {}
    for place, question in enumerate(questions):
        rows = order[ends[place] : ends[place + 1]]
        if rows.size:
            codes = question.codes(records.codes[rows])
            found[place] = rows, question.oracle.perturb(codes, rng=rng.part(f"{part} {place}"))
    return found
