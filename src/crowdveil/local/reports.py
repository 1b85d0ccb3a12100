"""What users' devices send about all of their cells: one way for every mechanism.

Each device has a stream of its user's own name and fills a row of its own. So what it sends depends neither
on other users nor on the number of threads. `CellMechanism.report_one` is what one device does; `report` does
it for a whole table, a simulation, as whoever holds all answers has no need of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar
from unicodedata import normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.accounting.rounding import up
from crowdveil.answers import Answers, Domain, Symbols
from crowdveil.arrays import Codes, Ints
from crowdveil.engines import Engine, LocalEngine
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import SEEDED, Guarantee, Promise, Unit
from crowdveil.local.device_input import ascending, finite_numbers, public_objects
from crowdveil.local.mechanism import About, Mechanism
from crowdveil.local.request import MechanismRequest
from crowdveil.local.wire import LARGEST, Wire, opened, sealed, whole_numbers
from crowdveil.randomness import Name, Randomness, Words, secure
from crowdveil.randomness.chacha import STATE_WORDS, start

Device = Callable[[int, Words, Codes, Symbols, NDArray[Any]], None]
"""Called with a device's number, its stream, answered objects (ascending) and their codes; fills its row."""

FROM_ANSWERS = "objects and users were listed from the answers: that each of them has one is not hidden"


class CellMechanism(Mechanism):
    """What a device sends about all objects, whatever its user answered about."""

    about: ClassVar[About] = "cells"
    counted: ClassVar[str] = "objects"
    unit: ClassVar[Unit] = "cell"
    units: ClassVar[tuple[Unit, ...]] = ("cell", "user")

    if TYPE_CHECKING:  # a field of every mechanism

        @property
        def domain(self) -> Domain:
            """The answers that there are."""

    @abstractmethod
    def row(self, objects: int, /) -> tuple[int, type[np.generic]]:
        """How many numbers a device sends, and of which type."""

    @abstractmethod
    def bounds(self, objects: int, place: int, /) -> Sequence[tuple[int, int]]:
        """The least and the largest that each number of a row can be which the device in that place sends."""

    @abstractmethod
    def device(self, objects: pl.Series, places: Ints, /) -> Device:
        """What the devices in these places do, which are asked about these objects."""

    @abstractmethod
    def received(
        self, objects: pl.Series, users: pl.Series, rows: NDArray[Any], places: Ints | None = None
    ) -> Any:
        """What the server makes of the rows; places are 0, 1, ... unless they are given."""

    @classmethod
    def ends(cls, request: MechanismRequest) -> tuple[float, float]:
        """The ends of the scale of answers."""
        return request.domain.low, request.domain.high

    @classmethod
    def public_range(cls, low: Any, high: Any) -> dict[str, Any]:
        """The scale of answers."""
        return {"domain": Domain(low, high)}

    def check(self, answers: Answers) -> None:
        """Refuse answers that cannot be reported, before anything is drawn or charged."""
        if answers.domain != self.domain:
            raise ParameterError("the answers' domain is not the mechanism's")
        self.row(len(answers.objects))

    def row_of_one(
        self,
        values: Mapping[Name, float],
        objects: Iterable[Name],
        *,
        place: int = 0,
        user: Name = "",
        rng: Randomness | None = None,
    ) -> NDArray[Any]:
        """The numbers that one device sends; parameters as in `report_one`."""
        if not isinstance(place, int) or not 0 <= place <= LARGEST:
            raise ParameterError(f"a device's place is a whole number from 0 to {LARGEST}, not {place}")
        person = _one_person(values, list(objects), self.domain, user)
        rows = _rows(person, self, np.array([place], dtype=np.int64), rng or secure())
        return rows.reshape(-1)

    def report_one(
        self,
        values: Mapping[Name, float],
        objects: Iterable[Name],
        *,
        place: int = 0,
        user: Name = "",
        rng: Randomness | None = None,
    ) -> Wire:
        """The row that a device sends about all objects, whether its user answered about them or not.

        An answer may also be given by the object's place in the list, where names are text. Answers are
        rounded to whole numbers and clamped to the domain.
        """
        return self.to_wire(self.row_of_one(values, objects, place=place, user=user, rng=rng))

    def to_wire(self, row: NDArray[Any]) -> Wire:
        """A row as plain JSON: the list of its whole numbers, in the order of objects' names."""
        if not np.issubdtype(row.dtype, np.integer):
            raise ParameterError(f"{self.name} does not send whole numbers: no campaign can use it")
        return sealed(self.name, row.tolist())

    def from_wire(self, wire: Any, objects: Iterable[Name], *, place: int = 0) -> NDArray[Any]:
        """The row of numbers."""
        return self.unpacked(wire, len(public_objects(objects)), place)

    def collected(
        self, wires: Mapping[Name, Any], objects: Iterable[Name], places: Mapping[Name, int] | None = None
    ) -> Reports:
        """The reports of all users whose devices sent one."""
        listed, (users, order) = public_objects(objects), ascending(wires, "user")
        names = list(wires)
        senders = [names[at] for at in order]
        own = _own_places(senders, places)
        rows = [
            self.unpacked(wires[name], len(listed), place)
            for name, place in zip(senders, own.tolist(), strict=True)
        ]
        return Reports(listed, users, self, np.stack(rows), seeded=False, declared=True, places=own)

    def unpacked(self, wire: Any, objects: int, place: int) -> NDArray[Any]:
        """The row of numbers that the device in that place sent about so many objects."""
        numbers = whole_numbers(opened(wire, self.name), self.bounds(objects, place))
        return np.array(numbers, dtype=self.row(objects)[1])


def _own_places(senders: Sequence[Name], places: Mapping[Name, int] | None) -> Ints:
    """The place of each device that sent a report: whole numbers from 0, no two alike."""
    if places is None:
        return np.arange(len(senders), dtype=np.int64)
    own = [places.get(name) for name in senders]
    if not all(type(place) is int and 0 <= place <= LARGEST for place in own):
        raise InputError(f"a device's place is a whole number from 0 to {LARGEST}, and each device has one")
    if len(set(own)) < len(own):
        raise InputError("two devices have the same place")
    return np.array(own, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Reports:
    """A row of each user's device, and what was promised about the answers behind it.

    `seeded` is true when the draws can be repeated from a seed: then nothing is promised. `declared` is true
    when objects and users were listed beforehand; else that each of them has an answer is not hidden.
    `places` are those that devices were given, by default 0, 1, ... in the order of users.
    """

    objects: pl.Series
    users: pl.Series
    mechanism: CellMechanism
    rows: NDArray[Any]  # (M, numbers)
    seeded: bool
    declared: bool
    places: Ints | None = None  # (M,)

    @property
    def promise(self) -> Promise:
        """What is promised about each cell."""
        return self._kept(self.mechanism.promise("cell"))

    @property
    def user_promise(self) -> Promise:
        """What is promised to a user about all cells."""
        return self._kept(self.mechanism.promise("user", len(self.objects)))

    def _kept(self, promise: Promise) -> Promise:
        return SEEDED if self.seeded else promised(promise, declared=self.declared)

    def read(self) -> Any:
        """The rows as the mechanism's server understands them."""
        return self.mechanism.received(self.objects, self.users, self.rows, self.places)


def promised(promise: Promise, *, declared: bool) -> Promise:
    """What is left of a promise if objects and users were read off the answers: their lists show.

    Then somebody whose only answer becomes none disappears, which no noise hides.
    """
    if declared or not isinstance(promise, Guarantee):
        return promise
    weaker = replace(promise, adjacency="replace-or-not-last")
    return replace(weaker, assumptions=(*promise.assumptions, FROM_ANSWERS))


def pure(
    unit: Unit, count: int, cell_epsilon: float, exact_cell_epsilon: Fraction, assumptions: tuple[str, ...]
) -> Guarantee:
    """Pure epsilon for each cell, however many there are, or for a user the sum over `count` objects."""
    epsilon = cell_epsilon if unit == "cell" else up(count * exact_cell_epsilon)
    return Guarantee(epsilon, 0.0, unit, "replace-or-none", "local", assumptions)


def report(
    answers: Answers,
    mechanism: CellMechanism,
    *,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Reports:
    """Every user's row as the user's own device would send it."""
    if answers.domain != mechanism.domain:
        raise ParameterError("the answers' domain is not the mechanism's")
    rng = rng or secure()
    rows = _rows(answers, mechanism, np.arange(len(answers.users)), rng, engine)
    return Reports(
        *(answers.objects, answers.users, mechanism, rows),
        seeded=not rng.private,
        declared=answers.declared,
    )


def _rows(
    answers: Answers,
    mechanism: CellMechanism,
    places: Ints,
    rng: Randomness,
    engine: Engine | None = None,
) -> NDArray[Any]:
    """(M, numbers): what the devices of these users send, which are in these places."""
    users = len(answers.users)
    width, kind = mechanism.row(len(answers.objects))
    rows = np.empty((users, width), dtype=kind)
    fill_row = mechanism.device(answers.objects, places)
    key, nonces = rng.streams(answers.users, purpose=mechanism.method)

    def fill(first: int, last: int) -> None:
        state = np.zeros(STATE_WORDS, dtype=np.uint32)
        for user in range(first, last):
            a, b = answers.offsets[user], answers.offsets[user + 1]
            start(state, key, nonces[user])
            fill_row(user, state, answers.object_codes[a:b], answers.codes[a:b], rows[user])

    cells = float(users * len(answers.objects))
    (engine or LocalEngine()).spread("perturbing", users, fill, operations=cells)
    return rows


def _one_person(answers: Mapping[Name, float], listed: list[Name], domain: Domain, user: Name) -> Answers:
    """The table of one user's answers, which needs no other user."""
    objects = public_objects(listed)
    code_of = {name: code for code, name in enumerate(objects.to_list())}
    by_name = objects.dtype == pl.String
    codes = [code_of.get(_name(key, listed) if by_name else key) for key in answers]
    if any(code is None for code in codes) or len(set(codes)) < len(codes):
        raise InputError("there is an answer about an object that is not listed, or two about one object")
    object_codes = np.array(codes, dtype=np.int32)
    order = np.argsort(object_codes)
    return Answers(
        objects=objects,
        users=pl.Series([user]),
        domain=domain,
        offsets=np.array([0, len(codes)], dtype=np.int64),
        object_codes=object_codes[order],
        codes=domain.codes(finite_numbers(list(answers.values())))[order],
        moved=0,
    )


def _name(key: Name, listed: list[Name]) -> Name | None:
    """The name of an object that is given by its name, or by its place in the list."""
    if isinstance(key, str):
        return normalize("NFC", key)
    return normalize("NFC", str(listed[key])) if 0 <= key < len(listed) else None
