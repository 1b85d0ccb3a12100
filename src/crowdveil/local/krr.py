"""kRR: randomized response on the cells of a table. The code itself, or any other cell: best for few cells.

A report is one cell, and supports that cell only. With weights keep and other of `Response`, p = keep/W and
q = other/W: no report is more than keep/other = e^epsilon times as likely from one code as from another.

Reference: Kairouz, Bonawitz and Ramage, *Discrete Distribution Estimation under Local Privacy*, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Ints
from crowdveil.errors import InputError
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.local.oracle import Oracle
from crowdveil.randomness import Randomness, Words
from crowdveil.randomness.response import Response


@dataclass(frozen=True)
class KRR(Oracle):
    """Parameters: epsilon for a record (asked for; then the one realised, never above) and cells."""

    method: ClassVar[str] = "krr"

    def realised(self) -> float:
        """The epsilon of what is drawn exactly, where this one is asked for."""
        return Response.of(self.cells, self.epsilon).epsilon

    @cached_property
    def response(self) -> Response:
        """The weights of cells."""
        return Response.of(self.cells, self.epsilon)

    @property
    def keep(self) -> float:
        """p: the chance that a report supports the true cell."""
        return float(self.response.keep_chance)

    @property
    def other(self) -> float:
        """q: the chance that it supports any given other cell."""
        return float(self.response.other_chance)

    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> Codes:
        """(n,): a cell for each record."""
        law, out = self.response, np.empty(np.size(codes), dtype=np.int32)

        def fill(state: Words, block: Ints, rows: Codes) -> None:
            loops.fill_krr(state, block, law.symbols, law.keep, law.other, rows)

        return shared.perturbed(codes, self.cells, out, fill, rng=rng, method=self.method)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell."""
        told = shared.whole_numbers(reports, "reports")
        if told.ndim != 1:
            raise InputError("reports must be one cell for each record, in one row")
        told = shared.in_bounds(told, self.cells, "a report is no cell of the table")
        return np.bincount(told, minlength=self.cells).astype(np.int64)

    def exact_law(self) -> list[list[Fraction]]:
        """The chance of every report for every code: exactly what is drawn."""
        keep, other, cells = self.response.keep_chance, self.response.other_chance, range(self.cells)
        return [[keep if told == code else other for told in cells] for code in cells]
