"""Independent columns: everybody reports about one column, and columns are put side by side.

The yardstick for all others: it knows nothing of what columns tell of each other, but at a small epsilon all
that other methods know about that may be noise.

Which column somebody reports about is a coin; columns with many values are asked more often, so that the sum
of errors is least. The oracle is the one of the least variance, and shares are made proper (norm-sub).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.guarantee import Promise
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records, Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.choices import choices
from crowdveil.synthesis.marginals import norm_sub
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question, Table, ask
from crowdveil.synthesis.result import Synthetic, bits_of, rows_of, synthetic
from crowdveil.synthesis.split_epsilon import check_epsilon
from crowdveil.synthesis.swaps import independent_columns

METHOD = "independent"


@dataclass(frozen=True)
class Independent:
    """Parameters: epsilon for a record."""

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def questions(self, schema: Schema) -> list[Question]:
        """A question about each column."""
        return question_plan.singles(schema, self.epsilon)

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record, as realised; known before anybody reports."""
        return if_declared(schema, question_plan.promise(self.questions(schema)))


def collected(records: Records, parameters: Independent, *, rng: Randomness) -> list[Table | None]:
    """What all devices tell, one report each: a table for each column, or None where nobody was asked."""
    questions = parameters.questions(records.schema)
    chances = question_plan.chances(parameters.epsilon, (questions, ()))
    return ask(records, questions, choices(chances, len(records), rng=rng), rng=rng)


def proper(table: Table | None, size: int) -> Floats:
    """A column's shares; even ones where nobody was asked."""
    return np.full(size, 1.0 / size) if table is None else norm_sub(table.frequencies())


def synthesize(
    records: Records, parameters: Independent, *, rows: int | None = None, rng: Randomness | None = None
) -> Synthetic:
    """Synthetic records of independent columns; to run all devices here is a simulation."""
    rng, rows = rng or secure(), rows_of(records, rows)
    tables = collected(records, parameters, rng=rng)
    shares = [proper(table, size) for table, size in zip(tables, records.schema.sizes, strict=True)]
    bits = sum(bits_of(table.question.oracle) * table.asked for table in tables if table) / len(records)
    codes = independent_columns(shares, rows, rng=rng)
    return synthetic(codes, records, parameters, method=METHOD, report_bits=bits, rng=rng)
