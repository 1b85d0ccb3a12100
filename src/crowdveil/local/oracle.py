"""Frequency oracles: each person holds one cell of a public table; the server estimates every cell's share.

An oracle is both sides of the protocol: what a device draws and sends, and what the server counts and
estimates. `Oracle` is what all of them have in common; `PureOracle` those whose report supports some of the
cells, the true one with probability p and every other one with probability q.

Notation: p = `keep`, q = `other`. Of n reports, n (q + (p - q) share) support a cell on average.

Reference: Wang, Blocki, Li and Jha, *Locally Differentially Private Protocols for Frequency Estimation*,
2017, definition 2 (pure protocols).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.local import record_reports as shared
from crowdveil.local.oracle_registry import ORACLES
from crowdveil.local.wire import Wire, opened, sealed
from crowdveil.randomness import Randomness, Streams, secure


class Oracle(ABC):
    """A locally private report of one code in 0 ... cells - 1. Subclasses are frozen dataclasses.

    `epsilon` is the one that is realised exactly, never above the one asked for. One report is one row of
    what `perturb` returns; `to_wire` and `from_wire` turn it into JSON and back.
    """

    name: ClassVar[str]
    """In the registry and on the wire; also the purpose of its streams, so at most 16 bytes."""

    epsilon: float
    cells: int

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """The length of a report in bits."""

    @property
    @abstractmethod
    def row(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """The shape of one report, and the type of its numbers."""

    # --- the device ----------------------------------------------------------------------------------------

    def report_one(self, code: int, *, rng: Randomness | None = None) -> NDArray[Any]:
        """The report of one device whose record has this code.

        It is what `perturb` gives the first of many records under the same randomness.
        """
        if isinstance(code, bool) or not isinstance(code, int | np.integer):
            raise InputError("a code must be a whole number")
        row: NDArray[Any] = self.perturb(np.array([code]), rng=rng)[0]
        return row

    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> NDArray[Any]:
        """(n, ...): a report for each code. All devices at once is a simulation.

        Under a seed two calls share their draws: give each group of records its own `part` of the randomness.
        """
        checked, streams = shared.checked_codes(codes, self.cells), self.streams(rng or secure())
        out = self.room(checked.size)

        def fill(number: int, block: slice) -> None:
            self.fill(streams, number, checked[block], out[block])

        shared.for_each_block(fill, checked.size)
        return out

    def streams(self, rng: Randomness) -> tuple[Streams, ...]:
        """What all devices draw from, for each part of a report: a stream for each block of them."""
        return (rng.all_streams(purpose=self.name),)

    @abstractmethod
    def fill(self, streams: Sequence[Streams], number: int, codes: Ints, out: NDArray[Any]) -> None:
        """Fill `out` with the reports of one block of records, drawn from the streams of this number.

        Codes are checked already. Whoever fills a block again, elsewhere or after a failure, draws the same.
        """

    def room(self, reports: int) -> NDArray[Any]:
        """(n, ...): an array for so many reports."""
        shape, kind = self.row
        return np.empty((reports, *shape), dtype=kind)

    @abstractmethod
    def weights(self) -> dict[str, Any]:
        """The whole numbers that a device draws with, so that it need not compute any exponential.

        Numbers of more than 53 bits are decimal texts.
        """

    # --- the wire ------------------------------------------------------------------------------------------

    def to_wire(self, report: NDArray[Any]) -> Wire:
        """One report as versioned JSON, `{"v": 1, "mechanism": name, "payload": ...}`."""
        return sealed(self.name, self.payload(report))

    def from_wire(self, wire: Any) -> NDArray[Any]:
        """The report that a device sent; refuses whatever no device of this oracle sends."""
        return self.report_of(opened(wire, self.name))

    @abstractmethod
    def payload(self, report: NDArray[Any]) -> Any:
        """One report as plain JSON data: whole numbers, or packed bits in base64."""

    @abstractmethod
    def report_of(self, payload: Any) -> NDArray[Any]:
        """The report with this payload; every type, length and bound is checked."""

    # --- the server ----------------------------------------------------------------------------------------

    @property
    def counters(self) -> int:
        """How many counts `support` gives: by default one for each cell."""
        return self.cells

    @abstractmethod
    def support(self, reports: NDArray[Any]) -> Ints:
        """The counts that frequencies are estimated from; refuses reports that no device sends."""

    @abstractmethod
    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): each cell's share of n records, estimated without bias, so it can be below 0."""

    @abstractmethod
    def rare_variance(self, n: int) -> float:
        """The variance of the frequency of a cell that (almost) none of n fixed records holds."""

    # --- what is published ---------------------------------------------------------------------------------

    def promise(self) -> Guarantee:
        """Pure epsilon for a record."""
        return shared.record_promise(self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters as plain JSON: `from_dict` builds an oracle from them that draws the same."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in parameters.items()}
        return {"mechanism": self.name, "parameters": plain}

    @staticmethod
    def from_dict(description: Any) -> Oracle:
        """The oracle that `to_dict` describes; refuses anything else."""
        if not isinstance(description, Mapping) or description.keys() != {"mechanism", "parameters"}:
            raise ParameterError("an oracle is described by its mechanism and parameters, and nothing else")
        name, parameters = description["mechanism"], description["parameters"]
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            raise ParameterError("an oracle is described by the name of its mechanism and its parameters")
        kind = ORACLES[name]
        try:
            if not all(_is_plain(value) for value in parameters.values()):
                raise TypeError
            return kind(**parameters)
        except ParameterError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"these are not the parameters of {name!r}") from None


def _is_plain(value: Any) -> bool:
    """Whether a parameter is a number, or a list of numbers."""
    return all(type(number) in (int, float) for number in (value if type(value) is list else [value]))


@dataclass(frozen=True)
class PureOracle(Oracle):
    """An oracle whose reports support cells: the true one with probability p, any other one with q.

    Parameters
    ----------
    epsilon:
        For one record. Afterwards the field holds the epsilon that is realised, never above the one given.
    cells:
        Size of the public table.

    """

    epsilon: float
    cells: int

    one_cell: ClassVar[bool] = False
    """Whether a report supports exactly one cell, so that the counts of all cells are multinomial."""

    def __post_init__(self) -> None:
        shared.check_cells(self.cells)
        object.__setattr__(self, "epsilon", shared.check_realised(self.realised(), self.epsilon))

    @abstractmethod
    def realised(self) -> float:
        """The epsilon of the law that is drawn exactly when `self.epsilon` is asked for."""

    @property
    @abstractmethod
    def keep(self) -> float:
        """p: the probability that a report supports the true cell."""

    @property
    @abstractmethod
    def other(self) -> float:
        """q: the probability that a report supports any given other cell."""

    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): each cell's share of n records, (support/n - q)/(p - q); unbiased, so perhaps below 0."""
        return shared.unbiased(support, n, self.keep, self.other)

    def variance(self, share: Floats | float, n: int) -> Floats:
        """The variance of the frequency of a cell that this share of n fixed records holds.

        Reports are independent and support the cell with probability p or q, so it is
        (share p(1 - p) + (1 - share) q(1 - q)) / (n (p - q)^2). The records are fixed: if they are a random
        sample themselves, add share(1 - share)/n.
        """
        shared.check_reports(n)
        p, q, shares = self.keep, self.other, np.asarray(share, dtype=np.float64)
        of_one: Floats = shares * (p * (1 - p)) + (1 - shares) * (q * (1 - q))
        return of_one / (n * (p - q) ** 2)

    def rare_variance(self, n: int) -> float:
        """The variance of the frequency of a cell that none of n records holds: q(1 - q)/(n (p - q)^2)."""
        return float(self.variance(0.0, n))
