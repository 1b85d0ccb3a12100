"""Answers to random counting questions: what share of people has this, and that, and that?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Flags, Floats
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, Stream, seeded
from crowdveil.records import Column, Records, Schema


@dataclass(frozen=True)
class Queries:
    """Questions drawn at random: a conjunction over `ways` columns of a set of codes in each.

    The set is an interval of a column with ordered codes, and any set of about half the codes otherwise. The
    relative error takes shares below `floor` for `floor`, so that tiny ones do not decide.
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
        """For each question: the columns, and which of their codes count."""
        stream, columns = rng.stream("queries", purpose="evaluation"), len(schema.columns)
        asked = []
        for _ in range(self.count):
            chosen = np.argsort(stream.uniforms(columns))[: self.ways].tolist()
            asked.append({place: _some(schema.columns[place], stream) for place in chosen})
        return asked


@dataclass(frozen=True)
class QueryErrors:
    """Errors of the answers that synthetic records give."""

    mean_absolute: float
    mean_relative: float


def query_errors(
    real: Records, synthetic: Records, queries: Queries | None = None, *, rng: Randomness | None = None
) -> QueryErrors:
    """Mean errors over random questions."""
    wanted = queries or Queries()
    asked = wanted.draw(real.schema, rng=rng or seeded(0))
    truths, answers = answered(real, asked), answered(synthetic, asked)
    errors = np.abs(truths - answers)
    return QueryErrors(float(errors.mean()), float((errors / np.maximum(truths, wanted.floor)).mean()))


def answered(records: Records, asked: list[dict[int, Flags]]) -> Floats:
    """The share of records that each question counts."""
    columns = [np.ascontiguousarray(column) for column in records.codes.T]
    counts = []
    for question in asked:
        held = np.ones(len(records), dtype=np.bool_)
        for place, codes in question.items():
            held &= codes[columns[place]]
        counts.append(np.count_nonzero(held))
    return np.array(counts) / len(records)


def _some(column: Column, stream: Stream) -> Flags:
    """Some codes of a column, neither none nor all of them."""
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
