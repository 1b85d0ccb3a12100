"""CALM: each person reports about one set of columns, all sets with equal probability.

The sets are all pairs, as in the comparison that this package repeats, or all sets of another number of
columns. Each is answered with one frequency oracle on the joint code, the one of least variance. The tables
are then made consistent with each other wherever they overlap, weighted by precision, and proper by norm-sub,
several times in turn.

CALM itself answers queries about more columns from the table of maximum entropy. For rows, swaps approximate
this: they start with independent columns and change no more than the tables of pairs ask for.

Reference: Zhang, Wang, Li, He and Chen, *CALM: Consistent Adaptive Local Marginal for Marginal Release under
Local Differential Privacy*, 2018, doi:10.1145/3243734.3243742.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Codes, Floats
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise
from crowdveil.local.split_epsilon import check_epsilon
from crowdveil.randomness import Randomness
from crowdveil.records import Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.marginals import Marginal, consistent, ipf, norm_sub
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question, merged
from crowdveil.synthesis.registry import Method
from crowdveil.synthesis.simulated import synthesize
from crowdveil.synthesis.swaps import Pairs, independent_columns, swapped

TURNS = 5  # of consistency and norm-sub


@dataclass(frozen=True)
class Calm:
    """Parameters: epsilon for a record, and the number of columns of a report. A `Design` of one round."""

    epsilon: float
    columns: int = 2

    name: ClassVar[str] = "calm"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.columns, "the number of columns of a report")
        if not 2 <= self.columns <= question_plan.MOST_COLUMNS:
            raise ParameterError(
                f"a report has 2 to {question_plan.MOST_COLUMNS} columns, not {self.columns}"
            )

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record, as realised; known before anybody reports."""
        return if_declared(schema, question_plan.promise(self.questions(schema)))

    def questions(self, schema: Schema) -> tuple[Question, ...]:
        """A question about every set of columns."""
        d = len(schema.columns)
        if d < self.columns or comb(d, self.columns) > question_plan.MOST_QUESTIONS:
            raise ParameterError(
                f"{d} columns have {comb(d, self.columns):,} sets of {self.columns}; there must be 1 to "
                f"{question_plan.MOST_QUESTIONS:,}"
            )
        sets = combinations(range(d), self.columns)
        return tuple(question_plan.question_of(schema, columns, self.epsilon) for columns in sets)

    def round_ends(self, people: int) -> list[int]:
        """One round."""
        return [people]

    def chances(
        self,
        schema: Schema,  # noqa: ARG002
        questions: Sequence[Question],
        halves: Halves,  # noqa: ARG002
        *,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Floats:
        """All equal."""
        return np.full(len(questions), 1.0 / len(questions))

    def tables(self, schema: Schema, halves: Halves) -> dict[tuple[int, ...], Floats]:
        """Single columns and pairs that agree with each other."""
        singles, pairs = self._agreed(schema, halves)
        tables: dict[tuple[int, ...], Floats] = {(column,): shares for column, shares in enumerate(singles)}
        return tables | {pair: shares for pair, shares in pairs.items()}  # noqa: C416, pairs become tuples

    def _agreed(self, schema: Schema, halves: Halves) -> tuple[list[Floats], Pairs]:
        marginals = [
            Marginal(table.question.columns, table.frequencies(), table.variance())
            for table in merged(halves)
        ]
        return agreed(marginals, schema.sizes)

    def codes(
        self,
        schema: Schema,
        halves: Halves,
        rows: int,
        *,
        rng: Randomness,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Codes:
        """(rows, d): independent columns, then swaps towards the consistent tables of pairs."""
        singles, pairs = self._agreed(schema, halves)
        return swapped(independent_columns(singles, rows, rng=rng), schema.sizes, pairs, rng=rng)


def agreed(noisy: Sequence[Marginal], sizes: Sequence[int]) -> tuple[list[Floats], Pairs]:
    """Proper shares of single columns, and of pairs whose marginals these are, from noisy tables."""
    tables = list(noisy)
    for _ in range(TURNS):
        tables = [replace(table, shares=norm_sub(table.shares)) for table in consistent(tables)]
    singles = [
        _mean([table.onto((column,)) for table in tables if column in table.columns], (size,))
        for column, size in enumerate(sizes)
    ]
    versions: dict[tuple[int, int], list[Floats]] = {}  # of a pair, one from each table that holds it
    for table in tables:
        for a, b in combinations(table.columns, 2):
            versions.setdefault((a, b), []).append(table.onto((a, b)))
    pairs = {
        (a, b): ipf(_mean(tables_of_pair, tables_of_pair[0].shape), (singles[a], singles[b]))
        for (a, b), tables_of_pair in versions.items()
    }
    return singles, pairs


def _mean(tables: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """The mean of proper tables; the uniform table if there is none."""
    mean: Floats = np.mean(tables, axis=0) if tables else np.full(shape, 1.0 / np.prod(shape))
    return mean


METHOD = Method(Calm, synthesize)
