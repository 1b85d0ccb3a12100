"""Simulated records whose dependence is known: people fall into hidden classes.

The population's parameters are public, so every marginal is known in closed form, whatever is drawn.

Notation: z a person's class, c its number, v a code, a and b columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness
from crowdveil.records import Column, Records, Schema
from crowdveil.synthesis.latent_classes import LatentClasses

MOST_CELLS = 10**9


@dataclass(frozen=True)
class SimulatedRecords:
    """A latent class model: within a class columns are independent.

    With chance `dependence` a person's value in a column is the one that is typical of their class,
    (c + a) mod values; otherwise it is v with chance proportional to 1 / (v + 1). Classes have chances
    proportional to 1 / (c + 1). So with a dependence of 0 all columns are independent, and with 1 each column
    tells all others, as far as it tells classes apart.
    """

    rows: int = 10_000
    columns: int = 8
    values: int = 5
    dependence: float = 0.5
    classes: int = 4

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1 or self.classes < 1:
            raise ParameterError("a simulation needs at least one row, one column and one class")
        if self.rows * self.columns > MOST_CELLS:
            raise ParameterError(f"a simulation has at most {MOST_CELLS:g} cells, rows times columns")
        if not 2 <= self.values <= 1000:
            raise ParameterError(f"a column has 2 to 1000 values, not {self.values}")
        if not 0 <= self.dependence <= 1:
            raise ParameterError(f"the dependence must be in [0, 1], not {self.dependence:g}")

    def schema(self) -> Schema:
        """Columns column-1, column-2, ... with values v1, v2, ..., padded so that they sort as they count."""
        digits = len(str(self.values))
        values = tuple(f"v{value:0{digits}d}" for value in range(1, self.values + 1))
        width = len(str(self.columns))
        return Schema(
            tuple(Column(f"column-{place:0{width}d}", values) for place in range(1, self.columns + 1))
        )

    def records(self, *, rng: Randomness) -> Records:
        """People drawn from the population."""
        classes = _places(rng, "classes", self.rows, _falling(self.classes))
        codes = np.empty((self.rows, self.columns), dtype=np.int32)
        for column in range(self.columns):
            typical = _uniforms(rng, f"typical {column}", self.rows) < self.dependence
            other = _places(rng, f"values {column}", self.rows, _falling(self.values))
            codes[:, column] = np.where(typical, _typical(column, self.values, self.classes)[classes], other)
        return Records(self.schema(), codes)

    def population(self) -> LatentClasses:
        """What people are drawn from."""
        return population((self.values,) * self.columns, self.dependence, self.classes)


def population(sizes: Sequence[int], dependence: float, classes: int) -> LatentClasses:
    """Classes of people in columns of any sizes, as `SimulatedRecords` says."""
    chances = []
    for column, size in enumerate(sizes):
        found = np.tile((1 - dependence) * _falling(size), (classes, 1))
        found[np.arange(classes), _typical(column, size, classes)] += dependence
        chances.append(found)
    return LatentClasses(tuple(sizes), _falling(classes), np.concatenate(chances, axis=1))


def _typical(column: int, values: int, classes: int) -> Ints:
    """The value that is typical of each class."""
    return np.remainder(np.arange(classes) + column, values)


def _falling(many: int) -> Floats:
    """Chances proportional to 1, 1/2, 1/3, ..."""
    heights = 1.0 / np.arange(1, many + 1, dtype=np.float64)
    return np.asarray(heights / heights.sum())


def _uniforms(rng: Randomness, name: str, many: int) -> Floats:
    return rng.stream(name, purpose="records").uniforms(many)


def _places(rng: Randomness, name: str, many: int, chances: Floats) -> Codes:
    """Draws of a place with these chances."""
    edges = np.cumsum(chances)[:-1]
    return np.searchsorted(edges, _uniforms(rng, name, many), side="right").astype(np.int32)
