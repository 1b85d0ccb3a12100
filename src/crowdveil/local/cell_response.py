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

from crowdveil.accounting.parameters import check_whole
from crowdveil.accounting.rounding import up
from crowdveil.answers import Answers, CellReports, Domain, Symbols
from crowdveil.arrays import Codes, Floats
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.kernels import cells
from crowdveil.local.devices import run_devices
from crowdveil.randomness import Randomness, Words, secure
from crowdveil.randomness.response import Response

ASSUMPTIONS = (
    "the domain and the list of objects were declared, not read off the data",
    "who takes part is public",
    "each cell was reported once: whatever else is sent about it adds up",
)


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

    def fill_row(self, state: Words, answered: Codes, codes: Symbols, out: Symbols) -> None:
        """Fill `out` with the symbols that a device sends, whose user answered about these objects."""
        cells.fill_response(
            *(state, answered, codes, self.domain.size, self.rounded_to),
            *(self.response.keep, self.response.other, out),
        )

    def cell_level(self) -> Guarantee:
        """What is promised about each cell: pure epsilon."""
        return Guarantee(self.response.epsilon, 0.0, "cell", "replace-one", "local", ASSUMPTIONS)

    def user_level(self, objects: int) -> Guarantee:
        """What is promised to a user about all cells: their epsilons' sum."""
        check_whole(objects, "the number of objects")
        whole = up(Fraction(self.response.epsilon) * objects)
        return replace(self.cell_level(), epsilon=whole, unit="user")


def report(answers: Answers, parameters: CellResponse, *, rng: Randomness | None = None) -> CellReports:
    """Every cell as its user's device would report it; each user has a stream of the user's own name."""
    symbols = np.empty((len(answers.users), len(answers.objects)), dtype=np.uint8)

    def send(user: int, state: Words, answered: Codes, codes: Symbols) -> None:
        parameters.fill_row(state, answered, codes, symbols[user])

    run_devices(answers, send, purpose=parameters.method, rng=rng or secure())
    return CellReports(
        *(answers.objects, answers.users, answers.domain, symbols),
        law=parameters.law,
        levels=parameters.level_values,
    )
