"""Independent columns: each person reports about one column, and columns are drawn independently.

The baseline for all other methods: it knows nothing of the dependence between columns, but at a small epsilon
what other methods learn of it may be noise.

Columns with many values are asked about more often, so that the sum of errors is least. Each column has the
oracle of least variance, and its shares are made proper by norm-sub.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdveil.arrays import Codes, Floats
from crowdveil.engines import Engine
from crowdveil.guarantee import Promise
from crowdveil.local.split_epsilon import check_epsilon
from crowdveil.randomness import Randomness
from crowdveil.records import Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.marginals import norm_sub
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question, merged
from crowdveil.synthesis.registry import Method
from crowdveil.synthesis.simulated import synthesize
from crowdveil.synthesis.swaps import independent_columns


@dataclass(frozen=True)
class Independent:
    """Parameters: epsilon for a record. A `Design` of one round."""

    epsilon: float

    name: ClassVar[str] = "independent"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record, as realised; known before anybody reports."""
        return if_declared(schema, question_plan.promise(self.questions(schema)))

    def questions(self, schema: Schema) -> tuple[Question, ...]:
        """A question about each column."""
        return tuple(question_plan.singles(schema, self.epsilon))

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
        """From the sizes of the columns alone."""
        return question_plan.chances(self.epsilon, (questions, ()))

    def tables(self, schema: Schema, halves: Halves) -> dict[tuple[int, ...], Floats]:
        """Single columns; uniform where nobody was asked about one."""
        shares: dict[tuple[int, ...], Floats] = {
            (column,): np.full(size, 1.0 / size) for column, size in enumerate(schema.sizes)
        }
        return shares | {table.question.columns: norm_sub(table.frequencies()) for table in merged(halves)}

    def codes(
        self,
        schema: Schema,
        halves: Halves,
        rows: int,
        *,
        rng: Randomness,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Codes:
        """(rows, d): columns side by side."""
        return independent_columns(list(self.tables(schema, halves).values()), rows, rng=rng)


METHOD = Method(Independent, synthesize)
