"""SamPrivSyn: each person reports one pair of columns, more often a pair with much mutual information.

People take part in batches of B, which are the rounds of the collection. Each person is asked about one pair,
drawn with probability proportional to the pair's mutual information as estimated so far (all equal in the
first batch), and sends both values, each by randomized response with half of epsilon. After each batch the
tables of pairs are estimated by LASSO from all reports, and mutual information from these tables. In the end
single columns are means over their pairs, weighted by mutual information; rows start from these as
independent columns, and swaps bring the pairs towards their tables.

Where the paper is inconsistent, this is our reading: there are d(d - 1)/2 pairs, not d(d - 2)/2; a pair is
drawn for every person, not only when a batch is full; equation 11 needs the sum over j. The paper names no
LASSO penalty and does not constrain the sign of shares; here no share is below 0.

With B = 30,000, as in the paper, almost all of Adult's 30,162 people are asked about all pairs with equal
probability. Mutual information is overestimated in noisy tables of many cells, so at a small epsilon it
follows the sizes of columns; a pair that nobody was asked about has none, and is never asked about again. And
half of epsilon for each value is less precise than all of it for the joint code (see `calm`).

Notation: B, the number of people in a batch.

Reference: Chen, Wang, Yang, Hu and Jiang, *Locally differentially private high-dimensional data synthesis*,
2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Codes, Floats
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise
from crowdveil.local.krr import KRR
from crowdveil.local.split_epsilon import check_epsilon, share_of
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import Randomness
from crowdveil.records import Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.lasso import lasso
from crowdveil.synthesis.marginals import mutual_information
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question, Table, merged
from crowdveil.synthesis.registry import Method
from crowdveil.synthesis.simulated import synthesize
from crowdveil.synthesis.swaps import independent_columns, swapped

BATCH = 2000
LEAST_WEIGHT = 1e-12  # of a pair in a mean, so that there is a mean where all pairs are independent

Pair = tuple[int, int]


@dataclass(frozen=True)
class SamPrivSyn:
    """Parameters: epsilon for a record, and the number of people in a batch. A `Design`."""

    epsilon: float
    batch: int = BATCH

    name: ClassVar[str] = "samprivsyn"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.batch, "the number of people in a batch")

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record: the sum for both values, as realised, of the largest pair."""
        return if_declared(schema, question_plan.promise(self.questions(schema)))

    def responses(self, schema: Schema) -> list[KRR]:
        """Randomized response on each column, with half of epsilon."""
        return [KRR(share_of(self.epsilon, 2), size) for size in schema.sizes]

    def questions(self, schema: Schema) -> tuple[Question, ...]:
        """A question about each pair, in lexical order."""
        if len(schema.columns) < 2:
            raise ParameterError("SamPrivSyn asks about pairs: there must be at least two columns")
        question_plan.check_pairs(schema)
        pairs = [(pair, tuple(schema.sizes[column] for column in pair)) for pair in _pairs(schema)]
        oracles = {sizes: SplitKRR.of(self.epsilon, sizes) for sizes in {sizes for _, sizes in pairs}}
        return tuple(Question(pair, sizes, oracles[sizes]) for pair, sizes in pairs)

    def round_ends(self, people: int) -> range:
        """A round for each batch; the last one may be smaller."""
        return range(self.batch, people + self.batch, self.batch)

    def chances(
        self,
        schema: Schema,
        questions: Sequence[Question],
        halves: Halves,
        *,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Floats:
        """In proportion to mutual information; all equal as long as there is none."""
        information = self.estimates(schema, halves).information
        weights = [information.get((a, b), 0.0) for a, b in (question.columns for question in questions)]
        total = sum(weights)
        return np.array([weight / total if total > 0 else 1.0 / len(weights) for weight in weights])

    def estimates(self, schema: Schema, halves: Halves) -> Estimates:
        """What all reports so far say about pairs."""
        return Estimates.of(merged(halves), self.responses(schema))

    def tables(self, schema: Schema, halves: Halves) -> dict[tuple[int, ...], Floats]:
        """Single columns, and the pairs that somebody was asked about."""
        estimates = self.estimates(schema, halves)
        singles = enumerate(estimates.single_columns(schema.sizes))
        tables: dict[tuple[int, ...], Floats] = {(column,): shares for column, shares in singles}
        return tables | {pair: shares for pair, shares in estimates.tables.items()}  # noqa: C416

    def codes(
        self,
        schema: Schema,
        halves: Halves,
        rows: int,
        *,
        rng: Randomness,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Codes:
        """(rows, d): independent columns, then swaps towards the estimated tables of pairs."""
        estimates = self.estimates(schema, halves)
        codes = independent_columns(estimates.single_columns(schema.sizes), rows, rng=rng)
        return swapped(codes, schema.sizes, estimates.tables, rng=rng)


def _pairs(schema: Schema) -> list[Pair]:
    return list(combinations(range(len(schema.sizes)), 2))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Tables of the pairs that somebody was asked about, and their mutual information in nats."""

    tables: Mapping[Pair, Floats]
    information: Mapping[Pair, float]

    @classmethod
    def of(cls, tables: Sequence[Table], responses: Sequence[KRR]) -> Estimates:
        """By LASSO, from the counts of each pair."""
        shares = {}
        for table in tables:
            a, b = table.question.columns
            shares[a, b] = lasso(table.support.reshape(table.question.sizes), responses[a], responses[b])
        return cls(shares, {pair: mutual_information(shares[pair]) for pair in shares})

    def single_columns(self, sizes: Sequence[int]) -> list[Floats]:
        """Shares of single columns: means over their pairs, weighted by mutual information (equation 11)."""
        sums, weights = [np.zeros(size) for size in sizes], np.zeros(len(sizes))
        for pair, shares in self.tables.items():
            weight = max(self.information[pair], LEAST_WEIGHT)
            for axis, column in enumerate(pair):
                sums[column] += weight * shares.sum(axis=1 - axis)
                weights[column] += weight
        return [
            total / weight if weight > 0 else np.full(total.size, 1.0 / total.size)
            for total, weight in zip(sums, weights, strict=True)
        ]


METHOD = Method(SamPrivSyn, synthesize)
