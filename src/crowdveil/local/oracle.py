"""Frequency oracles: each person holds one cell of a public table, and the shares of all cells are estimated.

Notation: p = `keep`, the chance that a report supports its true cell; q = `other`, that it supports any given
other one. Of n reports a share q + (p - q) share supports a cell, on average.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.guarantee import Guarantee
from crowdveil.local.record_reports import (
    check_cells,
    check_realised,
    check_reports,
    record_promise,
    unbiased,
)
from crowdveil.randomness import Randomness


@dataclass(frozen=True)
class Oracle(ABC):
    """Parameters: epsilon for a record (asked for; then the one realised, never above) and cells.

    Codes are 0 ... cells - 1. One report for each record, and what all of them together tell.
    """

    epsilon: float
    cells: int

    method: ClassVar[str]
    """The oracle's name, which is also the purpose of its streams: at most 16 bytes."""

    def __post_init__(self) -> None:
        check_cells(self.cells)
        object.__setattr__(self, "epsilon", check_realised(self.realised(), self.epsilon))

    @abstractmethod
    def realised(self) -> float:
        """The epsilon of what is drawn exactly, where this one is asked for."""

    @property
    @abstractmethod
    def keep(self) -> float:
        """p: the chance that a report supports the true cell."""

    @property
    @abstractmethod
    def other(self) -> float:
        """q: the chance that it supports any given other cell."""

    @abstractmethod
    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> NDArray[Any]:
        """(n, ...): a report for each record, as its device would send it.

        Under a seed, two calls share their draws: give each group of records a `part` of the randomness.
        """

    @abstractmethod
    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell; refuses what no device sends."""

    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): the share of each cell among n records, (support/n - q)/(p - q).

        Unbiased, so it can be below 0.
        """
        return unbiased(support, n, self.keep, self.other)

    def variance(self, share: Floats | float, n: int) -> Floats:
        """Of the frequency of a cell that holds that share of n fixed records.

        Each report supports the cell or does not, with chance p if its record lies there and q if not, and
        reports are independent: (share p(1 - p) + (1 - share) q(1 - q)) / (n (p - q)^2). Fixed: over what
        devices draw alone. If the records are a sample themselves, add share(1 - share)/n.
        """
        check_reports(n)
        p, q, shares = self.keep, self.other, np.asarray(share, dtype=np.float64)
        told: Floats = shares * (p * (1 - p)) + (1 - shares) * (q * (1 - q))
        return told / (n * (p - q) ** 2)

    def promise(self) -> Guarantee:
        """Pure epsilon for a record."""
        return record_promise(self.epsilon)
