"""kRR: randomized response on the cells of a table. The code itself, or any other cell: best for few cells.

A report is one cell, and supports that cell only. With weights keep and other of `Response`, p = keep/W and
q = other/W: no report is more than keep/other = e^epsilon times as likely from one code as from another.

Reference: Kairouz, Bonawitz and Ramage, *Discrete Distribution Estimation under Local Privacy*, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.errors import InputError
from crowdveil.guarantee import Guarantee
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.randomness import Randomness, Words
from crowdveil.randomness.response import Response


@dataclass(frozen=True)
class KRR:
    """Parameters: epsilon for a record (asked for; then the one realised, never above) and cells."""

    epsilon: float
    cells: int

    def __post_init__(self) -> None:
        shared.check_cells(self.cells)
        realised = Response.of(self.cells, self.epsilon).epsilon
        object.__setattr__(self, "epsilon", shared.check_realised(realised, self.epsilon))

    @property
    def method(self) -> str:
        """The oracle's name, which is also the purpose of its streams."""
        return "krr"

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

    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): the share of each cell among n records; unbiased, can be below 0."""
        return shared.unbiased(support, n, self.keep, self.other)

    def variance(self, share: Floats | float, n: int) -> Floats:
        """Of the frequency of a cell that holds that share of n fixed records.

        Fixed: over what devices draw alone. If the records are a sample themselves, add share(1 - share)/n.
        """
        return shared.unbiased_variance(share, n, self.keep, self.other)

    def guarantee(self) -> Guarantee:
        """Pure epsilon for a record."""
        return shared.promise(self.epsilon)

    def exact_law(self) -> list[list[Fraction]]:
        """The chance of every report for every code: exactly what is drawn."""
        keep, other, cells = self.response.keep_chance, self.response.other_chance, range(self.cells)
        return [[keep if told == code else other for told in cells] for code in cells]
