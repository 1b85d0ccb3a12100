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
from crowdveil.guarantee import Guarantee
from crowdveil.randomness import Randomness, seeded
from crowdveil.records import Records, Schema
from crowdveil.synthesis import planning
from crowdveil.synthesis.latent_classes import LatentClasses
from crowdveil.synthesis.model_choice import fitted_to
from crowdveil.synthesis.questions import Question, Table, merged

FORMAT = 1
MOST_PLACES = 10**9
PLACES_AT_ONCE = 4096  # whose coins come from one stream
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Collection:
    """What is asked of whom, and what was told; `label` is a column that matters more than others."""

    schema: Schema
    epsilon: float
    label: str | None = None
    rounds: int = ROUNDS
    seed: int = 0
    number: int = 0  # of the round that is open
    closed: tuple[tuple[Table, ...], ...] = ()  # from earlier rounds: what this round's plan follows
    now: tuple[Table, ...] = ()  # from this round
    # Places that have reported, in any round.
    seen: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    planned: tuple[float, ...] = ()  # chances of this round's questions, once somebody needed them

    def __post_init__(self) -> None:
        check_whole(self.rounds, "the number of rounds")
        if self.label is not None and self.label not in self.schema.names:
            raise ParameterError(f"there is no column {self.label!r} to be the label")
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
            planning.singles(self.schema, self.epsilon),
            planning.joints(self.schema, self.epsilon),
        )
        return (*single, *joint)

    @cached_property
    def chances(self) -> Floats:
        """How likely each question is asked in this round: settled when the round opens."""
        if self.planned:
            return np.array(self.planned)
        d = len(self.schema.columns)
        label = None if self.label is None else self.schema.names.index(self.label)
        learned = fitted_to(self.closed, self.schema.sizes) if self.closed else None
        return planning.chances(self.epsilon, (self.questions[:d], self.questions[d:]), label, learned)

    def guarantee(self) -> Guarantee:
        """What is promised about each record: pure epsilon, as it is reported about once."""
        return planning.guarantee(self.questions)

    # --- assign --------------------------------------------------------------------------------------------

    def assign(self, places: Ints) -> Ints:
        """The question of each place, by its number: a coin of this round."""
        coins = np.empty(places.size)
        rng = seeded(self.seed).part(f"round {self.number}")
        blocks = places // PLACES_AT_ONCE
        for block in np.unique(blocks).tolist():
            mine = blocks == block
            drawn = rng.stream(block, purpose="questions").uniforms(PLACES_AT_ONCE)
            coins[mine] = drawn[places[mine] - block * PLACES_AT_ONCE]
        ends = np.cumsum(self.chances)
        found: Ints = np.minimum(np.searchsorted(ends, coins * ends[-1], side="right"), ends.size - 1)
        return found

    # --- ingest --------------------------------------------------------------------------------------------

    def ingest(self, reports: Mapping[int, tuple[Ints, NDArray[Any]]]) -> Collection:
        """With more reports: for each question's number the places that report, and what they send."""
        places = np.concatenate([each for each, _ in reports.values()] or [np.zeros(0, dtype=np.int64)])
        seen = self._seen_with(places)
        tables = list(self.now)
        for number, (who, sent) in reports.items():
            if not 0 <= number < len(self.questions) or (self.assign(who) != number).any():
                raise InputError("a report answers another question than its place was asked")
            question = self.questions[number]
            if len(sent) != who.size:
                raise InputError("there are not as many reports as places")
            tables.append(Table(question, question.oracle.support(sent), int(who.size)))
        return replace(self, now=merged([tables]), seen=seen, planned=tuple(self.chances.tolist()))

    def _seen_with(self, places: Ints) -> Flags:
        if places.size == 0:
            return self.seen
        if int(places.min()) < 0 or int(places.max()) >= MOST_PLACES:
            raise InputError(f"a place is a whole number from 0 to {MOST_PLACES - 1:,}")
        size = max(self.seen.size, int(places.max()) + 1)
        seen = np.zeros(size, dtype=np.bool_)
        seen[: self.seen.size] = self.seen
        if seen[places].any() or np.unique(places).size < places.size:
            raise InputError("somebody has reported already: each record is reported about once")
        seen[places] = True
        return seen

    def advance(self) -> Collection:
        """With this round closed and the next one open, whose plan follows all that was told."""
        if self.number + 1 >= self.rounds:
            raise ParameterError(f"there are {self.rounds} rounds, and this is the last one")
        closed = (*self.closed, self.now)
        return replace(self, number=self.number + 1, closed=closed, now=(), planned=())

    @property
    def tables(self) -> tuple[Table, ...]:
        """Everything that was told, a table for each question."""
        return merged((*self.closed, self.now))

    def fitted(self, *, engine: LocalEngine | None = None) -> LatentClasses:
        """The classes of records that explain all reports."""
        if not self.tables:
            raise InputError("nobody has reported yet")
        return fitted_to((*self.closed, self.now), self.schema.sizes, engine=engine)

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
            "round": self.number,
            "planned": self.chances.tolist(),
            "closed": [[_kept(table) for table in tables] for tables in self.closed],
            "now": [_kept(table) for table in self.now],
            "places": int(self.seen.size),
            "seen": base64.b64encode(np.packbits(self.seen).tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Collection:
        """What `to_dict` kept."""
        try:
            if kept["format"] != FORMAT:
                raise InputError("a collection that was kept has another format")
            fresh = cls(
                Schema.from_dict(kept["schema"]), kept["epsilon"], kept["label"], kept["rounds"], kept["seed"]
            )
            bits = np.frombuffer(base64.b64decode(kept["seen"], validate=True), dtype=np.uint8)
            return replace(
                fresh,
                number=kept["round"],
                planned=tuple(float(chance) for chance in kept["planned"]),
                closed=tuple(tuple(fresh._table(each) for each in tables) for tables in kept["closed"]),
                now=tuple(fresh._table(each) for each in kept["now"]),
                seen=np.unpackbits(bits, count=kept["places"]).astype(np.bool_),
            )
        except (KeyError, TypeError, ValueError, IndexError, ParameterError):
            raise InputError("this is not a collection that was kept") from None

    def _table(self, kept: Mapping[str, Any]) -> Table:
        known = {question.columns: question for question in self.questions}
        question = known[tuple(kept["columns"])]
        support = np.array(kept["support"], dtype=np.int64)
        if support.shape != (question.cells,) or support.min() < 0 or support.max() > kept["asked"]:
            raise ValueError
        return Table(question, support, int(kept["asked"]))


def _kept(table: Table) -> dict[str, Any]:
    return {
        "columns": list(table.question.columns),
        "asked": table.asked,
        "support": table.support.tolist(),
    }


def simulated(records: Records, collection: Collection, *, rng: Randomness) -> Collection:
    """All rounds with these records' devices, in equal parts: a simulation, as it needs all records."""
    n = len(records)
    for number in range(collection.rounds):
        places = np.arange(n * number // collection.rounds, n * (number + 1) // collection.rounds)
        asked = collection.assign(places)
        order = np.argsort(asked, kind="stable")
        ends = np.searchsorted(asked[order], np.arange(len(collection.questions) + 1))
        reports = {}
        for question in np.unique(asked).tolist():
            who = places[order[ends[question] : ends[question + 1]]]
            oracle = collection.questions[question].oracle
            codes = collection.questions[question].codes(records.codes[who])
            part = rng.part(f"round {number} question {question}")
            reports[question] = (who, oracle.perturb(codes, rng=part))
        collection = collection.ingest(reports)
        if number + 1 < collection.rounds:
            collection = collection.advance()
    return collection
