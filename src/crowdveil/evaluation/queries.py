"""Errors of random counting queries: the share of records that satisfy a conjunction of conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Flags, Floats
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, Stream, seeded
from crowdveil.records import Column, Records, Schema


@dataclass(frozen=True)
class Queries:
    """Parameters of random queries: `count` conjunctions over `ways` columns of a set of codes in each.

    The set is a random interval if the column's codes are ordered, and a random half of the codes otherwise.
    The relative error divides by at least `floor`, so that tiny shares do not dominate.
    """

    count: int = 500
    ways: int = 3
    floor: float = 0.001

    def __post_init__(self) -> None:
        if self.count < 1 or self.ways < 1:
            raise ParameterError("queries need at least one question over one column")
        if not 0 < self.floor <= 1:
            raise ParameterError(f"the floor of a share is in (0, 1], not {self.floor:g}")

    def draw(self, schema: Schema, *, rng: Randomness) -> list[dict[int, Flags]]:
        """Random queries: for each, the columns and a mask of the codes that satisfy it."""
        stream, columns = rng.stream("queries", purpose="evaluation"), len(schema.columns)
        drawn = []
        for _ in range(self.count):
            chosen = np.argsort(stream.uniforms(columns))[: self.ways].tolist()
            drawn.append({column: _some(schema.columns[column], stream) for column in chosen})
        return drawn


@dataclass(frozen=True)
class QueryErrors:
    """Mean errors of the answers from synthetic records."""

    mean_absolute: float
    mean_relative: float


def query_errors(
    real: Records, synthetic: Records, queries: Queries | None = None, *, rng: Randomness | None = None
) -> QueryErrors:
    """Mean absolute and relative errors over random queries."""
    parameters = queries or Queries()
    drawn = parameters.draw(real.schema, rng=rng or seeded(0))
    truths, answers = answered(real, drawn), answered(synthetic, drawn)
    errors = np.abs(truths - answers)
    return QueryErrors(float(errors.mean()), float((errors / np.maximum(truths, parameters.floor)).mean()))


def answered(records: Records, queries: list[dict[int, Flags]]) -> Floats:
    """The share of records that satisfy each query."""
    columns = [np.ascontiguousarray(column) for column in records.codes.T]
    counts = []
    for query in queries:
        satisfied = np.ones(len(records), dtype=np.bool_)
        for index, codes in query.items():
            satisfied &= codes[columns[index]]
        counts.append(np.count_nonzero(satisfied))
    return np.array(counts) / len(records)


def _some(column: Column, stream: Stream) -> Flags:
    """A random set of codes of a column, neither empty nor full."""
    size = column.size
    draws = stream.uniforms(size + 2)
    if column.ordered:
        low = int(draws[0] * size)
        most = size - 1 if low == 0 else size
        high = low + 1 + int(draws[1] * (most - low))
        return (np.arange(size) >= low) & (np.arange(size) < high)
    chosen = draws[:size] < 0.5
    if chosen.all() or not chosen.any():
        one = int(draws[-1] * size)
        chosen[one] = not chosen[one]
    return chosen
