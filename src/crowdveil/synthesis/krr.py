"""kRR: each person reports all columns, each by randomized response with an equal share of epsilon.

The simplest way to report a whole record; with many columns little epsilon is left for each. The server
inverts the responses: tables of pairs are unbiased, then made consistent and proper, and rows follow by
swaps.

The paper inverts the matrix of all columns together, which is too large, and so truncates it to frequent
records. The marginal of that inverse on a pair equals the pair's own inverse (`local.split_krr`), so nothing
has to be truncated here.

Reference: the method kRR in Chen et al., *Locally differentially private high-dimensional data synthesis*,
2023, section 5; Kairouz, Bonawitz and Ramage, *Discrete Distribution Estimation under Local Privacy*, 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from crowdveil.arrays import Codes
from crowdveil.guarantee import Promise
from crowdveil.local.krr import KRR
from crowdveil.local.record_reports import record_promise
from crowdveil.local.split_epsilon import check_epsilon, share_of, sum_of
from crowdveil.local.split_krr import inverted, split_variance
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records, Schema
from crowdveil.synthesis.calm import agreed
from crowdveil.synthesis.marginals import Marginal, norm_sub
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.question_plan import check_pairs
from crowdveil.synthesis.registry import Method
from crowdveil.synthesis.result import Synthetic, rows_of, synthetic
from crowdveil.synthesis.swaps import independent_columns, swapped


@dataclass(frozen=True)
class AllColumns:
    """Parameters: epsilon for a record, split equally over all columns."""

    epsilon: float

    name: ClassVar[str] = "krr"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def responses(self, schema: Schema) -> list[KRR]:
        """Randomized response on each column."""
        check_pairs(schema)
        return [KRR(share_of(self.epsilon, len(schema.sizes)), size) for size in schema.sizes]

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record: the sum over columns, as realised."""
        return if_declared(
            schema, record_promise(sum_of(response.epsilon for response in self.responses(schema)))
        )


def reported(records: Records, parameters: AllColumns, *, rng: Randomness) -> Codes:
    """(n, d): one report for each record, of all its columns."""
    responses = parameters.responses(records.schema)
    values = [
        response.perturb(records.codes[:, column].astype(np.int64), rng=rng.part(f"column {column}"))
        for column, response in enumerate(responses)
    ]
    return np.stack(values, axis=1)


def synthesize(
    records: Records, parameters: AllColumns, *, rows: int | None = None, rng: Randomness | None = None
) -> Synthetic:
    """Synthetic records from one simulated report of each record."""
    rng, rows = rng or secure(), rows_of(records, rows)
    schema, responses = records.schema, parameters.responses(records.schema)
    reports = Records(schema, reported(records, parameters, rng=rng))
    if len(schema.sizes) > 1:
        singles, pairs = agreed(_pairs(reports, responses), schema.sizes)
    else:
        singles, pairs = [norm_sub(responses[0].frequencies(reports.counts(0), len(reports)))], {}
    codes = swapped(independent_columns(singles, rows, rng=rng), schema.sizes, pairs, rng=rng)
    bits = sum(response.report_bits for response in responses)
    return synthetic(codes, records, parameters, report_bits=float(bits), rng=rng)


def _pairs(reports: Records, responses: Sequence[KRR]) -> list[Marginal]:
    """The inverted tables of all pairs."""
    return [
        Marginal(
            (a, b),
            inverted(reports.pair(a, b) / len(reports), (responses[a], responses[b])),
            split_variance((responses[a], responses[b])) / len(reports),
        )
        for a, b in combinations(range(len(responses)), 2)
    ]


METHOD = Method(AllColumns, synthesize)
