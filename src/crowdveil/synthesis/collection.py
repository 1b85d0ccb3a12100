"""A collection of reports in rounds: plan, assign, ingest, and plan again from what was told so far.

Whoever takes part has a place, 0, 1, 2, ...; what a place is asked is a coin toss of the round, from a public
seed, and never depends on a record. A place reports once. A collection is a value: every step gives a new
one, and `to_dict` keeps all of it, so that a server can stop and go on.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Flags, Floats, Ints
from crowdveil.engines import LocalEngine
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Promise
from crowdveil.randomness import Randomness, seeded
from crowdveil.records import Records, Schema
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.latent_classes import LatentClasses
from crowdveil.synthesis.model_choice import Halves, fitted_to
from crowdveil.synthesis.promises import if_declared
from crowdveil.synthesis.questions import Question, Table, answered, merged
from crowdveil.synthesis.split_epsilon import check_epsilon

FORMAT = 1
MOST_PEOPLE = 10**8
PLACES_AT_ONCE = 4096  # whose coins come from one stream
ROUNDS = 2
SUM_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Collection:
    """What is asked of whom, and what was told; `label` is a column that matters more than others."""

    schema: Schema
    epsilon: float
    label: str | None = None
    rounds: int = ROUNDS
    seed: int = 0
    people: int = 10**7  # how many can take part: places are below
    number: int = 0  # of the round that is open
    planned: tuple[float, ...] = ()  # chances of this round's questions; none yet in the first round
    halves: Halves = ((), ())  # what even places told in all rounds, and what odd ones did
    # Places that have reported, in any round.
    seen: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole(self.rounds, "the number of rounds")
        check_whole(self.people, "the number of people")
        if self.people > MOST_PEOPLE:
            raise ParameterError(f"at most {MOST_PEOPLE:,} people can take part, not {self.people:,}")
        if self.label is not None:
            self.schema.index(self.label)
        if not 0 <= self.number < self.rounds:
            raise ParameterError(f"there are {self.rounds} rounds, so none has the number {self.number}")
        seeded(self.seed)
        if self.planned and len(self.planned) != len(self.questions):
            raise ParameterError("a plan has a chance for each question")

    # --- plan ----------------------------------------------------------------------------------------------

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All questions, those about one column first."""
        single, joint = (
            question_plan.singles(self.schema, self.epsilon),
            question_plan.joints(self.schema, self.epsilon),
        )
        return (*single, *joint)

    @cached_property
    def chances(self) -> Floats:
        """How likely each question is asked in this round: settled when the round opens."""
        return np.array(self.planned) if self.planned else self._chances()

    def _chances(self, learned: LatentClasses | None = None) -> Floats:
        d = len(self.schema.columns)
        label = None if self.label is None else self.schema.index(self.label)
        return question_plan.chances(self.epsilon, (self.questions[:d], self.questions[d:]), label, learned)

    def promise(self) -> Promise:
        """What is promised about each record: pure epsilon, as it is reported about once."""
        return if_declared(self.schema, question_plan.promise(self.questions))

    # --- assign --------------------------------------------------------------------------------------------

    def assign(self, places: Ints) -> Ints:
        """The question of each place, by its number: a coin of this round."""
        rng = seeded(self.seed).part(f"round {self.number}")
        blocks, mine = np.unique(places // PLACES_AT_ONCE, return_inverse=True)
        drawn = [rng.stream(block, purpose="questions").uniforms(PLACES_AT_ONCE) for block in blocks.tolist()]
        coins = np.array(drawn).reshape(-1, PLACES_AT_ONCE)[mine, places % PLACES_AT_ONCE]
        ends = np.cumsum(self.chances)
        found: Ints = np.minimum(np.searchsorted(ends, coins * ends[-1], side="right"), ends.size - 1)
        return found

    # --- ingest --------------------------------------------------------------------------------------------

    def ingest(self, reports: Mapping[int, tuple[Ints, NDArray[Any]]]) -> Collection:
        """With more reports: for each question's number the places that report, and what they send."""
        checked = {number: (_places(who), np.asarray(sent)) for number, (who, sent) in reports.items()}
        places = np.concatenate([np.zeros(0, dtype=np.int64), *(who for who, _ in checked.values())])
        seen = self._seen_with(places)
        numbers = [number for number, (who, _) in checked.items() for _ in range(who.size)]
        if self.assign(places).tolist() != numbers:
            raise InputError("a report answers another question than its place was asked")
        tables: tuple[list[Table], list[Table]] = ([*self.halves[0]], [*self.halves[1]])
        for number, (who, sent) in checked.items():
            if who.size == 0:
                continue
            question = self.questions[number]
            if sent.ndim == 0 or len(sent) != who.size:
                raise InputError("there are not as many reports as places")
            for half, mine in ((0, who % 2 == 0), (1, who % 2 == 1)):
                if mine.any():
                    support = question.oracle.support(sent[mine])
                    tables[half].append(Table(question, support, int(np.count_nonzero(mine))))
        return replace(self, halves=(merged([tables[0]]), merged([tables[1]])), seen=seen)

    def _seen_with(self, places: Ints) -> Flags:
        if places.size == 0:
            return self.seen
        if int(places.min()) < 0 or int(places.max()) >= self.people:
            raise InputError(f"a place is a whole number from 0 to {self.people - 1:,}")
        size = max(self.seen.size, int(places.max()) + 1)
        seen = np.zeros(size, dtype=np.bool_)
        seen[: self.seen.size] = self.seen
        seen[places] = True
        if np.count_nonzero(seen) < np.count_nonzero(self.seen) + places.size:
            raise InputError("somebody has reported already: each record is reported about once")
        return seen

    def advance(self) -> Collection:
        """With this round closed and the next one open, whose plan follows all that was told."""
        if self.number + 1 >= self.rounds:
            raise ParameterError(f"there are {self.rounds} rounds, and this is the last one")
        # What may be worth anything is asked about once more, also where it would not be believed yet.
        learned = fitted_to(self.halves, self.schema.sizes, least_worth=0.0) if self.tables else None
        chances = self._chances(learned)
        return replace(self, number=self.number + 1, planned=tuple(chances.tolist()))

    @property
    def tables(self) -> tuple[Table, ...]:
        """Everything that was told, a table for each question."""
        return merged(self.halves)

    def fitted(self, *, engine: LocalEngine | None = None) -> LatentClasses:
        """The classes of records that explain all reports."""
        if not self.tables:
            raise InputError("nobody has reported yet")
        return fitted_to(self.halves, self.schema.sizes, engine=engine)

    # --- keep ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All of it, as plain data; nothing in it is more private than the reports were."""
        return {
            "format": FORMAT,
            "schema": self.schema.to_dict(),
            "epsilon": self.epsilon,
            "label": self.label,
            "rounds": self.rounds,
            "seed": self.seed,
            "people": self.people,
            "round": self.number,
            "planned": list(self.planned),
            "halves": [[_kept(table) for table in half] for half in self.halves],
            "places": int(self.seen.size),
            "seen": base64.b64encode(np.packbits(self.seen).tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Collection:
        """What `to_dict` kept; refuses what it cannot have kept."""
        try:
            if kept["format"] != FORMAT:
                raise InputError("a collection that was kept has another format")
            fields = ("epsilon", "label", "rounds", "seed", "people")
            fresh = cls(Schema.from_dict(kept["schema"]), *(kept[field] for field in fields))
            even, odd = (tuple(fresh._table(each) for each in half) for half in kept["halves"])
            packed = np.frombuffer(base64.b64decode(kept["seen"], validate=True), dtype=np.uint8)
            seen = np.unpackbits(packed, count=_count(kept["places"])).astype(np.bool_)
            planned = tuple(float(chance) for chance in kept["planned"])
            told = sum(table.asked for table in (*even, *odd))
            if packed.size != -(-seen.size // 8) or seen.size > fresh.people:
                raise ValueError
            if np.count_nonzero(seen) != told or any(len(merged([half])) < len(half) for half in (even, odd)):
                raise ValueError
            if planned and not (min(planned) >= 0 and abs(sum(planned) - 1.0) < SUM_CLOSE):
                raise ValueError
            number = _count(kept["round"])
            return replace(fresh, number=number, planned=planned, halves=(even, odd), seen=seen)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, ParameterError):
            raise InputError("this is not a collection that was kept") from None

    def _table(self, kept: Mapping[str, Any]) -> Table:
        known = {question.columns: question for question in self.questions}
        question = known[tuple(kept["columns"])]
        cells, counts = (np.array(kept[key], dtype=np.int64) for key in ("cells", "counts"))
        asked = _count(kept["asked"])
        if cells.ndim != 1 or cells.shape != counts.shape or np.unique(cells).size < cells.size:
            raise ValueError
        if cells.size and (cells.min() < 0 or counts.min() < 0 or counts.max() > asked):
            raise ValueError
        support = np.zeros(question.cells, dtype=np.int64)
        support[cells] = counts
        return Table(question, support, asked)


def _count(number: Any) -> int:
    """A whole number that can be a count."""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_PEOPLE:
        raise ValueError
    return number


def _places(who: NDArray[Any]) -> Ints:
    """Places of those who report, as whole numbers in a row."""
    places = np.asarray(who)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise InputError("places are whole numbers, one for each report")
    return places.astype(np.int64)


def _kept(table: Table) -> dict[str, Any]:
    cells = np.flatnonzero(table.support)
    return {
        "columns": list(table.question.columns),
        "asked": table.asked,
        "cells": cells.tolist(),
        "counts": table.support[cells].tolist(),
    }


def simulated(records: Records, collection: Collection, *, rng: Randomness) -> Collection:
    """All rounds with these records' devices, in equal parts: a simulation, as it needs all records."""
    n = len(records)
    for number in range(collection.rounds):
        places = np.arange(n * number // collection.rounds, n * (number + 1) // collection.rounds)
        some, asked = records.take(places), collection.assign(places)
        told = answered(some, collection.questions, asked, f"round {number} question", rng=rng)
        reports = {question: (places[rows], sent) for question, (rows, sent) in told.items()}
        collection = collection.ingest(reports)
        if number + 1 < collection.rounds:
            collection = collection.advance()
    return collection
