"""Simulated records with known dependence between columns, from a latent class model.

The parameters of the population are public, so every marginal is known in closed form.

Notation: c is the index of a class, v a code, a the index of a column.
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
    """A latent class model: given the class, columns are independent.

    With probability `dependence` the value of a column is the typical one of the person's class,
    (c + a) mod values; otherwise it is v with probability proportional to 1 / (v + 1). The probability of
    class c is proportional to 1 / (c + 1). So with dependence 0 all columns are independent, and with
    dependence 1 a column determines all others as far as it determines the class.
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
        """Columns column-1, column-2, ... with values v1, v2, ..., zero-padded to sort numerically."""
        digits = len(str(self.values))
        values = tuple(f"v{value:0{digits}d}" for value in range(1, self.values + 1))
        width = len(str(self.columns))
        return Schema(
            tuple(Column(f"column-{place:0{width}d}", values) for place in range(1, self.columns + 1))
        )

    def records(self, *, rng: Randomness) -> Records:
        """Records drawn from the population."""
        classes = _places(rng, "classes", self.rows, _falling(self.classes))
        codes = np.empty((self.rows, self.columns), dtype=np.int32)
        for column in range(self.columns):
            typical = _uniforms(rng, f"typical {column}", self.rows) < self.dependence
            other = _places(rng, f"values {column}", self.rows, _falling(self.values))
            codes[:, column] = np.where(typical, _typical(column, self.values, self.classes)[classes], other)
        return Records(self.schema(), codes)

    def population(self) -> LatentClasses:
        """The latent class model that records are drawn from."""
        return population((self.values,) * self.columns, self.dependence, self.classes)


def population(sizes: Sequence[int], dependence: float, classes: int) -> LatentClasses:
    """The latent class model of `SimulatedRecords`, for columns of any sizes."""
    chances = []
    for column, size in enumerate(sizes):
        by_class = np.tile((1 - dependence) * _falling(size), (classes, 1))
        by_class[np.arange(classes), _typical(column, size, classes)] += dependence
        chances.append(by_class)
    return LatentClasses(tuple(sizes), _falling(classes), np.concatenate(chances, axis=1))


def _typical(column: int, values: int, classes: int) -> Ints:
    """The typical value of each class."""
    return np.remainder(np.arange(classes) + column, values)


def _falling(count: int) -> Floats:
    """Probabilities proportional to 1, 1/2, 1/3, ..."""
    heights = 1.0 / np.arange(1, count + 1, dtype=np.float64)
    return np.asarray(heights / heights.sum())


def _uniforms(rng: Randomness, name: str, count: int) -> Floats:
    return rng.stream(name, purpose="records").uniforms(count)


def _places(rng: Randomness, name: str, count: int, chances: Floats) -> Codes:
    """Draws of an index with the given probabilities."""
    edges = np.cumsum(chances)[:-1]
    return np.searchsorted(edges, _uniforms(rng, name, count), side="right").astype(np.int32)
