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
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.accounting.parameters import check_whole
from crowdveil.answers import Domain, Symbols
from crowdveil.arrays import Codes, Flags, Floats, Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, Unit, rational
from crowdveil.kernels import slots as loops
from crowdveil.local.description import Description
from crowdveil.local.reports import CellMechanism, Device
from crowdveil.local.request import MechanismRequest
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
class SlotResponse(CellMechanism):
    """Parameters: a user's epsilon, the domain, slots, objects in a slot's list, levels, and a public seed.

    One device in `unnamed` sends a level without its object.
    """

    name: ClassVar[str] = "slots"
    method: ClassVar[str] = "slot response"
    unit: ClassVar[Unit] = "user"
    options: ClassVar[tuple[str, ...]] = ("sparsity",)

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
        rational(self.epsilon, what="epsilon")  # refuses one that is too small or too large
        _ = self.response, self.unnamed_response, seeded(self.seed)

    @classmethod
    def describe(cls, request: MechanismRequest) -> Description:
        """Slots, lists and levels of the least expected error for so many users and objects."""
        from crowdveil.local.recommended_slots import recommended_slots

        best = recommended_slots(
            request.strength, request.domain, request.users, request.objects, request.sparsity
        )
        chosen = {name: getattr(best, name) for name in ("slots", "listed", "levels", "unnamed")}
        public = {"epsilon": request.strength, "range": list(cls.ends(request))}
        return Description(
            cls.name, public | {name: number for name, number in chosen.items() if number is not None}
        )

    @property
    def rounded_to(self) -> int:
        """How many levels there are."""
        return self.domain.size if self.levels is None else self.levels

    @property
    def symbols(self) -> int:
        """S: the number of symbols of a slot; the last one is NULL."""
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

    def names_objects(self, places: Ints) -> Flags:
        """(M,): whether the device in each place names objects."""
        if self.unnamed is None:
            return np.ones(places.size, dtype=np.bool_)
        naming: Flags = (places + 1) % self.unnamed != 0
        return naming

    def lists(self, places: Ints, objects: int) -> Codes:
        """(naming devices, slots, listed): the objects that each of them is asked about, none twice.

        Devices that name no object have no list. A device needs its own place alone: the work is that of the
        decks which devices in these places are dealt from.
        """
        own = places[self.names_objects(places)]
        ranks = own if self.unnamed is None else own - own // self.unnamed  # among devices that name objects
        hand = self._hand(objects)
        hands = objects // hand  # of a deck
        decks, hand_of = np.divmod(ranks, hands)
        shuffled, deck_of = np.unique(decks, return_inverse=True)
        cards = self._dealt(shuffled, hands * hand, objects).reshape(shuffled.size, hands, hand)
        return cards[deck_of.ravel(), hand_of].reshape(own.size, self.slots, self.listed)

    def _dealt(self, decks: Ints, dealt: int, objects: int) -> Codes:
        """(decks, dealt): the first cards of these decks: all objects, shuffled by the public seed."""
        key, nonces = seeded(self.seed).streams(decks.tolist(), purpose="slot lists")
        state, cards = np.zeros(STATE_WORDS, dtype=np.uint32), np.empty(objects, dtype=np.int32)
        first_cards = np.empty((decks.size, dealt), dtype=np.int32)
        for deck, nonce in enumerate(nonces):
            start(state, key, nonce)
            cards[:] = np.arange(objects)
            loops.shuffle(state, dealt, cards)
            first_cards[deck] = cards[:dealt]
        return first_cards

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

    def bounds(self, _objects: int, place: int) -> list[tuple[int, int]]:
        """The symbols of all slots as one number; a level or NULL where no object is named."""
        return [(0, int(self._symbols_of(np.array([place]))[0]) - 1)]

    def _symbols_of(self, places: Ints) -> Ints:
        """(M,): how many numbers the device in each place can send."""
        naming = self.names_objects(places)
        return np.where(naming, self.response.symbols, self.unnamed_response.symbols)

    def device(self, objects: pl.Series, places: Ints) -> Device:
        """What the devices in these places do, which are asked about these objects."""
        lists, naming = self.lists(places, len(objects)), self.names_objects(places)
        rows_of_lists = np.cumsum(naming) - 1
        sizes = (self.domain.size, self.rounded_to)

        def send(device: int, state: Words, answered: Codes, codes: Symbols, row: NDArray[Any]) -> None:
            if naming[device]:
                own = lists[rows_of_lists[device]]
                symbol = loops.true_symbols(state, own, answered, codes, *sizes)
                law = self.response
            else:
                symbol = loops.unnamed_symbol(state, codes, *sizes)
                law = self.unnamed_response
            row[0] = randomized_response(state, symbol, law.symbols, law.keep, law.other)

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
        answered = sum(code is not None for code in cells)
        law: list[Fraction] = []
        for code in cells:
            chances = [Fraction(0)] * self.rounded_to if code is None else self._levels_of(code)
            law += [chance / max(answered, 1) for chance in chances]
        return [*law, Fraction(answered == 0)]

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

    def promise(self, unit: Unit | None = None, count: int = 1) -> Guarantee:
        """Pure epsilon for a user, once, however many objects there are; so for each cell too."""
        realised = self.response.epsilon
        if self.unnamed is not None:
            realised = max(realised, self.unnamed_response.epsilon)
        unit = self._unit(unit, count)
        return Guarantee(realised, 0.0, unit, "replace-or-none", "local", ASSUMPTIONS)

    # --- the server ----------------------------------------------------------------------------------------

    def received(
        self, objects: pl.Series, users: pl.Series, rows: NDArray[Any], places: Ints | None = None
    ) -> SlotReports:
        """What each device was asked about, and what it sent."""
        places = np.arange(len(users)) if places is None else places
        numbers = np.asarray(rows)
        if numbers.shape != (len(users), 1) or not np.issubdtype(numbers.dtype, np.integer):
            raise InputError("each user's device sends one whole number")
        if not ((numbers[:, 0] >= 0) & (numbers[:, 0] < self._symbols_of(places))).all():
            raise InputError("a device sent a number that it cannot have: are these the parameters?")
        naming = self.names_objects(places)
        return SlotReports(
            *(objects, users, self, self.lists(places, len(objects))),
            named=numbers[naming, 0].astype(np.int64),
            unnamed=numbers[~naming, 0].astype(np.int64),
        )


@dataclass(frozen=True, eq=False)
class SlotReports:
    """What devices were asked about, and the numbers that they sent, in the order of users."""

    objects: pl.Series
    users: pl.Series
    parameters: SlotResponse
    lists: Codes  # (naming devices, slots, listed)
    named: Ints  # (naming devices,) the symbols of all slots in one number
    unnamed: Ints  # (the other devices,) a level or NULL

    def symbols(self) -> Ints:
        """(naming devices, slots): the symbol of each slot."""
        powers = self.parameters.symbols ** np.arange(self.parameters.slots)
        symbols: Ints = self.named[:, None] // powers % self.parameters.symbols
        return symbols

    def times(self) -> Ints:
        """(N,): how many devices were asked about each object."""
        return np.bincount(self.lists.ravel(), minlength=len(self.objects))

    def counts(self) -> Ints:
        """(N, levels): how often each level was reported about each object."""
        symbols, levels = self.symbols(), self.parameters.rounded_to
        who, slot = np.nonzero(symbols < self.parameters.symbols - 1)
        place, level = np.divmod(symbols[who, slot], levels)
        about = self.lists[who, slot, place].astype(np.int64)
        flat = np.bincount(about * levels + level, minlength=len(self.objects) * levels)
        return flat.reshape(-1, levels).astype(np.int64)

    def debiased_counts(self) -> Floats:
        """(N, levels): unbiased estimates of how often the true symbol was each level; can be negative."""
        signal = signal_of(self.parameters.response)
        random_ones = (1 - signal) / self.parameters.symbols * self.times()
        debiased: Floats = (self.counts() - random_ones[:, None]) / signal
        return debiased

    def truths(self, sparsity: float | None = None) -> Truths:
        """The truth of each object, with its error; all users weigh alike.

        `sparsity`, the share of cells without an answer, helps where reports hardly tell it.
        """
        beliefs, domain = self.beliefs(sparsity), self.parameters.domain
        return Truths(
            *(self.objects, self.users, beliefs.medians(), beliefs.deviations()),
            freedom=np.full(len(self.objects), MANY),
            weights=np.ones(len(self.users)),
            method=self.parameters.method,
            sweeps=beliefs.sweeps,
            converged=beliefs.converged,
            limits=(float(domain.low), float(domain.high)),
        )

    def beliefs(self, sparsity: float | None = None) -> Beliefs:
        """What is believed of each object's truth after all reports."""
        parameters, levels = self.parameters, self.parameters.rounded_to
        unnamed_counts = np.bincount(self.unnamed, minlength=levels + 1)
        signal, common = signal_of(parameters.response), signal_of(parameters.unnamed_response)
        return believed(
            Told(self.counts(), self.named.size, parameters.slots, parameters.listed, signal),
            Told(unnamed_counts[None, :-1], self.unnamed.size, 1, 1, common, of=len(self.objects)),
            *(parameters.rounding, parameters.domain, sparsity),
        )


def signal_of(response: Response) -> float:
    """a: the chance that the true symbol is sent on purpose; else any symbol is, all equally likely."""
    return float(response.keep_chance - response.other_chance)


def _randomized(true: list[Fraction], response: Response) -> list[Fraction]:
    """The law of the symbol that is sent, from that of the true one."""
    keep, other = response.keep_chance, response.other_chance
    return [other + (keep - other) * chance for chance in true]
