"""kRR: randomized response on the cells of a table. A report is the code itself or any other cell.

Best for few cells. A report supports its own cell only. With the weights keep and other of `Response`, whose
sum over all cells is W, p = keep/W and q = other/W: no report is more than keep/other = e^epsilon times as
likely from one code as from another.

Reference: Kairouz, Bonawitz and Ramage, *Discrete Distribution Estimation under Local Privacy*, 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Ints
from crowdveil.errors import InputError
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.local.oracle import PureOracle
from crowdveil.local.wire import whole_number
from crowdveil.randomness import Streams
from crowdveil.randomness.response import Response


@dataclass(frozen=True)
class KRR(PureOracle):
    """Randomized response on all cells. Parameters: see `PureOracle`."""

    name: ClassVar[str] = "krr"
    one_cell: ClassVar[bool] = True

    def realised(self) -> float:
        """The epsilon of the law that is drawn exactly when `self.epsilon` is asked for."""
        return Response.of(self.cells, self.epsilon).epsilon

    @cached_property
    def response(self) -> Response:
        """The integer weights of the cells."""
        return Response.of(self.cells, self.epsilon)

    @property
    def keep(self) -> float:
        """p: the probability that a report supports the true cell."""
        return float(self.response.keep_chance)

    @property
    def other(self) -> float:
        """q: the probability that a report supports any given other cell."""
        return float(self.response.other_chance)

    @property
    def report_bits(self) -> int:
        """The length of a cell's number."""
        return shared.bits_of_code(self.cells)

    @property
    def row(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """One cell."""
        return (), np.int32

    def fill(self, streams: Sequence[Streams], number: int, codes: Ints, out: NDArray[Any]) -> None:
        """A cell for each record."""
        law = self.response
        loops.fill_krr(shared.begun(streams[0], number), codes, law.symbols, law.keep, law.other, out)

    def weights(self) -> dict[str, Any]:
        """The integer weights of the true cell and of every other one."""
        return shared.response_weights(self.response)

    def payload(self, report: NDArray[Any]) -> int:
        """The cell."""
        return int(report)

    def report_of(self, payload: Any) -> NDArray[Any]:
        """The cell, as one row of reports."""
        return np.array(whole_number(payload, 0, self.cells - 1), dtype=np.int32)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell."""
        cells = shared.whole_numbers(reports, "reports")
        if cells.ndim != 1:
            raise InputError("reports must be one cell for each record, in one row")
        cells = shared.in_bounds(cells, self.cells, "a report is no cell of the table")
        return np.bincount(cells, minlength=self.cells).astype(np.int64)

    def exact_law(self) -> list[list[Fraction]]:
        """The probability of every report for every code: exactly what is drawn."""
        keep, other, cells = self.response.keep_chance, self.response.other_chance, range(self.cells)
        return [[keep if report == code else other for report in cells] for code in cells]
