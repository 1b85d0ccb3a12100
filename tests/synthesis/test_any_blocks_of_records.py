"""Reports of records are the same to the last bit however an engine cuts the records, and share no noise."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from small_tables import SIZES, dependent, schema_of

from crowdveil.arrays import Ints
from crowdveil.engines import RECORDS_TOGETHER, LocalEngine, RecordBlock
from crowdveil.errors import InputError
from crowdveil.local import record_reports
from crowdveil.randomness import Randomness, seeded
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.counting import Round, counted
from crowdveil.synthesis.independent import Independent
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.questions import Table
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.samprivsyn import SamPrivSyn
from cutting import OneByOne
from noting import Noting, Secure

MANY = RECORDS_TOGETHER + 5_000
RECORDS = dependent(MANY)
each_method = pytest.mark.parametrize("name", METHODS)


def _parameters(name: str) -> Any:
    return SamPrivSyn(2.0, batch=30_000) if name == "samprivsyn" else METHODS[name].parameters(2.0)


@each_method
def test_a_table_depends_neither_on_threads_nor_on_blocks(name: str) -> None:
    made = [
        METHODS[name].synthesize(RECORDS, _parameters(name), rows=300, rng=seeded(2), engine=engine)
        for engine in (LocalEngine(1), LocalEngine(3), OneByOne())
    ]
    assert made[0].records.codes.tobytes() == made[1].records.codes.tobytes()
    assert made[0].records.codes.tobytes() == made[2].records.codes.tobytes()


@each_method
@pytest.mark.parametrize("engine", [LocalEngine(2), OneByOne()], ids=["threads", "one by one"])
def test_no_two_devices_draw_from_the_same_place_of_a_stream(name: str, engine: LocalEngine) -> None:
    secure, seed = Secure(None), Noting.of(1)
    for rng in (secure, seed):
        METHODS[name].synthesize(RECORDS, _parameters(name), rows=10, rng=rng, engine=engine)
    assert len(secure.used) == len(seed.used) > 2 * len(SIZES)  # two blocks
    assert max(Counter(secure.used).values()) == 1
    assert seed.repeated == []


# --- a slow twin -------------------------------------------------------------------------------------------


def _slowly(collection: Collection, first: int, last: int, rng: Randomness) -> dict[tuple[Any, ...], Ints]:
    """Counts by question and half, from one record after the other."""
    asked = collection.assign(np.arange(first, last)).tolist()
    found: dict[tuple[Any, ...], Ints] = {}
    for number in sorted(set(asked)):
        question = collection.questions[number]
        streams = question.oracle.streams(rng.part(f"round {collection.number}").part(f"question {number}"))
        members: dict[int, list[int]] = {}
        for place, other in zip(range(first, last), asked, strict=True):
            if other == number:
                members.setdefault(2 * (place // RECORDS_TOGETHER), []).append(place)
        for block, places in members.items():
            reports = question.oracle.room(len(places))
            codes = np.array([question.code(RECORDS.codes[place].tolist()) for place in places])
            question.oracle.fill(streams, block, codes, reports)
            for half in (0, 1):
                rows = [row for row, place in enumerate(places) if place % 2 == half]
                counts = np.append(question.oracle.support(reports[rows]), len(rows))
                key = (question.columns, half)
                found[key] = found.get(key, np.zeros_like(counts)) + counts
    return found


@pytest.mark.parametrize("design", [LatentClassSynthesis(1.0), SamPrivSyn(3.0)], ids=lambda each: each.name)
@pytest.mark.parametrize(("first", "last"), [(0, 3_000), (60_000, 70_000), (65_535, 65_537)])
def test_counts_are_those_of_devices_one_after_the_other(design: Any, first: int, last: int) -> None:
    collection = Collection(RECORDS.schema, design, seed=3, people=MANY)
    halves = counted(RECORDS, collection, first, last, rng=seeded(1), engine=LocalEngine(2))
    expected = _slowly(collection, first, last, seeded(1))
    told = {
        (table.question.columns, half): np.append(table.support, table.asked)
        for half, tables in enumerate(halves)
        for table in tables
    }
    assert told.keys() == {key for key, counts in expected.items() if counts[-1]}
    for key, counts in told.items():
        assert (counts == expected[key]).all()


@pytest.mark.parametrize("columns", [["c1"], ["c0", "c3"]], ids=str)
def test_up_to_so_many_places_draw_as_all_devices_of_a_question_at_once(columns: list[str]) -> None:
    """Those who are asked the only question draw from several streams, and as many as there are."""
    records, design = RECORDS.select(columns), Independent(1.0)
    many = MANY if len(columns) == 1 else RECORDS_TOGETHER
    collection = Collection(records.schema, design, seed=3, people=MANY)
    (even, odd) = counted(records, collection, 0, many, rng=seeded(1), engine=OneByOne())
    asked = collection.assign(np.arange(many))
    for number, question in enumerate(collection.questions):
        codes = question.codes(records.codes[:many][asked == number])
        rng = seeded(1).part("round 0").part(f"question {number}")
        support = question.oracle.support(question.oracle.perturb(codes, rng=rng))
        assert (support == even[number].support + odd[number].support).all()


def test_what_draws_from_one_stream_is_never_cut() -> None:
    assert RECORDS_TOGETHER % record_reports.RECORDS_IN_A_BLOCK == 0


def test_a_round_of_nobody_counts_nothing() -> None:
    collection = Collection(RECORDS.schema, LatentClassSynthesis(1.0), people=1)
    assert counted(RECORDS, collection, 0, 0, rng=seeded(1), engine=LocalEngine(1)) == ((), ())


# --- what a collection takes -------------------------------------------------------------------------------


def test_counts_of_places_that_have_reported_or_of_other_numbers_are_refused() -> None:
    empty = Collection(schema_of(SIZES), Independent(1.0), people=100)
    question = empty.questions[0]
    halves = (Table(question, np.ones(3, dtype=np.int64), 5),), (Table(question, np.ones(3, np.int64), 5),)
    once = empty.with_counts(0, 10, halves)
    assert (once.reports, once.tables[0].asked) == (10, 10)
    with pytest.raises(InputError, match="already"):
        once.with_counts(9, 19, halves)
    with pytest.raises(InputError, match="as many reports"):
        empty.with_counts(0, 11, halves)
    with pytest.raises(InputError, match="a place is"):
        empty.with_counts(95, 105, halves)


def test_a_round_does_not_show_its_streams() -> None:
    collection = Collection(RECORDS.schema, Independent(1.0), people=MANY)
    asked = Round.of(collection, 0, 100, rng=seeded(1))
    assert "streams" not in repr(asked)
    assert RecordBlock(0, RECORDS.codes).size == MANY
