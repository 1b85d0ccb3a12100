"""OUE: a bit for every cell, a fair coin for the true one and rarely 1 for the others.

A report is a string of bits, and supports every cell whose bit is 1: p = 1/2 and q = 1/(e^epsilon + 1), as a
whole number of parts of 2^64 that is rounded up. Two codes differ in two bits, and the ratio of a report's
chances is at most p(1 - q)/(q(1 - p)) = (1 - q)/q = e^epsilon.

A report has cells/8 bytes; bit k of byte b is that of cell 8 b + k, and bits beyond the last cell are 0.

Reference: Wang, Blocki, Li and Jha, *Locally Differentially Private Protocols for Frequency Estimation*,
2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.guarantee import Guarantee
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.local.bit_chance import BitChance, law_of_bits
from crowdveil.randomness import Randomness, Words

COIN = Fraction(1, 2)


@dataclass(frozen=True)
class OUE:
    """Parameters: epsilon for a record (asked for; then the one realised, never above) and cells."""

    epsilon: float
    cells: int

    def __post_init__(self) -> None:
        shared.check_cells(self.cells)
        realised = BitChance.of(self.epsilon).epsilon()
        object.__setattr__(self, "epsilon", shared.check_realised(realised, self.epsilon))

    @property
    def method(self) -> str:
        """The oracle's name, which is also the purpose of its streams."""
        return "oue"

    @cached_property
    def ones(self) -> BitChance:
        """The chance of a 1 for every cell but the true one."""
        return BitChance.of(self.epsilon)

    @property
    def keep(self) -> float:
        """p: the chance that a report supports the true cell."""
        return float(COIN)

    @property
    def other(self) -> float:
        """q: the chance that it supports any given other cell."""
        return float(self.ones.chance)

    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> NDArray[np.uint8]:
        """(n, bytes): a string of bits for each record."""
        out = np.empty((np.size(codes), -(-self.cells // 8)), dtype=np.uint8)

        def fill(state: Words, block: Ints, rows: NDArray[np.uint8]) -> None:
            loops.fill_oue(state, block, self.cells, self.ones.drawn, rows)

        return shared.perturbed(codes, self.cells, out, fill, rng=rng, method=self.method)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell."""
        rows = shared.packed_bits(reports, self.cells)
        return shared.counted(
            len(rows), self.cells, lambda block, totals: loops.count_bits(rows[block], totals)
        )

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
        """The chance of every string of bits for every code, of few cells: exactly what is drawn."""
        cells, other = range(self.cells), self.ones.chance
        return [law_of_bits([COIN if cell == code else other for cell in cells]) for code in cells]
