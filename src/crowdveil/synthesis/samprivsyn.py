"""SamPrivSyn: everybody reports one pair of columns; pairs that tell of each other are asked more often.

People take part in batches of B. Everybody is asked about one pair, drawn with chances in proportion to the
pairs' mutual information as known so far (all alike in the first batch), and sends both values, each by
randomized response with half of epsilon. After each batch tables of pairs are estimated by LASSO from all
reports, and mutual information from those. In the end single columns are the means of pairs, weighted by
mutual information; rows get these first, and then swaps bring pairs to their tables.

Where the paper slips, this is what it means: there are d(d - 1)/2 pairs, not d(d - 2)/2; a pair is drawn for
everybody, not only when a batch is full; equation 11 needs the sum over j. It names no penalty of the LASSO
and fits shares without a sign; here they are not below 0.

With B = 30,000, the paper's, almost all of Adult's 30,162 people are asked about all pairs alike. Mutual
information is too large in noisy tables of many cells, so at a small epsilon it follows the sizes of columns;
a pair that nobody was asked about has none, and is never asked again. And half of epsilon for each value
tells less than all of it for both together (see `calm`).

Notation: B, the people of a batch.

Reference: Chen, Wang, Yang, Hu and Jiang, *Locally differentially private high-dimensional data synthesis*,
2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise
from crowdveil.local.krr import KRR
from crowdveil.randomness import Randomness, secure
from crowdveil.records import Records, Schema
from crowdveil.synthesis.choices import choices, in_random_order
from crowdveil.synthesis.marginals import mutual_information
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.question_plan import check_pairs
from crowdveil.synthesis.result import Synthetic, bits_of, rows_of, synthetic
from crowdveil.synthesis.split_epsilon import check_epsilon, share_of, together
from crowdveil.synthesis.split_response import lasso
from crowdveil.synthesis.swaps import independent_columns, swapped

METHOD = "samprivsyn"
BATCH = 2000

Pair = tuple[int, int]


@dataclass(frozen=True)
class SamPrivSyn:
    """Parameters: epsilon for a record, and how many people a batch has."""

    epsilon: float
    batch: int = BATCH

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.batch, "the number of people in a batch")

    def responses(self, schema: Schema) -> list[KRR]:
        """Randomized response on each column, with half of epsilon."""
        if len(schema.columns) < 2:
            raise ParameterError("SamPrivSyn asks about pairs: there must be at least two columns")
        check_pairs(schema)
        return [KRR(share_of(self.epsilon, 2), size) for size in schema.sizes]

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record: the sum of both values', as realised, of the largest pair."""
        largest = sorted(response.epsilon for response in self.responses(schema))[-2:]
        return if_declared(schema, together(largest))


@dataclass(frozen=True, eq=False)
class Sampled:
    """Reports of pairs, counted, with what was learned from them; pairs in lexical order."""

    pairs: tuple[Pair, ...]
    counts: tuple[Ints, ...]
    tables: Mapping[Pair, Floats]  # estimated, of pairs that somebody was asked about
    information: Floats  # (pairs,): in nats

    @property
    def reports(self) -> int:
        """How many there are."""
        return int(sum(each.sum() for each in self.counts))


def sampled(records: Records, parameters: SamPrivSyn, *, rng: Randomness) -> Sampled:
    """All batches: what everybody reports, once, and the tables that are estimated from it."""
    responses, sizes = parameters.responses(records.schema), records.schema.sizes
    pairs = tuple(combinations(range(len(sizes)), 2))
    now = Sampled(
        pairs,
        tuple(np.zeros((sizes[a], sizes[b]), dtype=np.int64) for a, b in pairs),
        {},
        np.ones(len(pairs)),
    )
    for first in range(0, len(records), parameters.batch):
        batch = records.codes[first : first + parameters.batch]
        now = _with_batch(now, batch, responses, rng=rng.part(f"people from {first}"))
    return now


def _with_batch(before: Sampled, batch: Codes, responses: Sequence[KRR], *, rng: Randomness) -> Sampled:
    """After one more batch of people."""
    chances = before.information if before.information.sum() > 0 else np.ones(len(before.pairs))
    asked = choices(chances, len(batch), rng=rng)
    counts = []
    for number, (a, b) in enumerate(before.pairs):
        people = np.flatnonzero(asked == number)
        told = [
            responses[column].perturb(
                batch[people, column].astype(np.int64), rng=rng.part(f"pair {number} column {column}")
            )
            for column in (a, b)
        ]
        added = np.zeros_like(before.counts[number])
        np.add.at(added, (told[0], told[1]), 1)
        counts.append(before.counts[number] + added)
    tables = {
        pair: lasso(each, responses[pair[0]], responses[pair[1]])
        for pair, each in zip(before.pairs, counts, strict=True)
        if each.any()
    }
    known = [mutual_information(tables[pair]) if pair in tables else 0.0 for pair in before.pairs]
    return Sampled(before.pairs, tuple(counts), tables, np.array(known))


def single_columns(found: Sampled, sizes: Sequence[int]) -> list[Floats]:
    """Shares of single columns: means over their pairs, weighted by mutual information (equation 11)."""
    sums, weights = [np.zeros(size) for size in sizes], np.zeros(len(sizes))
    for pair, weight in zip(found.pairs, found.information, strict=True):
        if pair not in found.tables:
            continue
        for axis, column in enumerate(pair):
            positive = max(weight, 1e-12)  # so that there is a mean where all pairs are independent
            sums[column] += positive * found.tables[pair].sum(axis=1 - axis)
            weights[column] += positive
    return [
        total / weight if weight > 0 else np.full(total.size, 1.0 / total.size)
        for total, weight in zip(sums, weights, strict=True)
    ]


def synthesize(
    records: Records, parameters: SamPrivSyn, *, rows: int | None = None, rng: Randomness | None = None
) -> Synthetic:
    """Synthetic records as in the paper; to run all devices here is a simulation."""
    rng, rows = rng or secure(), rows_of(records, rows)
    found = sampled(in_random_order(records, rng=rng), parameters, rng=rng)
    alone = single_columns(found, records.schema.sizes)
    codes = independent_columns(alone, rows, rng=rng)
    codes = swapped(codes, records.schema.sizes, found.tables, rng=rng)
    responses = parameters.responses(records.schema)
    bits = sum(
        int(counts.sum()) * (bits_of(responses[a]) + bits_of(responses[b]))
        for (a, b), counts in zip(found.pairs, found.counts, strict=True)
    )
    return synthetic(codes, records, parameters, method=METHOD, report_bits=bits / found.reports, rng=rng)
