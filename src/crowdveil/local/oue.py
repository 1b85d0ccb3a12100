"""OUE, optimized unary encoding: a bit for each cell; a fair coin for the true one, rarely 1 for the others.

A report is a string of bits, and supports every cell whose bit is 1: p = 1/2, and q is 1/(e^epsilon + 1)
rounded up to a multiple of 2^-64. Two codes differ in two bits, so the ratio of a report's probabilities is
at most p(1 - q)/(q(1 - p)) = (1 - q)/q = e^epsilon.

A report has cells/8 bytes; bit k of byte b is that of cell 8 b + k, and bits beyond the last cell are 0.

Reference: Wang, Blocki, Li and Jha, *Locally Differentially Private Protocols for Frequency Estimation*,
2017.
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
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.local.bit_chance import BitChance, law_of_bits
from crowdveil.local.oracle import PureOracle
from crowdveil.randomness import Streams

COIN = Fraction(1, 2)


@dataclass(frozen=True)
class OUE(PureOracle):
    """Optimized unary encoding. Parameters: see `PureOracle`."""

    name: ClassVar[str] = "oue"

    def realised(self) -> float:
        """The epsilon of the law that is drawn exactly when `self.epsilon` is asked for."""
        return BitChance.of(self.epsilon).epsilon()

    @cached_property
    def ones(self) -> BitChance:
        """The probability of a 1 for every cell but the true one."""
        return BitChance.of(self.epsilon)

    @property
    def keep(self) -> float:
        """p: the probability that a report supports the true cell."""
        return float(COIN)

    @property
    def other(self) -> float:
        """q: the probability that a report supports any given other cell."""
        return float(self.ones.chance)

    @property
    def report_bits(self) -> int:
        """A bit for each cell."""
        return self.cells

    @property
    def row(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """Packed bits."""
        return (-(-self.cells // 8),), np.uint8

    def fill(self, streams: Sequence[Streams], number: int, codes: Ints, out: NDArray[Any]) -> None:
        """A string of bits for each record."""
        loops.fill_oue(shared.begun(streams[0], number), codes, self.cells, self.ones.drawn, out)

    def weights(self) -> dict[str, Any]:
        """The probability of a 1 for every cell but the true one, in units of 2^-64."""
        return {"cells": self.cells, "ones": str(self.ones.weight)}

    def payload(self, report: NDArray[Any]) -> str:
        """The packed bits in base64."""
        return shared.text_of_bits(report)

    def report_of(self, payload: Any) -> NDArray[Any]:
        """The packed bits, as one row of reports."""
        return shared.bits_of_text(payload, self.cells)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell."""
        rows = shared.packed_bits(reports, self.cells)
        return shared.counted(
            len(rows), self.cells, lambda block, totals: loops.count_bits(rows[block], totals)
        )

    def exact_law(self) -> list[list[Fraction]]:
        """The probability of every string of bits for every code, for few cells: exactly what is drawn."""
        cells, other = range(self.cells), self.ones.chance
        return [law_of_bits([COIN if cell == code else other for cell in cells]) for code in cells]
