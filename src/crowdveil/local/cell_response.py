"""Randomized response for every cell of a user, NULL included: nobody learns what was answered, or whether.

An answer is rounded at random to one of some evenly spaced levels, without bias; then the level, or NULL, is
told as it is with a chance that is e^epsilon times that of any other symbol. With as many levels as answers
this is randomized response with NULL (RR of Sun et al. 2018), with two levels it is *three symbols*.

What shows: who takes part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_whole
from crowdveil.accounting.rounding import up
from crowdveil.answers import CellReports, Domain, Symbols
from crowdveil.arrays import Codes, Floats
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, rational
from crowdveil.kernels import cells
from crowdveil.local.reports import Device
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
class CellResponse:
    """Parameters: epsilon for each cell, the domain, and how many levels answers are rounded to."""

    epsilon: float
    domain: Domain
    levels: int | None = None  # default: one for each answer

    def __post_init__(self) -> None:
        if not (isinstance(self.rounded_to, int) and 2 <= self.rounded_to <= self.domain.size):
            raise ParameterError(
                f"levels must be at least 2 and at most {self.domain.size}, not {self.levels}"
            )
        rational(self.epsilon, what="epsilon")  # refuses what tells nothing
        _ = self.response

    @property
    def method(self) -> str:
        """The mechanism's name, which is also the purpose of its streams."""
        return "cell response"

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

    def device(self, _objects: pl.Series, _users: pl.Series) -> Device:
        """What each user's device does."""
        return self._fill_row

    def received(self, objects: pl.Series, users: pl.Series, rows: Symbols) -> CellReports:
        """The symbols with the law that made them."""
        check_symbols(rows, self.rounded_to)
        return CellReports(objects, users, self.domain, rows, self.law, self.level_values)

    def _fill_row(self, _: int, state: Words, answered: Codes, codes: Symbols, out: Symbols) -> None:
        cells.fill_response(
            *(state, answered, codes, self.domain.size, self.rounded_to),
            *(self.response.keep, self.response.other, out),
        )

    def cell_level(self) -> Guarantee:
        """What is promised about each cell: pure epsilon."""
        return Guarantee(self.response.epsilon, 0.0, "cell", "replace-or-none", "local", ASSUMPTIONS)

    def user_level(self, objects: int) -> Guarantee:
        """What is promised to a user about all cells: their epsilons' sum."""
        check_whole(objects, "the number of objects")
        whole = up(Fraction(self.response.epsilon) * objects)
        return replace(self.cell_level(), epsilon=whole, unit="user")
