"""What every kind of campaign says: mechanism, promise, what a device sends, what reports amount to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crowdveil.errors import InputError

if TYPE_CHECKING:  # a server that starts needs none of it yet
    import polars as pl

    from crowdveil.arrays import Ints
    from crowdveil.certificates.certificate import Certificate
    from crowdveil.guarantee import Promise
    from crowdveil.local.wire import Wire
    from crowdveil.randomness import Randomness

MOST_PLACES = 10**8  # of a wave


class Plan(tuple[float, ...]):
    """The probabilities of a round's questions; a long tuple, whose hash is computed once."""

    _hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash


Plans = Mapping[int, Plan]
"""For each round: the probabilities of its questions, fixed when it opened."""


@dataclass(frozen=True)
class Asked:
    """The place that a participant has in a wave, and the round in which the place was given."""

    place: int
    round: int = 0


ANYWHERE = Asked(0)
"""Any place, where all places are asked the same."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports as they are kept: the place and round of each, and its bytes."""

    places: Ints
    rounds: Ints
    payloads: Sequence[bytes]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, bytes]]) -> Batch:
        """From rows of a place, a round and bytes."""
        places = np.array([place for place, _, _ in rows], dtype=np.int64)
        rounds = np.array([number for _, number, _ in rows], dtype=np.int64)
        return cls(places, rounds, [payload for _, _, payload in rows])

    def __len__(self) -> int:
        return len(self.payloads)

    def by_place(self) -> Batch:
        """The same reports by round, and by place within a round."""
        order = np.lexsort((self.places, self.rounds))
        return Batch(self.places[order], self.rounds[order], [self.payloads[at] for at in order.tolist()])


@dataclass(frozen=True, eq=False)
class Result:
    """What reports amount to.

    Parameters
    ----------
    summary:
        As plain JSON data: `truths`, or `tables`.
    tables:
        Tables by name, to be exported: "truths" and "weights", or "marginals" and "records".

    """

    summary: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)


class Gathered(ABC):
    """Reports that were read so far. It grows by batches; nothing is read twice."""

    @abstractmethod
    def add(self, batch: Batch, plans: Plans) -> None:
        """Take in more reports."""

    @abstractmethod
    def result(self) -> Result:
        """What all of them amount to; there is at least one."""

    @abstractmethod
    def exported(self) -> tuple[pl.DataFrame, Certificate]:
        """All reports as a table, in the form that `discover` or the library reads, and its certificate."""


class Kind(ABC):
    """What is asked in a campaign, and how answers are protected. Subclasses are frozen dataclasses."""

    name: ClassVar[str]
    asks_by_place: ClassVar[bool] = False  # whether a device must know its place before it can answer
    plans_rounds: ClassVar[bool] = False  # whether the questions of a round follow a plan
    rounds: int = 1

    @classmethod
    @abstractmethod
    def asked(cls, request: Mapping[str, Any]) -> Kind:
        """The kind that an operator asks for; `ParameterError` if that cannot be."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All public parameters as plain JSON data."""

    @classmethod
    @abstractmethod
    def from_dict(cls, public: Mapping[str, Any]) -> Kind:
        """The kind that `to_dict` describes; `ParameterError` for anything else."""

    @abstractmethod
    def mechanism(self) -> dict[str, Any]:
        """Name and parameters of the mechanism."""

    @abstractmethod
    def _certified(self) -> Certificate:
        """What is promised for one wave, as it would stand beside the reports."""

    @cached_property
    def _certificate(self) -> Certificate:
        return self._certified()

    def certificate(self) -> Certificate:
        """What is promised for one wave, as it would stand beside the reports; computed once."""
        return self._certificate

    @property
    def promise(self) -> Promise:
        """What is promised in one wave, for the campaign's unit."""
        return self.certificate().promise

    # --- the device ----------------------------------------------------------------------------------------

    @abstractmethod
    def report_one(
        self,
        answer: Mapping[str, Any],
        asked: Asked,
        question: Mapping[str, Any] | None = None,
        *,
        rng: Randomness | None = None,
    ) -> Wire:
        """What the device of one person sends. Draw once, and keep what was drawn."""

    # --- the server ----------------------------------------------------------------------------------------

    def question(self, wave: int, asked: Asked, plans: Plans) -> dict[str, Any] | None:  # noqa: ARG002
        """What a place is asked, where different places are asked different things."""
        return None

    @abstractmethod
    def receive(self, report: Any, wave: int, asked: Asked, plans: Plans) -> bytes:
        """A report as it is kept; `InputError` for what no device in that place sends."""

    def receive_all(self, reports: Sequence[Any]) -> list[bytes]:
        """Reports as they are kept, where places do not matter; `InputError` if one of them is wrong."""
        return [self.receive(report, 1, ANYWHERE, {}) for report in reports]

    @abstractmethod
    def gather(self, wave: int) -> Gathered:
        """No reports yet."""

    def published(self, name: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, Certificate | None]:  # noqa: ARG002
        """A table of a result, and the certificate that it carries, if it carries one."""
        return frame, None

    def first_round(self, wave: int) -> Plan | None:  # noqa: ARG002
        """The plan of the first round; None if nothing is planned."""
        return None

    def next_round(self, gathered: Gathered, number: int) -> Plan | None:  # noqa: ARG002
        """The plan of the round after `number`; None if there is none."""
        return None

    def round_end(self, number: int) -> int | None:  # noqa: ARG002
        """How many reports there are when a round ends; None if it is the last one."""
        return None


def text_of(value: Any, what: str, longest: int = 200) -> str:
    """A text of a request: printable, not blank and not too long, in Unicode normal form C."""
    from unicodedata import normalize

    from crowdveil.errors import ParameterError

    refused = ParameterError(f"{what} is a text of printable characters that is not blank")
    if not isinstance(value, str):
        raise refused
    if len(value) > longest:
        raise ParameterError(f"{what} has at most {longest} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refused from None
    text = normalize("NFC", value).strip()
    if not text or not text.isprintable():
        raise refused
    if len(text) > longest:  # some characters become two
        raise ParameterError(f"{what} has at most {longest} characters")
    return text


def numbers_in(payloads: Sequence[bytes], kind: Any) -> Any:
    """The numbers of all payloads, one after the other."""
    try:
        return np.frombuffer(b"".join(payloads), dtype=kind)
    except ValueError:
        raise InputError("a report that was kept is damaged") from None
