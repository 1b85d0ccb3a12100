"""Randomized response for every cell of a user, NULL included: nobody learns what was answered, or whether.

An answer is rounded at random to one of some evenly spaced levels, without bias; then the level, or NULL, is
sent unchanged with a chance that is e^epsilon times that of any other symbol. With as many levels as answers
this is randomized response with NULL (RR of Sun et al. 2018), with two levels it is *three symbols*.

What shows: who takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from crowdveil.answers import CellReports, Domain, Symbols
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, Unit, rational
from crowdveil.kernels import cells
from crowdveil.local.description import Description
from crowdveil.local.mechanism import Shortcut
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.reports import CellMechanism, Device, pure
from crowdveil.local.request import MechanismRequest
from crowdveil.randomness import Words
from crowdveil.randomness.response import Response

ASSUMPTIONS = (
    "the domain was declared, not read off the data",
    "which objects there are and who takes part is public",
    "each cell was reported once: whatever else is sent about it adds up",
)


def check_symbols(rows: Symbols, last: int) -> None:
    """Refuse what no device sends: symbols beyond the last one."""
    if rows.size and int(rows.max()) > last:
        raise InputError("a report has a symbol that the mechanism does not know")


@dataclass(frozen=True)
class CellResponse(CellMechanism):
    """Parameters: epsilon for each cell, the domain, and how many levels answers are rounded to."""

    name: ClassVar[str] = "cell-response"
    method: ClassVar[str] = "cell response"

    epsilon: float
    domain: Domain
    levels: int | None = None  # default: one for each answer

    def __post_init__(self) -> None:
        if not (isinstance(self.rounded_to, int) and 2 <= self.rounded_to <= self.domain.size):
            raise ParameterError(
                f"levels must be at least 2 and at most {self.domain.size}, not {self.levels}"
            )
        rational(self.epsilon, what="epsilon")  # refuses an epsilon that is too small or too large
        _ = self.response

    @property
    def rounded_to(self) -> int:
        """How many levels there are."""
        return self.domain.size if self.levels is None else self.levels

    @cached_property
    def response(self) -> Response:
        """The weights of symbols."""
        return Response.of(self.rounded_to + 1, self.epsilon)

    def exact_law(self) -> list[list[Fraction]]:
        """The chance of every symbol for every answer, NULL last: exactly what is drawn."""
        keep, other = self.response.keep_chance, self.response.other_chance
        steps, places = self.domain.size - 1, self.rounded_to - 1
        rows = []
        for code in range(self.domain.size):
            lower, rest = divmod(code * places, steps)
            row = [other] * (self.rounded_to + 1)
            row[lower] += (keep - other) * Fraction(steps - rest, steps)
            if rest:
                row[lower + 1] += (keep - other) * Fraction(rest, steps)
            rows.append(row)
        rows.append([other] * self.rounded_to + [keep])
        return rows

    @cached_property
    def law(self) -> Floats:
        """The same in floats."""
        return np.array([[float(chance) for chance in row] for row in self.exact_law()])

    @cached_property
    def level_values(self) -> Floats:
        """The numbers that levels stand for."""
        return np.linspace(self.domain.low, self.domain.high, self.rounded_to)

    def row(self, objects: int) -> tuple[int, type[np.generic]]:
        """A device sends a byte for each object."""
        return objects, np.uint8

    def bounds(self, objects: int, _place: int) -> list[tuple[int, int]]:
        """A level, or NULL."""
        return [(0, self.rounded_to)] * objects

    def device(self, _objects: pl.Series, _places: Ints) -> Device:
        """What each user's device does."""
        return self._fill_row

    def received(
        self, objects: pl.Series, users: pl.Series, rows: Symbols, _places: Ints | None = None
    ) -> CellReports:
        """The symbols with the law that made them."""
        check_symbols(rows, self.rounded_to)
        return CellReports(objects, users, self.domain, rows, self.law, self.level_values)

    def _fill_row(self, _: int, state: Words, answered: Codes, codes: Symbols, out: Symbols) -> None:
        cells.fill_response(
            *(state, answered, codes, self.domain.size, self.rounded_to),
            *(self.response.keep, self.response.other, out),
        )

    def promise(self, unit: Unit | None = None, count: int = 1) -> Guarantee:
        """Pure epsilon for each cell; for a user the sum over `count` objects."""
        epsilon = self.response.epsilon
        return pure(self._unit(unit, count), count, epsilon, Fraction(epsilon), ASSUMPTIONS)


def _with_levels(choose: Callable[[MechanismRequest], int]) -> Callable[[MechanismRequest], Description]:
    """Randomized response on as many levels as are chosen from a request."""

    def describe(request: MechanismRequest) -> Description:
        described = CellResponse.describe(request)
        return replace(described, parameters={**described.parameters, "levels": choose(request)})

    return describe


RR = Shortcut(CellResponse, _with_levels(lambda request: request.domain.size))
THREE_SYMBOLS = Shortcut(CellResponse, _with_levels(lambda _: 2))
AUTO = Shortcut(
    CellResponse,
    _with_levels(lambda request: recommended_levels(request.strength, request.domain, request.sparsity)),
    options=("sparsity",),
)
