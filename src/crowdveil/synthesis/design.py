"""What a method must say so that its reports can be collected in rounds, whatever the method is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from crowdveil.arrays import Codes, Floats
from crowdveil.engines import Engine
from crowdveil.guarantee import Promise
from crowdveil.randomness import Randomness
from crowdveil.records import Schema
from crowdveil.synthesis.questions import Question, Table

Halves = tuple[Sequence[Table], Sequence[Table]]
"""The tables of people at even places, and of those at odd ones: two independent samples."""


@runtime_checkable
class Design(Protocol):
    """The parameters of a method in which each person answers one question."""

    name: ClassVar[str]

    def __hash__(self) -> int:
        """Parameters are frozen."""

    def promise(self, schema: Schema) -> Promise:
        """What each record is promised, known before anybody reports."""

    def questions(self, schema: Schema) -> tuple[Question, ...]:
        """All questions that may be asked; refuses a schema that the method cannot ask about."""

    def round_ends(self, people: int) -> Sequence[int]:
        """For each round: how many of these people have reported when it closes."""

    def chances(
        self, schema: Schema, questions: Sequence[Question], halves: Halves, *, engine: Engine | None = None
    ) -> Floats:
        """The probability of each question in the next round, from all tables so far; they sum to 1."""

    def tables(self, schema: Schema, halves: Halves) -> Mapping[tuple[int, ...], Floats]:
        """Proper shares of single columns and of pairs, by their columns, as records are made from."""

    def codes(
        self, schema: Schema, halves: Halves, rows: int, *, rng: Randomness, engine: Engine | None = None
    ) -> Codes:
        """(rows, d): synthetic records from all tables, of which there is at least one."""
