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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np

from crowdveil.arrays import Codes, Ints
from crowdveil.engines import Engine, LocalEngine, RecordBlock
from crowdveil.guarantee import Promise
from crowdveil.local.krr import KRR
from crowdveil.local.record_reports import record_promise
from crowdveil.local.split_epsilon import check_epsilon, share_of, sum_of
from crowdveil.local.split_krr import inverted, split_variance
from crowdveil.randomness import Randomness, secure
from crowdveil.records import RecordTable, Schema
from crowdveil.synthesis import all_columns
from crowdveil.synthesis.all_columns import Devices, reports_of
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


def reported(
    records: RecordTable, parameters: AllColumns, *, rng: Randomness, engine: Engine | None = None
) -> Codes:
    """(n, d): one report for each record, of all its columns."""
    responses = parameters.responses(records.schema)
    return np.stack(all_columns.reported(records, responses, rng=rng, engine=engine), axis=1)


def synthesize(
    records: RecordTable,
    parameters: AllColumns,
    *,
    rows: int | None = None,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Synthetic:
    """Synthetic records from one simulated report of each record, drawn where the engine has the records."""
    rng, rows = rng or secure(), rows_of(records, rows)
    runs: Engine = engine or LocalEngine()
    schema, responses = records.schema, parameters.responses(records.schema)
    devices, sets = Devices.of(responses, rng=rng), _counted_together(len(responses))
    sizes = [prod(schema.sizes[column] for column in columns) for columns in sets]
    totals = runs.sum("reports", records, sum(sizes), _add, devices, operations=devices.operations(records))
    counts = dict(zip(sets, np.split(totals, np.cumsum(sizes)[:-1]), strict=True))
    if len(responses) > 1:
        singles, pairs = agreed(_pairs(counts, len(records), responses), schema.sizes)
    else:
        singles, pairs = [norm_sub(responses[0].frequencies(counts[0,], len(records)))], {}
    codes = swapped(independent_columns(singles, rows, rng=rng), schema.sizes, pairs, rng=rng)
    bits = sum(response.report_bits for response in responses)
    return synthetic(codes, schema, parameters, report_bits=float(bits), rng=rng)


def _counted_together(columns: int) -> list[tuple[int, ...]]:
    """All pairs of columns; a single column alone."""
    return list(combinations(range(columns), 2)) if columns > 1 else [(0,)]


def _add(block: RecordBlock, devices: Devices, totals: Ints) -> None:
    """Add the counts of all pairs of reported values."""
    values = [each.astype(np.int64) for each in reports_of(block, devices)]
    sizes, begin = [oracle.cells for oracle in devices.oracles], 0
    for columns in _counted_together(len(values)):
        joint, cells = np.zeros(block.size, dtype=np.int64), 1
        for column in columns:
            joint, cells = joint * sizes[column] + values[column], cells * sizes[column]
        totals[begin : begin + cells] += np.bincount(joint, minlength=cells)
        begin += cells


def _pairs(counts: Mapping[tuple[int, ...], Ints], n: int, responses: Sequence[KRR]) -> list[Marginal]:
    """The inverted tables of all pairs."""
    both = {columns: tuple(responses[column] for column in columns) for columns in counts}
    return [
        Marginal(
            columns,
            inverted(counted.reshape([each.cells for each in both[columns]]) / n, both[columns]),
            split_variance(both[columns]) / n,
        )
        for columns, counted in counts.items()
    ]


METHOD = Method(AllColumns, synthesize)
