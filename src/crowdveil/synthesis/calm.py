"""CALM: everybody reports about one set of columns, all sets alike; tables are then made consistent.

The sets are all pairs, as in the comparison that this package repeats, or all sets of some other number of
columns. Each is asked with the same chance, and answered with one frequency oracle on the joint code, the one
of the least variance. Tables are made to agree wherever they overlap, more exact ones counting more, and
proper (norm-sub), some times in turn.

CALM itself answers questions about more columns from the table of largest entropy. For rows the same is
approached by swaps: they begin with independent columns and do no more than the tables of pairs ask for.

Reference: Zhang, Wang, Li, He and Chen, *CALM: Consistent Adaptive Local Marginal for Marginal Release under
Local Differential Privacy*, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records, Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.choices import choices
from crowdveil.synthesis.marginals import Marginal, consistent, ipf, norm_sub
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question, Table, ask
from crowdveil.synthesis.result import Synthetic, bits_of, rows_of, synthetic
from crowdveil.synthesis.split_epsilon import check_epsilon
from crowdveil.synthesis.swaps import Pairs, independent_columns, swapped

METHOD = "calm"
TURNS = 5  # of consistency and norm-sub


@dataclass(frozen=True)
class Calm:
    """Parameters: epsilon for a record, and how many columns a report is about."""

    epsilon: float
    columns: int = 2

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.columns, "the number of columns of a report")
        if not 2 <= self.columns <= question_plan.MOST_COLUMNS:
            raise ParameterError(
                f"a report has 2 to {question_plan.MOST_COLUMNS} columns, not {self.columns}"
            )

    def questions(self, schema: Schema) -> list[Question]:
        """A question about every set of columns."""
        d = len(schema.columns)
        if d < self.columns or comb(d, self.columns) > question_plan.MOST_QUESTIONS:
            raise ParameterError(
                f"{d} columns have {comb(d, self.columns):,} sets of {self.columns}; there must be 1 to "
                f"{question_plan.MOST_QUESTIONS:,}"
            )
        sets = combinations(range(d), self.columns)
        return [question_plan.question_of(schema, columns, self.epsilon) for columns in sets]

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record, as realised; known before anybody reports."""
        return if_declared(schema, question_plan.promise(self.questions(schema)))


def collected(records: Records, parameters: Calm, *, rng: Randomness) -> list[Table]:
    """What all devices tell, one report each: a table for each set of columns that somebody was asked."""
    questions = parameters.questions(records.schema)
    alike = np.full(len(questions), 1.0 / len(questions))
    tables = ask(records, questions, choices(alike, len(records), rng=rng), rng=rng)
    return [table for table in tables if table is not None]


def synthesize(
    records: Records, parameters: Calm, *, rows: int | None = None, rng: Randomness | None = None
) -> Synthetic:
    """Synthetic records whose pairs are those that people reported; running all devices is a simulation."""
    rng, rows = rng or secure(), rows_of(records, rows)
    tables = collected(records, parameters, rng=rng)
    told = [Marginal(table.question.columns, table.frequencies(), table.variance()) for table in tables]
    alone, pairs = agreed(told, records.schema.sizes)
    codes = swapped(independent_columns(alone, rows, rng=rng), records.schema.sizes, pairs, rng=rng)
    bits = sum(bits_of(table.question.oracle) * table.asked for table in tables) / len(records)
    return synthetic(codes, records, parameters, method=METHOD, report_bits=bits, rng=rng)


def agreed(told: Sequence[Marginal], sizes: Sequence[int]) -> tuple[list[Floats], Pairs]:
    """Shares of single columns, and of pairs that have these as their sums, from noisy tables."""
    made = list(told)
    for _ in range(TURNS):
        made = [replace(table, shares=norm_sub(table.shares)) for table in consistent(made)]
    alone = [
        _mean([table.onto((column,)) for table in made if column in table.columns], (size,))
        for column, size in enumerate(sizes)
    ]
    held: dict[tuple[int, int], list[Floats]] = {}
    for table in made:
        for a, b in combinations(table.columns, 2):
            held.setdefault((a, b), []).append(table.onto((a, b)))
    pairs = {
        (a, b): ipf(_mean(found, found[0].shape), (alone[a], alone[b])) for (a, b), found in held.items()
    }
    return alone, pairs


def _mean(tables: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """The mean of proper tables; an even one if there is none."""
    found: Floats = np.mean(tables, axis=0) if tables else np.full(shape, 1.0 / np.prod(shape))
    return found
