"""Split kRR: a joint code of several columns, each column by randomized response with its own epsilon.

A report has one value for each column. The values are randomized independently, so the epsilons add up. The
matrix of the joint report is the Kronecker product of the columns' matrices, and so is its inverse; a column
with k cells has the matrix (p - q) I + q J. One kRR on the joint code, or OUE, is more precise at the same
epsilon (docs/guarantees/records.md); SamPrivSyn is built on this one.

Notation: p = keep, q = other and k = cells of one column.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.local import record_reports as shared
from crowdveil.local.krr import KRR
from crowdveil.local.oracle import Oracle
from crowdveil.local.split_epsilon import share_of, sum_of
from crowdveil.local.wire import whole_numbers
from crowdveil.randomness import Randomness, Streams


@dataclass(frozen=True)
class SplitKRR(Oracle):
    """Randomized response on each column of a joint code, in which the last column runs fastest.

    Parameters
    ----------
    epsilons:
        One for each column. Afterwards the field holds those realised, none above the one given.
    sizes:
        The number of values of each column.

    """

    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    epsilon: float = field(init=False)
    cells: int = field(init=False)

    name: ClassVar[str] = "split-krr"

    def __post_init__(self) -> None:
        if len(self.epsilons) != len(self.sizes) or not self.sizes:
            raise ParameterError("there must be one epsilon for each column")
        responses = tuple(KRR(epsilon, size) for epsilon, size in zip(self.epsilons, self.sizes, strict=True))
        shared.check_cells(prod(self.sizes))
        object.__setattr__(self, "epsilons", tuple(response.epsilon for response in responses))
        object.__setattr__(self, "sizes", tuple(self.sizes))
        object.__setattr__(self, "epsilon", sum_of(self.epsilons))
        object.__setattr__(self, "cells", prod(self.sizes))

    @classmethod
    def of(cls, epsilon: float, sizes: Sequence[int]) -> SplitKRR:
        """Equal shares of one epsilon."""
        return cls((share_of(epsilon, len(sizes)),) * len(sizes), tuple(sizes))

    @cached_property
    def responses(self) -> tuple[KRR, ...]:
        """Randomized response on each column."""
        return tuple(KRR(epsilon, size) for epsilon, size in zip(self.epsilons, self.sizes, strict=True))

    @property
    def report_bits(self) -> int:
        """A value for each column."""
        return sum(response.report_bits for response in self.responses)

    @property
    def row(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """A value for each column."""
        return (len(self.sizes),), np.int32

    def streams(self, rng: Randomness) -> tuple[Streams, ...]:
        """Streams of its own for each column."""
        return tuple(
            streams
            for place, response in enumerate(self.responses)
            for streams in response.streams(rng.part(f"column {place}"))
        )

    def fill(self, streams: Sequence[Streams], number: int, codes: Ints, out: NDArray[Any]) -> None:
        """A value of each column for each record."""
        for place, (response, column) in enumerate(
            zip(self.responses, np.unravel_index(codes, self.sizes), strict=True)
        ):
            values = np.empty(codes.size, dtype=np.int32)
            response.fill(streams[place : place + 1], number, np.ascontiguousarray(column), values)
            out[:, place] = values

    def weights(self) -> dict[str, Any]:
        """The integer weights of each column's response."""
        return {"columns": [response.weights() for response in self.responses]}

    def payload(self, report: NDArray[Any]) -> list[int]:
        """The values, column by column."""
        return [int(value) for value in report]

    def report_of(self, payload: Any) -> NDArray[Any]:
        """The values, as one row of reports."""
        return np.array(whole_numbers(payload, [(0, size - 1) for size in self.sizes]), dtype=np.int32)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports have each joint code."""
        rows = shared.whole_numbers(reports, "reports")
        if rows.ndim != 2 or rows.shape[1] != len(self.sizes):
            raise InputError(f"reports must be rows of {len(self.sizes)} values")
        values = tuple(
            shared.in_bounds(rows[:, place], size, "a report has a value that its column has not")
            for place, size in enumerate(self.sizes)
        )
        joint = np.ravel_multi_index(values, self.sizes)
        return np.bincount(joint, minlength=self.cells).astype(np.int64)

    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): each cell's share of n records, by the inverse of the columns' matrices."""
        shared.check_reports(n)
        counts = np.asarray(support, dtype=np.float64).reshape(self.sizes)
        return inverted(counts / n, self.responses).ravel()

    def rare_variance(self, n: int) -> float:
        """The variance of a rare cell's frequency if all cells are reported equally often.

        A column's inverse has the entry (1 - q)/(p - q) for the reported value and -q/(p - q) for each other
        one.
        """
        shared.check_reports(n)
        return split_variance(self.responses) / n


def inverted(shares: Floats, responses: Sequence[KRR]) -> Floats:
    """Unbiased shares of cells (sizes...) from the shares of reports: can be below 0, with the same sum."""
    for axis, response in enumerate(responses):
        sums = shares.sum(axis=axis, keepdims=True)
        shares = (shares - response.other * sums) / (response.keep - response.other)
    return shares


def split_variance(responses: Sequence[KRR]) -> float:
    """n times the variance of an inverted share, averaged over cells that are reported equally often."""
    second_moment = 1.0
    for response in responses:
        k, q, signal = response.cells, response.other, response.keep - response.other
        second_moment *= ((1 - q) ** 2 + (k - 1) * q**2) / (k * signal**2)
    return second_moment - prod(1.0 / response.cells for response in responses) ** 2
