"""What users' devices send about all of their cells: one way for every mechanism.

Each device has a stream of its user's own name and fills a row of its own. So what it sends depends neither
on other users nor on the number of threads. Here all devices run one after the other, or on several threads:
a simulation, as whoever holds all answers has no need of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.answers import Answers, Domain, Symbols
from crowdveil.arrays import Codes
from crowdveil.errors import ParameterError
from crowdveil.guarantee import SEEDED, Guarantee, Promise
from crowdveil.randomness import Randomness, Words, secure
from crowdveil.randomness.chacha import STATE_WORDS, start

Device = Callable[[int, Words, Codes, Symbols, NDArray[Any]], None]
"""Called with a user's place, stream, answered objects (ascending) and their codes; fills the user's row."""

USERS_IN_A_BLOCK = 500
CELLS_IN_A_MOMENT = 1_000_000  # fewer are not worth a second thread
FROM_ANSWERS = "objects and users were listed from the answers: that each of them has one is not hidden"


class SparseMechanism(Protocol):
    """What a device sends about all objects, whatever its user answered about, and what that promises."""

    @property
    def method(self) -> str:
        """The mechanism's name, which is also the purpose of its streams: at most 16 bytes."""

    @property
    def domain(self) -> Domain:
        """The answers that there are."""

    def row(self, objects: int, /) -> tuple[int, type[np.generic]]:
        """How many numbers a device sends, and of which type."""

    def device(self, objects: pl.Series, users: pl.Series, /) -> Device:
        """What each of these users' devices does, who are asked about these objects."""

    def received(self, objects: pl.Series, users: pl.Series, rows: NDArray[Any]) -> Any:
        """What the server makes of the rows."""

    def cell_level(self) -> Promise:
        """What is promised about each cell."""

    def user_level(self, objects: int) -> Promise:
        """What is promised to a user about all cells, if there are so many objects."""


@dataclass(frozen=True, eq=False)
class Reports:
    """A row of each user's device, and what was promised about the answers behind it.

    `seeded` is true when the draws can be repeated from a seed: then nothing is promised. `declared` is true
    when objects and users were listed beforehand; else that each of them has an answer is not hidden.
    """

    objects: pl.Series
    users: pl.Series
    mechanism: SparseMechanism
    rows: NDArray[Any]  # (M, numbers)
    seeded: bool
    declared: bool

    @property
    def promise(self) -> Promise:
        """What is promised about each cell."""
        return self._kept(self.mechanism.cell_level())

    @property
    def user_promise(self) -> Promise:
        """What is promised to a user about all cells."""
        return self._kept(self.mechanism.user_level(len(self.objects)))

    def _kept(self, promise: Promise) -> Promise:
        return SEEDED if self.seeded else promised(promise, declared=self.declared)

    def read(self) -> Any:
        """The rows as the mechanism's server understands them."""
        return self.mechanism.received(self.objects, self.users, self.rows)


def promised(promise: Promise, *, declared: bool) -> Promise:
    """What is left of a promise if objects and users were read off the answers: their lists show.

    Then somebody whose only answer becomes none disappears, which no noise hides.
    """
    if declared or not isinstance(promise, Guarantee):
        return promise
    weaker = replace(promise, adjacency="replace-or-not-last")
    return replace(weaker, assumptions=(*promise.assumptions, FROM_ANSWERS))


def report(answers: Answers, mechanism: SparseMechanism, *, rng: Randomness | None = None) -> Reports:
    """Every user's row as the user's own device would send it."""
    if answers.domain != mechanism.domain:
        raise ParameterError("the answers' domain is not the mechanism's")
    rng = rng or secure()
    many, kind = mechanism.row(len(answers.objects))
    rows = np.empty((len(answers.users), many), dtype=kind)
    _run(answers, mechanism.device(answers.objects, answers.users), mechanism.method, rows, rng)
    return Reports(
        *(answers.objects, answers.users, mechanism, rows),
        seeded=not rng.private,
        declared=answers.declared,
    )


def _run(answers: Answers, device: Device, purpose: str, rows: NDArray[Any], rng: Randomness) -> None:
    key, nonces = rng.streams(answers.users, purpose=purpose)
    users = len(answers.users)

    def block(first: int) -> None:
        state = np.zeros(STATE_WORDS, dtype=np.uint32)
        for user in range(first, min(first + USERS_IN_A_BLOCK, users)):
            a, b = answers.offsets[user], answers.offsets[user + 1]
            start(state, key, nonces[user])
            device(user, state, answers.object_codes[a:b], answers.codes[a:b], rows[user])

    blocks = range(0, users, USERS_IN_A_BLOCK)
    if users * len(answers.objects) <= CELLS_IN_A_MOMENT:
        for first in blocks:
            block(first)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(block, blocks))  # takes what went wrong out of the threads
