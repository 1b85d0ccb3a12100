"""Frequency oracles: each person holds one cell of a public table, and the shares of all cells are estimated.

Notation: p = `keep`, the chance that a report supports its true cell; q = `other`, that it supports any given
other one. Of n reports a share q + (p - q) share supports a cell, on average.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp
from typing import Any, Protocol

from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.guarantee import Guarantee
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oue import OUE
from crowdveil.local.record_reports import MOST_CELLS, check_cells
from crowdveil.randomness import Randomness
from crowdveil.randomness.response import LARGEST_EPSILON, Response

__all__ = ["KRR", "MOST_CELLS", "OLH", "OUE", "Oracle", "best_oracle"]

SHORT_REPORT = 64  # bits of a report of OLH: a seed and a value


class Oracle(Protocol):
    """One report for each record, and what all of them together tell."""

    @property
    def epsilon(self) -> float:
        """The one realised, never above what was asked for."""

    @property
    def cells(self) -> int:
        """How many there are; codes are 0 ... cells - 1."""

    @property
    def method(self) -> str:
        """The oracle's name, which is also the purpose of its streams: at most 16 bytes."""

    @property
    def keep(self) -> float:
        """p."""

    @property
    def other(self) -> float:
        """q."""

    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> NDArray[Any]:
        """(n, ...): a report for each record, as its device would send it.

        Under a seed, two calls share their draws: give each group of records a `part` of the randomness.
        """

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell; refuses what no device sends."""

    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): the share of each cell among n records; unbiased, can be below 0."""

    def variance(self, share: Floats | float, n: int) -> Floats:
        """Of the frequency of a cell that holds that share of n fixed records."""

    def guarantee(self) -> Guarantee:
        """Pure epsilon for a record."""


@lru_cache(maxsize=2**14)
def best_oracle(epsilon: float, cells: int) -> KRR | OUE | OLH:
    """The oracle with the least variance for a rare cell.

    Times n that is q(1 - q)/(p - q)^2: (cells - 2 + e)/(e - 1)^2 for kRR and 4e/(e - 1)^2 for OUE, where
    e = e^epsilon. So kRR if cells < 3e + 2. OLH has the variance of OUE but for the rounding of its number of
    values (at most 4.2 %, up to epsilon 11) and a report of 64 bits: OUE up to 64 cells, where its own is no
    longer, and OLH beyond.
    """
    check_cells(cells)
    Response.of(2, epsilon)  # refuses what is no epsilon
    if cells < 3 * exp(min(epsilon, LARGEST_EPSILON)) + 2:
        return KRR(epsilon, cells)
    return OUE(epsilon, cells) if cells <= SHORT_REPORT else OLH(epsilon, cells)
