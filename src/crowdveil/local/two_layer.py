"""The 2-Layer mechanism: each user draws an epsilon of their own, then every cell is randomized at that one.

Reference: Li et al., *An Efficient Two-Layer Mechanism for Privacy-Preserving Truth Discovery*, 2018; NULL is
one more answer, as in Sun et al. 2018. On paper the own epsilon is uniform in [0, 2 mean]; here it is the
middle of one of `steps` equal parts of that range, each as likely. So the mean is kept, and chances
are exact.

What is promised for a cell is 2 mean, not the mean: who draws a large epsilon keeps most cells, that shows,
and then the one cell is known to have been randomized at a large epsilon. Who takes part shows too.

Notation: K symbols, NULL included; N cells of a user; k and f the chances that a symbol is kept and that it
becomes some given other one, at the own epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log
from typing import ClassVar

import numpy as np
import polars as pl

from crowdveil.accounting.parameters import check_whole
from crowdveil.accounting.rounding import slack
from crowdveil.answers import CellReports, Domain, Symbols
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Unit, rational
from crowdveil.kernels import cells
from crowdveil.local.cell_response import ASSUMPTIONS, check_symbols
from crowdveil.local.description import Description
from crowdveil.local.reports import CellMechanism, Device, pure
from crowdveil.local.request import MechanismRequest
from crowdveil.randomness import Words
from crowdveil.randomness.response import LARGEST_EPSILON, Response
from crowdveil.randomness.samplers import below

STEPS = 128
MOST_STEPS = 2**12


@dataclass(frozen=True)
class TwoLayer(CellMechanism):
    """Parameters: the mean of users' own epsilons, the domain, and how many own epsilons there are."""

    name: ClassVar[str] = "two-layer"
    method: ClassVar[str] = "two layer"

    mean: float
    domain: Domain
    steps: int = STEPS

    def __post_init__(self) -> None:
        rational(self.mean, what="the mean epsilon")  # refuses one that is too small or too large
        if 2 * self.mean > LARGEST_EPSILON:
            raise ParameterError(
                f"the mean epsilon must be at most {LARGEST_EPSILON / 2:g}, not {self.mean:g}"
            )
        check_whole(self.steps, "the number of own epsilons")
        if self.steps > MOST_STEPS:
            raise ParameterError(f"there are at most {MOST_STEPS} own epsilons, not {self.steps}")

    @classmethod
    def describe(cls, request: MechanismRequest) -> Description:
        """Own epsilons reach twice their mean, and that is what can be promised."""
        return cls.described(request, mean=request.strength / 2)

    @cached_property
    def responses(self) -> tuple[Response, ...]:
        """The weights of symbols at each own epsilon, from the smallest; all are equally likely."""
        width = 2 * self.mean / self.steps
        return tuple(Response.of(self.domain.size + 1, width * (step + 0.5)) for step in range(self.steps))

    def exact_law(self) -> list[list[Fraction]]:
        """The chance of every symbol for every answer in one cell, NULL last: a mixture over own epsilons.

        Cells of a user share the own epsilon, so this is not the law of several of them together.
        """
        symbols = self.domain.size + 1
        keep = sum((one.keep_chance for one in self.responses), Fraction(0)) / self.steps
        other = (1 - keep) / (symbols - 1)
        return [[keep if sent == code else other for sent in range(symbols)] for code in range(symbols)]

    @cached_property
    def law(self) -> Floats:
        """The same in floats."""
        return np.array([[float(chance) for chance in row] for row in self.exact_law()])

    def row(self, objects: int) -> tuple[int, type[np.generic]]:
        """A device sends a byte for each object."""
        return objects, np.uint8

    def bounds(self, objects: int, _place: int) -> list[tuple[int, int]]:
        """An answer, or NULL."""
        return [(0, self.domain.size)] * objects

    def device(self, _objects: pl.Series, _places: Ints) -> Device:
        """What each user's device does."""
        return self._fill_row

    def received(
        self, objects: pl.Series, users: pl.Series, rows: Symbols, _places: Ints | None = None
    ) -> CellReports:
        """The symbols with the law that made them."""
        check_symbols(rows, self.domain.size)
        return CellReports(
            *(objects, users, self.domain, rows, self.law, self.domain.values()), users_alike=True
        )

    def _fill_row(self, _: int, state: Words, answered: Codes, codes: Symbols, out: Symbols) -> None:
        """The own epsilon is drawn first, and never sent."""
        own = self.responses[below(state, self.steps)]
        size = self.domain.size
        cells.fill_response(state, answered, codes, size, size, own.keep, own.other, out)

    def promise(self, unit: Unit | None = None, count: int = 1) -> Guarantee:
        """Pure 2 mean for each cell, however many there are; for a user the sum over `count` objects."""
        largest = 2 * self.mean
        return pure(self._unit(unit, count), count, largest, Fraction(largest), ASSUMPTIONS)

    def cell_epsilon(self, objects: int) -> float:
        """The least epsilon that is true of a cell beside so many minus one: log(E[k^N] / E[k^(N-1) f]).

        `accounting.two_layer_epsilon` is the same for own epsilons that are uniform in [0, 2 mean]; it can
        lie on either side of this one.
        """
        return self._largest(objects, objects - 1, 2 * self.mean)

    def user_epsilon(self, objects: int) -> float:
        """The least epsilon that is true of all cells of a user together: log(E[k^N] / E[f^N])."""
        return self._largest(objects, 0, self.promise("user", objects).epsilon)

    def _largest(self, objects: int, kept: int, most: float) -> float:
        """log(E[k^N] / E[k^kept f^(N - kept)]), not rounded down."""
        check_whole(objects, "the number of objects")
        k = np.array([log(one.keep) - log(one.total) for one in self.responses])
        f = np.array([log(one.other) - log(one.total) for one in self.responses])
        ratio = _log_sum(objects * k) - _log_sum(kept * k + (objects - kept) * f)
        return min(most, ratio + slack(8.0 * (self.steps + objects * (43.0 + float(-f.min())))))


def _log_sum(logs: Floats) -> float:
    largest = float(logs.max())
    return largest + log(float(np.exp(logs - largest).sum()))
