"""LoPub: each person reports all columns as Bloom filters, with equal shares of epsilon; pairs follow by EM.

A value sets 2 of 64 bits, and each bit is flipped with the probability that the column's share of epsilon
requires. The table of a pair is estimated by expectation maximization over all pairs of bit strings, from a
uniform start until no cell moves by more than 0.001. Two columns count as dependent if their mutual
information is above a bound. Each column is then drawn given the column that it depends on most.

LoPub joins dependent columns into the cliques of a junction tree, whose tables need EM over all columns of a
clique. Here cliques are pairs: the tree is a forest of maximum mutual information, which needs the tables of
pairs only. The seed of the hash functions is the first one that gives all values of a column different bits,
if there is one: it is public and does not depend on records.

With epsilon/d for a column and a quarter of that for a bit, bit strings hold little information at a small
epsilon, and tables stay near uniform.

Reference: Ren, Yu, Yu, Yang, Yang, McCann and Yu, *LoPub: High-Dimensional Crowdsourced Data Publication with
Local Differential Privacy*, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Singles
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise
from crowdveil.kernels.products import product, product_across
from crowdveil.local.bloom import Bloom
from crowdveil.local.record_reports import record_promise
from crowdveil.local.split_epsilon import check_epsilon, share_of, sum_of
from crowdveil.randomness import Randomness, secure
from crowdveil.records import RecordTable, Schema
from crowdveil.synthesis import all_columns
from crowdveil.synthesis.marginals import mutual_information, rounded
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.question_plan import check_pairs
from crowdveil.synthesis.registry import Method
from crowdveil.synthesis.result import Synthetic, rows_of, synthetic

CLOSE = 1e-3
MOST_STEPS = 500
SEEDS_TRIED = 100

Pair = tuple[int, int]


@dataclass(frozen=True)
class LoPub:
    """Parameters: epsilon for a record, bits and hash functions per column, and the degree of dependence.

    Columns of k and l values depend on each other if their mutual information is at least
    (min(k, l) - 1) dependence^2 / 2.
    """

    epsilon: float
    bits: int = 64
    hashes: int = 2
    dependence: float = 0.2

    name: ClassVar[str] = "lopub"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0 <= self.dependence <= 1:
            raise ParameterError(f"the degree of dependence must be from 0 to 1, not {self.dependence}")
        Bloom(self.epsilon, 2, self.bits, self.hashes)

    def filters(self, schema: Schema) -> list[Bloom]:
        """A Bloom filter for each column."""
        check_pairs(schema)
        share = share_of(self.epsilon, len(schema.sizes))
        return [_distinct(share, size, self.bits, self.hashes) for size in schema.sizes]

    def promise(self, schema: Schema) -> Promise:
        """Pure epsilon for each record: the sum over columns, as realised."""
        return if_declared(schema, record_promise(sum_of(each.epsilon for each in self.filters(schema))))


@cache
def _distinct(epsilon: float, cells: int, bits: int, hashes: int) -> Bloom:
    """A filter under which all values have different bits, if one of the first seeds gives one."""
    for seed in range(SEEDS_TRIED):
        bloom = Bloom(epsilon, cells, bits, hashes, seed)
        if len(np.unique(bloom.patterns, axis=0)) == cells:
            return bloom
    return Bloom(epsilon, cells, bits, hashes)


# --- reports -----------------------------------------------------------------------------------------------


def reported(
    records: RecordTable, parameters: LoPub, *, rng: Randomness, engine: Engine | None = None
) -> list[NDArray[np.uint8]]:
    """One report for each record: a bit string for each column."""
    return all_columns.reported(records, parameters.filters(records.schema), rng=rng, engine=engine)


def likelihoods(reports: NDArray[Any], bloom: Bloom) -> Singles:
    """(n, cells): the likelihood of each value given each report, relative to the likeliest value."""
    flip = float(bloom.flips.chance)
    signs = 2.0 * np.unpackbits(reports, axis=1, bitorder="little")[:, : bloom.bits].astype(np.float32) - 1.0
    logs = log((1 - flip) / flip) * product(signs, bloom.patterns.T.astype(np.float32))
    relative: Singles = np.exp(logs - logs.max(axis=1, keepdims=True)).astype(np.float32)
    return relative


def joint(first: Singles, second: Singles) -> Floats:
    """(k, l): the shares of a pair's cells by EM, from the likelihoods of both columns."""
    shares = np.full((first.shape[1], second.shape[1]), 1.0 / (first.shape[1] * second.shape[1]))
    for _ in range(MOST_STEPS):
        chances = np.einsum("ij,ij->i", product(first, shares.astype(np.float32)), second)
        ratios = product_across(first, second / np.maximum(chances, np.float32(1e-30))[:, None])
        after = shares * ratios / len(first)  # the mean posterior
        after /= after.sum()
        moved = float(np.abs(after - shares).max())
        shares = after
        if moved < CLOSE:
            break
    return shares


# --- rows --------------------------------------------------------------------------------------------------


def forest(tables: Mapping[Pair, Floats], columns: int, dependence: float) -> list[tuple[int, int | None]]:
    """Each column after its parent, the column that it is drawn given, or None for a root."""
    information = {pair: mutual_information(table) for pair, table in tables.items()}
    edges = [
        (nats, pair)
        for pair, nats in information.items()
        if nats >= (min(tables[pair].shape) - 1) * dependence**2 / 2
    ]
    ordered: list[tuple[int, int | None]] = []
    placed: set[int] = set()
    while len(placed) < columns:
        leading = [(nats, pair) for nats, pair in edges if (pair[0] in placed) != (pair[1] in placed)]
        if leading:
            _, (a, b) = max(leading)
            ordered.append((b, a) if a in placed else (a, b))
        else:
            left = [column for column in range(columns) if column not in placed]
            ordered.append((left[0], None))
        placed.add(ordered[-1][0])
    return ordered


def drawn(
    order: Sequence[tuple[int, int | None]],
    singles: Sequence[Floats],
    tables: Mapping[Pair, Floats],
    rows: int,
    *,
    rng: Randomness,
) -> Codes:
    """(rows, d): column after column; the counts of values are the expected ones, rounded at random."""
    stream = rng.stream("columns", purpose="rows")
    codes = np.zeros((rows, len(singles)), dtype=np.int32)
    for column, parent in order:
        if parent is None:
            groups, laws = [np.arange(rows)], singles[column][None, :]
        else:
            laws = tables[parent, column] if parent < column else tables[column, parent].T
            groups = [np.flatnonzero(codes[:, parent] == value) for value in range(len(laws))]
        for members, law in zip(groups, laws, strict=True):
            shares = law / law.sum() if law.sum() > 0 else singles[column]
            counts = rounded(members.size * shares, members.size, stream.uniforms(1)[0])
            values = np.repeat(np.arange(shares.size), counts)
            codes[members, column] = values[np.argsort(stream.uniforms(members.size), kind="stable")]
    return codes


def synthesize(
    records: RecordTable,
    parameters: LoPub,
    *,
    rows: int | None = None,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Synthetic:
    """Synthetic records drawn along a forest of pairs, from one simulated report of each record.

    Reports are drawn where the engine has the records, and all of them are brought here: a table of pairs
    needs them again in each step.
    """
    rng, rows = rng or secure(), rows_of(records, rows)
    schema, filters = records.schema, parameters.filters(records.schema)
    reports = reported(records, parameters, rng=rng, engine=engine)
    likely = [likelihoods(bits, bloom) for bits, bloom in zip(reports, filters, strict=True)]
    one = np.ones((len(records), 1), dtype=np.float32)
    singles = [joint(column, one)[:, 0] for column in likely]
    d = len(schema.sizes)
    tables = {(a, b): joint(likely[a], likely[b]) for a, b in combinations(range(d), 2)}
    codes = drawn(forest(tables, d, parameters.dependence), singles, tables, rows, rng=rng)
    return synthetic(codes, schema, parameters, report_bits=float(d * parameters.bits), rng=rng)


METHOD = Method(LoPub, synthesize)
