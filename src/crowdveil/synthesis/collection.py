"""A collection of reports in rounds: assign questions, ingest reports, advance to the next round.

Whoever takes part has a place, 0, 1, 2, ... In each round a coin of that round, tossed with a public seed,
decides what a place is asked; it never depends on a record. A place reports once, in one of the rounds. The
probabilities of a round's questions may follow from the reports of earlier rounds.

What is asked and how records are made of the reports is up to a `Design`; everything else is the same for all
of them. A collection is a value: every step returns a new one, and `to_dict` keeps all of it, so that a
server can stop and go on.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Flags, Floats, Ints
from crowdveil.engines import Engine
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Promise
from crowdveil.randomness import Randomness, secure, seeded
from crowdveil.records import Records, Schema
from crowdveil.synthesis.choices import PLACES_AT_ONCE, choices, tossed
from crowdveil.synthesis.design import Design, Halves
from crowdveil.synthesis.kept_tables import count_of, keep_table, kept_plan, kept_seen, kept_table
from crowdveil.synthesis.questions import Question, Table, merged
from crowdveil.synthesis.registry import METHODS

FORMAT = 2
MOST_PEOPLE = 10**8

Reports = Mapping[int, tuple[Ints, NDArray[Any]]]
"""For each question's number: the places that answer it, and their reports, one row each."""


@dataclass(frozen=True, eq=False)
class Collection:
    """What is asked of whom, and what was reported.

    Parameters
    ----------
    schema:
        Public domains of the columns.
    design:
        The method's parameters: what is asked with which probability, and what becomes of the reports.
    seed:
        Public; decides what each place is asked in each round.
    people:
        How many are expected to take part: rounds end by it.
    capacity:
        How many can take part: places are below. By default as many as are expected.
    number:
        Of the round that is open, from 0.
    planned:
        The probabilities of this round's questions; empty in the first round, whose plan needs no reports.
    halves:
        Tables of all reports of even places, and of odd ones.
    seen:
        Whether each place has reported, in any round.

    """

    schema: Schema
    design: Design
    seed: int = 0
    people: int = 10**7
    number: int = 0
    planned: tuple[float, ...] = ()
    halves: Halves = ((), ())
    seen: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    capacity: int | None = None

    def __post_init__(self) -> None:
        check_whole(self.people, "the number of people")
        check_whole(self.places, "the number of places")
        check_people(max(self.people, self.places))
        if not 0 <= self.number < self.rounds:
            raise ParameterError(f"there are {self.rounds} rounds, so none has the number {self.number}")
        seeded(self.seed)  # refuses what is not a seed
        questions = self.questions  # refuses a schema that the design cannot ask about
        if self.planned and len(self.planned) != len(questions):
            raise ParameterError("a plan has a probability for each question")

    # --- plan ----------------------------------------------------------------------------------------------

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All questions that may be asked, in any round."""
        return _questions(self.design, self.schema)

    @property
    def places(self) -> int:
        """How many can take part."""
        return self.people if self.capacity is None else self.capacity

    @property
    def rounds(self) -> int:
        """How many rounds there can be."""
        return len(self.design.round_ends(self.people))

    @cached_property
    def chances(self) -> Floats:
        """The probability of each question in this round, fixed when the round opens."""
        if self.planned:
            return np.array(self.planned)
        return self.design.chances(self.schema, self.questions, ((), ()))

    def promise(self) -> Promise:
        """What each record is promised: pure epsilon, as it is reported about once."""
        return self.design.promise(self.schema)

    # --- assign --------------------------------------------------------------------------------------------

    def assign(self, places: Ints) -> Ints:
        """The number of the question that each place is asked in this round."""
        where = self._checked(places)
        blocks, block_of = np.unique(where // PLACES_AT_ONCE, return_inverse=True)
        coins = tossed(blocks.tolist(), self.seed, self.number)[block_of, where % PLACES_AT_ONCE]
        return choices(self.chances, coins)

    # --- ingest --------------------------------------------------------------------------------------------

    def from_wire(self, places: Sequence[int], wires: Sequence[Any]) -> Reports:
        """What devices at these places sent as JSON, by the question that each place was asked."""
        if not all(isinstance(place, int | np.integer) for place in places):
            raise InputError("places are whole numbers, one for each report")
        where = self._checked(np.asarray(places))
        if len(wires) != where.size:
            raise InputError("there are not as many reports as places")
        asked = self.assign(where)
        rows = [
            self.questions[number].oracle.from_wire(wire)
            for number, wire in zip(asked.tolist(), wires, strict=True)
        ]
        members = {number: np.flatnonzero(asked == number) for number in np.unique(asked).tolist()}
        return {number: (where[who], np.stack([rows[i] for i in who])) for number, who in members.items()}

    def ingest(self, reports: Reports) -> Collection:
        """With more reports; refuses a second report of a place, and answers to another question."""
        checked = {number: (self._checked(who), np.asarray(sent)) for number, (who, sent) in reports.items()}
        places = np.concatenate([np.zeros(0, dtype=np.int64), *(who for who, _ in checked.values())])
        seen = self._seen_with(places)
        numbers = [number for number, (who, _) in checked.items() for _ in range(who.size)]
        if self.assign(places).tolist() != numbers:
            raise InputError("a report answers another question than its place was asked")
        tables: tuple[list[Table], list[Table]] = ([*self.halves[0]], [*self.halves[1]])
        for number, (who, sent) in checked.items():
            if who.size == 0:
                continue
            if sent.ndim == 0 or len(sent) != who.size:
                raise InputError("there are not as many reports as places")
            question = self.questions[number]
            for half, members in enumerate((who % 2 == 0, who % 2 == 1)):
                if members.any():
                    support = question.oracle.support(sent[members])
                    tables[half].append(Table(question, support, int(np.count_nonzero(members))))
        return replace(self, halves=(merged([tables[0]]), merged([tables[1]])), seen=seen)

    def with_counts(self, first: int, last: int, halves: Halves) -> Collection:
        """With one report of each place from `first` to `last`, counted already."""
        seen = self._seen_with(self._checked(np.arange(first, last)))
        if sum(table.asked for half in halves for table in half) != last - first:
            raise InputError("there are not as many reports as places")
        even, odd = (merged([known, new]) for known, new in zip(self.halves, halves, strict=True))
        return replace(self, halves=(even, odd), seen=seen)

    def _checked(self, places: Any) -> Ints:
        """Places as whole numbers below the number of people, in one row."""
        where = np.asarray(places)
        if where.ndim != 1 or (where.size and where.dtype.kind not in "iu"):
            raise InputError("places are whole numbers, one for each report")
        if where.size and not 0 <= int(where.min()) <= int(where.max()) < self.places:
            raise InputError(f"a place is a whole number from 0 to {self.places - 1:,}")
        return where.astype(np.int64)

    def _seen_with(self, places: Ints) -> Flags:
        """Who has reported once these places have, too; refuses a place that reports again."""
        if places.size == 0:
            return self.seen
        seen = np.zeros(max(self.seen.size, int(places.max()) + 1), dtype=np.bool_)
        seen[: self.seen.size] = self.seen
        seen[places] = True
        if np.count_nonzero(seen) < np.count_nonzero(self.seen) + places.size:
            raise InputError("somebody has reported already: each record is reported about once")
        return seen

    # --- advance -------------------------------------------------------------------------------------------

    @property
    def reports(self) -> int:
        """How many reports have arrived, in all rounds."""
        return int(np.count_nonzero(self.seen))

    @property
    def due(self) -> bool:
        """Whether as many people have reported as the design wants before the next round."""
        ends = self.design.round_ends(self.people)
        return self.number + 1 < len(ends) and self.reports >= ends[self.number]

    def advance(self, *, engine: Engine | None = None) -> Collection:
        """With this round closed and the next one open, whose plan follows from all reports so far."""
        if self.number + 1 >= self.rounds:
            raise ParameterError(f"there are {self.rounds} rounds, and this is the last one")
        chances = self.design.chances(self.schema, self.questions, self.halves, engine=engine)
        return replace(self, number=self.number + 1, planned=tuple(chances.tolist()))

    # --- results -------------------------------------------------------------------------------------------

    @property
    def tables(self) -> tuple[Table, ...]:
        """All reports, counted: a table for each question."""
        return merged(self.halves)

    def records(self, rows: int, *, rng: Randomness | None = None, engine: Engine | None = None) -> Records:
        """Synthetic records from all reports so far: post-processing, which costs nothing."""
        check_whole(rows, "the number of rows")
        if self.reports == 0:
            raise InputError("nobody has reported yet")
        codes = self.design.codes(self.schema, self.halves, rows, rng=rng or secure(), engine=engine)
        return Records(self.schema, codes)

    # --- keep ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain JSON; nothing in it is more private than the reports were."""
        return {
            "format": FORMAT,
            "method": self.design.name,
            "parameters": asdict(self.design),  # type: ignore[call-overload]
            "schema": self.schema.to_dict(),
            "seed": self.seed,
            "people": self.people,
            **({} if self.capacity is None else {"capacity": self.capacity}),
            "round": self.number,
            "planned": list(self.planned),
            "halves": [[keep_table(table) for table in half] for half in self.halves],
            "places": int(self.seen.size),
            "seen": base64.b64encode(np.packbits(self.seen).tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Collection:
        """The collection that `to_dict` kept; refuses a state that it cannot have kept."""
        try:
            if kept["format"] != FORMAT:
                raise InputError("a collection that was kept has another format")
            design = METHODS[kept["method"]].parameters(**kept["parameters"])
            if not isinstance(design, Design):
                raise TypeError
            empty = cls(
                Schema.from_dict(kept["schema"]),
                design,
                kept["seed"],
                kept["people"],
                capacity=kept.get("capacity"),
            )
            even, odd = (tuple(kept_table(each, empty.questions) for each in half) for half in kept["halves"])
            if any(len(merged([half])) < len(half) for half in (even, odd)):
                raise ValueError
            seen = kept_seen(kept, empty.places)
            if np.count_nonzero(seen) != sum(table.asked for table in (*even, *odd)):
                raise ValueError
            number = count_of(kept["round"], empty.rounds)
            planned = kept_plan(kept["planned"], number)
            return replace(empty, number=number, planned=planned, halves=(even, odd), seen=seen)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError):
            raise InputError("this is not a collection that was kept") from None


def check_people(count: int) -> None:
    """Refuse more people than a collection has places for."""
    if count > MOST_PEOPLE:
        raise ParameterError(f"at most {MOST_PEOPLE:,} people can take part, not {count:,}")


@lru_cache(maxsize=16)
def _questions(design: Design, schema: Schema) -> tuple[Question, ...]:
    """All questions of a design; every step of a collection needs them."""
    return design.questions(schema)
