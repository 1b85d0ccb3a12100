"""The reports of a round, counted where the records are.

A round is all that a block of records needs: public coins that say what each place is asked, and the streams
that devices draw from. Of the places that engines keep together, those that are asked a question draw in
blocks: each block of them in turn from one stream. So what a device sends depends neither on how an engine
cuts the records nor on how often it tries, and no two devices draw the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.engines import RECORDS_TOGETHER, Engine, RecordBlock
from crowdveil.local import record_reports
from crowdveil.randomness import Randomness, Streams
from crowdveil.records import RecordTable
from crowdveil.synthesis.choices import choices, tossed_for
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.questions import Question, Table

PLACES_IN_MEMORY = 4 * RECORDS_TOGETHER  # with their reports
OPERATIONS = 100  # for one report


@dataclass(frozen=True, eq=False)
class Round:
    """What the devices at some places are asked, and what they draw from."""

    first: int
    last: int
    seed: int  # public, of the coins
    number: int
    chances: Floats
    questions: tuple[tuple[int, Question], ...]  # those that somebody is asked, with their numbers
    streams: tuple[tuple[Streams, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, collection: Collection, first: int, last: int, *, rng: Randomness) -> Round:
        """The open round of a collection, for the places from `first` to `last`."""
        part = rng.part(f"round {collection.number}")
        asked = choices(collection.chances, tossed_for(first, last, collection.seed, collection.number))
        numbers = np.flatnonzero(np.bincount(asked)).tolist()
        questions = tuple((number, collection.questions[number]) for number in numbers)
        return cls(
            first,
            last,
            collection.seed,
            collection.number,
            collection.chances,
            questions,
            tuple(each.oracle.streams(part.part(f"question {number}")) for number, each in questions),
        )

    def asked(self, first: int, last: int) -> Ints:
        """The number of the question that each of these places is asked."""
        return choices(self.chances, tossed_for(first, last, self.seed, self.number))

    @property
    def begins(self) -> list[int]:
        """Where each question's totals begin, and at the end how many there are.

        For either half of the places, even and odd, they are the counts and the number of reports.
        """
        sizes = [2 * (question.oracle.counters + 1) for _, question in self.questions]
        return [0, *np.cumsum(sizes).tolist()]


Answers = tuple[int, Ints, NDArray[Any]]
"""Which of the round's questions, the places that answer it, and their reports, one row each."""


def answers(block: RecordBlock, asked: Round) -> Iterator[Answers]:
    """What the devices of a block send in this round."""
    first, last = max(block.first, asked.first), min(block.first + block.size, asked.last)
    if first < last:
        for _, begin, end in record_reports.blocks_of(first, last, PLACES_IN_MEMORY):
            yield from _sent(block, asked, begin, end)


def _sent(block: RecordBlock, asked: Round, first: int, last: int) -> Iterator[Answers]:
    """What the devices at these places send; the round has no others among those that are kept together."""
    numbers = asked.asked(first, last)
    order = np.argsort(numbers.astype(np.uint16) if numbers.max() < 2**16 else numbers, kind="stable")
    highest = asked.questions[-1][0]
    ends = [0, *np.cumsum(np.bincount(numbers, minlength=highest + 1)).tolist()]
    for which, (number, question) in enumerate(asked.questions):
        places = first + order[ends[number] : ends[number + 1]]
        if places.size:
            codes = question.codes(block.codes[places - block.first])
            yield which, places, _drawn(question, asked.streams[which], places, codes)


def _drawn(question: Question, streams: tuple[Streams, ...], places: Ints, codes: Ints) -> NDArray[Any]:
    """The reports of these codes, from the streams of those that are kept together."""
    reports, done = question.oracle.room(codes.size), 0
    size = record_reports.RECORDS_IN_A_BLOCK
    together = record_reports.blocks_of(int(places[0]), int(places[-1]) + 1, RECORDS_TOGETHER)
    for number, _, last in together:
        end = places.size if last > places[-1] else int(np.searchsorted(places, last))
        for block, begin in enumerate(range(done, end, size), number * (RECORDS_TOGETHER // size)):
            own = slice(begin, min(begin + size, end))
            question.oracle.fill(streams, block, codes[own], reports[own])
        done = end
    return reports


def add(block: RecordBlock, asked: Round, totals: Ints) -> None:
    """Add the counts of what the devices of a block send in this round."""
    begins = asked.begins
    for which, places, reports in answers(block, asked):
        oracle = asked.questions[which][1].oracle
        own = totals[begins[which] : begins[which + 1]].reshape(2, -1)
        for half, members in enumerate((places % 2 == 0, places % 2 == 1)):
            if members.any():
                own[half, :-1] += oracle.support(reports[members])
                own[half, -1] += np.count_nonzero(members)


def counted(
    records: RecordTable, collection: Collection, first: int, last: int, *, rng: Randomness, engine: Engine
) -> Halves:
    """The tables of all reports of the open round, by the places from `first` to `last`."""
    if first >= last:
        return (), ()
    asked = Round.of(collection, first, last, rng=rng)
    begins, stage = asked.begins, f"reports of round {asked.number + 1}"
    totals = engine.sum(stage, records, begins[-1], add, asked, operations=OPERATIONS * (last - first))
    halves: tuple[list[Table], list[Table]] = ([], [])
    for which, (_, question) in enumerate(asked.questions):
        own = totals[begins[which] : begins[which + 1]].reshape(2, -1)
        for half, counts in zip(halves, own, strict=True):
            if counts[-1]:
                half.append(Table(question, counts[:-1].copy(), int(counts[-1])))
    return tuple(halves[0]), tuple(halves[1])
