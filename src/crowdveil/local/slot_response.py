"""Sparse answers with one epsilon for all that a user answered: each device is asked about a few objects.

A mechanism that reports about every cell costs a user as many epsilons as there are objects. Here a device
gets `slots` lists of `listed` objects. For each list it picks one of the objects that its user answered
about, all alike, or none (NULL), and rounds the answer at random to one of some levels. The pick and the
level are one symbol of listed x levels + 1. Randomized response over the symbols of all slots at once is all
that is sent: whatever else the user answered never leaves the device, so that the user's epsilon is that of
the response, with no composition over objects.

With one object a list this is randomized response on a sample of cells. Longer lists find an answer where
most cells are empty, at the price of more symbols. Where even that tells little about single objects, what
they have in common can still be told: one device in `unnamed` picks among *all* of its user's answers and
sends the level only, which takes far fewer symbols than to say what it is about.

Lists are public and dealt without a look at any answer, from a public seed and the user's place in the list
of users: decks of all objects are shuffled, and neighbours in the list of users draw from the same deck, so
that all objects are asked about nearly as often. A device needs to know its place and the number of objects.

Notation: S symbols of a slot; a the chance that a report is not made up, keep - other.
What shows: who takes part, and what each device was asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.accounting.parameters import check_whole
from crowdveil.answers import Domain, Symbols
from crowdveil.arrays import Codes, Flags, Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, rational
from crowdveil.kernels import slots as loops
from crowdveil.local.reports import Device
from crowdveil.local.slot_truths import Beliefs, Told, believed
from crowdveil.randomness import Words, seeded
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.randomness.response import Response, randomized_response
from crowdveil.truths import Truths

MOST_SYMBOLS = 2**32  # of all slots together
MANY = 1e9  # degrees of freedom: beliefs are taken for normal
ASSUMPTIONS = (
    "the domain was declared, not read off the data",
    "which objects there are, who takes part and what each device was asked about is public, and dealt "
    "without a look at answers",
    "each device reported once: whatever else it sends adds up",
)
Cells = Sequence[int | None]  # codes of answers, None is NULL


@dataclass(frozen=True)
class SlotResponse:
    """Parameters: a user's epsilon, the domain, slots, objects in a slot's list, levels, and a public seed.

    One device in `unnamed` sends a level without its object.
    """

    epsilon: float
    domain: Domain
    slots: int = 1
    listed: int = 1
    levels: int | None = None  # default: one for each answer
    unnamed: int | None = None  # default: every device names its objects
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self.slots, "the number of slots")
        check_whole(self.listed, "the number of objects in a list")
        if not (isinstance(self.rounded_to, int) and 2 <= self.rounded_to <= self.domain.size):
            raise ParameterError(
                f"levels must be at least 2 and at most {self.domain.size}, not {self.levels}"
            )
        if self.unnamed is not None and not (isinstance(self.unnamed, int) and self.unnamed >= 2):
            raise ParameterError(f"unnamed means one device in at least 2, not {self.unnamed}")
        if self.symbols**self.slots > MOST_SYMBOLS:
            raise ParameterError(f"{self.slots} slots of {self.symbols} symbols are too many at once")
        rational(self.epsilon, what="epsilon")  # refuses what tells nothing
        _ = self.response, self.unnamed_response, seeded(self.seed)

    @property
    def method(self) -> str:
        """The mechanism's name, which is also the purpose of its streams."""
        return "slot response"

    @property
    def rounded_to(self) -> int:
        """How many levels there are."""
        return self.domain.size if self.levels is None else self.levels

    @property
    def symbols(self) -> int:
        """S: how many there are for a slot; the last one is NULL."""
        return self.listed * self.rounded_to + 1

    @cached_property
    def response(self) -> Response:
        """The weights of what a device sends that names objects: of all slots together."""
        return Response.of(self.symbols**self.slots, self.epsilon)

    @cached_property
    def unnamed_response(self) -> Response:
        """The weights of what a device sends that names none."""
        return Response.of(self.rounded_to + 1, self.epsilon)

    # --- lists ---------------------------------------------------------------------------------------------

    def naming(self, users: int) -> Flags:
        """(M,): whether the device in each place names objects."""
        if self.unnamed is None:
            return np.ones(users, dtype=np.bool_)
        naming: Flags = np.arange(1, users + 1) % self.unnamed != 0
        return naming

    def lists(self, users: int, objects: int) -> Codes:
        """(naming devices, slots, listed): the objects that each of them is asked about, none twice."""
        many, hands = np.count_nonzero(self.naming(users)), objects // self._hand(objects)
        decks = -(-many // hands)
        key, nonces = seeded(self.seed).streams(range(decks), purpose="slot lists")
        state, cards = np.zeros(STATE_WORDS, dtype=np.uint32), np.arange(objects, dtype=np.int32)
        dealt = np.empty((decks, hands * self._hand(objects)), dtype=np.int32)
        for deck in range(decks):
            start(state, key, nonces[deck])
            cards[:] = np.arange(objects)
            loops.shuffle(state, dealt.shape[1], cards)
            dealt[deck] = cards[: dealt.shape[1]]
        return dealt.reshape(-1, self.slots, self.listed)[:many]

    def _hand(self, objects: int) -> int:
        """How many objects a device is asked about."""
        hand = self.slots * self.listed
        if hand > objects:
            raise ParameterError(
                f"a device would be asked about {hand} objects, of {objects}: take fewer slots, or listed"
            )
        return hand

    # --- the device ----------------------------------------------------------------------------------------

    def row(self, objects: int) -> tuple[int, type[np.generic]]:
        """One number, whatever the number of objects."""
        self._hand(objects)
        return 1, np.int64

    def device(self, objects: pl.Series, users: pl.Series) -> Device:
        """What each of these users' devices does, who are asked about these objects."""
        lists, naming = self.lists(len(users), len(objects)), self.naming(len(users))
        ranks = np.cumsum(naming) - 1
        sizes = (self.domain.size, self.rounded_to)

        def send(user: int, state: Words, answered: Codes, codes: Symbols, row: NDArray[Any]) -> None:
            if naming[user]:
                true = loops.true_symbols(state, lists[ranks[user]], answered, codes, *sizes)
                law = self.response
            else:
                true = loops.unnamed_symbol(state, codes, *sizes)
                law = self.unnamed_response
            row[0] = randomized_response(state, true, law.symbols, law.keep, law.other)

        return send

    # --- the law -------------------------------------------------------------------------------------------

    def exact_law(self, lists: Sequence[Cells]) -> list[Fraction]:
        """The chance of every number that a device can send, for the answers to each of its lists."""
        if [len(cells) for cells in lists] != [self.listed] * self.slots:
            raise ParameterError(f"there are {self.slots} lists of {self.listed}")
        laws = [self._true_law(cells) for cells in lists]
        true = [prod(chances, start=Fraction(1)) for chances in product(*laws[::-1])]
        return _randomized(true, self.response)

    def exact_unnamed_law(self, cells: Cells) -> list[Fraction]:
        """The same for a device that names no object, and the answers about all objects."""
        given = [code for code in cells if code is not None]
        true = [Fraction(0)] * self.rounded_to + [Fraction(not given)]
        for code in given:
            for level, chance in enumerate(self._levels_of(code)):
                true[level] += chance / len(given)
        return _randomized(true, self.unnamed_response)

    def _true_law(self, cells: Cells) -> list[Fraction]:
        """Of a slot's symbol, before randomized response."""
        many = sum(code is not None for code in cells)
        law: list[Fraction] = []
        for code in cells:
            chances = [Fraction(0)] * self.rounded_to if code is None else self._levels_of(code)
            law += [chance / max(many, 1) for chance in chances]
        return [*law, Fraction(many == 0)]

    def _levels_of(self, code: int) -> list[Fraction]:
        """The chance of each level for an answer; they keep its mean."""
        along = Fraction(code * (self.rounded_to - 1), self.domain.size - 1)
        return [max(Fraction(0), 1 - abs(along - level)) for level in range(self.rounded_to)]

    @cached_property
    def rounding(self) -> Floats:
        """(answers, levels): the same for all answers, in floats."""
        along = np.arange(self.domain.size) * ((self.rounded_to - 1) / (self.domain.size - 1))
        near: Floats = np.maximum(0.0, 1.0 - np.abs(along[:, None] - np.arange(self.rounded_to)))
        return near

    # --- promises ------------------------------------------------------------------------------------------

    def cell_level(self) -> Guarantee:
        """What is promised about each cell: the user's epsilon, as a cell is a part of what is hidden."""
        realised = self.response.epsilon
        if self.unnamed is not None:
            realised = max(realised, self.unnamed_response.epsilon)
        return Guarantee(realised, 0.0, "cell", "replace-or-none", "local", ASSUMPTIONS)

    def user_level(self, objects: int) -> Guarantee:
        """What is promised to a user about all cells, however many: pure epsilon, once."""
        check_whole(objects, "the number of objects")
        return replace(self.cell_level(), unit="user")

    # --- the server ----------------------------------------------------------------------------------------

    def received(self, objects: pl.Series, users: pl.Series, rows: NDArray[Any]) -> SlotReports:
        """What the server makes of the rows: what each device was asked about, and what it told."""
        naming, told = self.naming(len(users)), np.asarray(rows)
        if told.shape != (len(users), 1) or not np.issubdtype(told.dtype, np.integer):
            raise InputError("each user's device sends one whole number")
        limits = np.where(naming, self.response.symbols, self.unnamed_response.symbols)
        if not ((told[:, 0] >= 0) & (told[:, 0] < limits)).all():
            raise InputError("a device sent a number that it cannot have: are these the parameters?")
        return SlotReports(
            *(objects, users, self, self.lists(len(users), len(objects))),
            told=told[naming, 0].astype(np.int64),
            unnamed=told[~naming, 0].astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class SlotReports:
    """What devices were asked about, and the symbols that they told, in the order of users."""

    objects: pl.Series
    users: pl.Series
    parameters: SlotResponse
    lists: Codes  # (naming devices, slots, listed)
    told: Ints  # (naming devices,) all slots in one number
    unnamed: Ints  # (the other devices,)

    def symbols(self) -> Ints:
        """(naming devices, slots): the symbol of each slot."""
        powers = self.parameters.symbols ** np.arange(self.parameters.slots)
        apart: Ints = self.told[:, None] // powers % self.parameters.symbols
        return apart

    def times(self) -> Ints:
        """(N,): how many devices were asked about each object."""
        return np.bincount(self.lists.ravel(), minlength=len(self.objects))

    def counts(self) -> Ints:
        """(N, levels): how often each level was told about each object."""
        symbols, levels = self.symbols(), self.parameters.rounded_to
        who, slot = np.nonzero(symbols < self.parameters.symbols - 1)
        place, level = np.divmod(symbols[who, slot], levels)
        about = self.lists[who, slot, place].astype(np.int64)
        flat = np.bincount(about * levels + level, minlength=len(self.objects) * levels)
        return flat.reshape(-1, levels).astype(np.int64)

    def debiased_counts(self) -> Floats:
        """(N, levels): how often it was the true symbol, made free of the noise: unbiased, can be below 0."""
        signal = signal_of(self.parameters.response)
        made_up = (1 - signal) / self.parameters.symbols * self.times()
        debiased: Floats = (self.counts() - made_up[:, None]) / signal
        return debiased

    def truths(self, sparsity: float | None = None) -> Truths:
        """The truth of each object, with its error; all users weigh alike.

        `sparsity`, the share of cells without an answer, helps where reports hardly tell it.
        """
        found, domain = self.beliefs(sparsity), self.parameters.domain
        many = len(self.objects)
        return Truths(
            *(self.objects, self.users, found.medians(), found.deviations()),
            freedom=np.full(many, MANY),
            weights=np.ones(len(self.users)),
            method=self.parameters.method,
            sweeps=found.sweeps,
            converged=found.converged,
            limits=(float(domain.low), float(domain.high)),
        )

    def beliefs(self, sparsity: float | None = None) -> Beliefs:
        """What is believed of each object's truth after all reports."""
        parameters, levels = self.parameters, self.parameters.rounded_to
        levels_told = np.bincount(self.unnamed, minlength=levels + 1)
        signal, common = signal_of(parameters.response), signal_of(parameters.unnamed_response)
        return believed(
            Told(self.counts(), self.told.size, parameters.slots, parameters.listed, signal),
            Told(levels_told[None, :-1], self.unnamed.size, 1, 1, common, of=len(self.objects)),
            *(parameters.rounding, parameters.domain, sparsity),
        )


def signal_of(response: Response) -> float:
    """a: the chance that what is told is true; else it is any symbol, all alike."""
    return float(response.keep_chance - response.other_chance)


def _randomized(true: list[Fraction], response: Response) -> list[Fraction]:
    """The law of what is told, from that of what is true."""
    keep, other = response.keep_chance, response.other_chance
    return [other + (keep - other) * chance for chance in true]
