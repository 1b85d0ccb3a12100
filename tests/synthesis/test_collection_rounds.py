"""A collection in rounds: who is asked what, what is refused, and going on after a stop."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_tables import SIZES, dependent, schema_of

from crowdveil.arrays import Ints
from crowdveil.engines import RecordBlock
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.randomness import seeded
from crowdveil.records import Records, Schema
from crowdveil.synthesis.calm import Calm
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.counting import Round, answers
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.independent import Independent
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.questions import Question
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.samprivsyn import SamPrivSyn
from crowdveil.synthesis.simulated import simulated

Reports = dict[int, tuple[Ints, NDArray[Any]]]
SCHEMA = schema_of(SIZES)
LATENT, SAMPLED = LatentClassSynthesis(2.0), SamPrivSyn(2.0, batch=1500)
EMPTY = Collection(SCHEMA, LATENT, seed=5)
DESIGNS: list[Design] = [LATENT, SAMPLED]
each_design = pytest.mark.parametrize(
    "empty", [Collection(SCHEMA, each, seed=5) for each in DESIGNS], ids=[each.name for each in DESIGNS]
)
RECORDS = dependent(3000)


def _reports(collection: Collection, places: Ints, seed: int = 0) -> Reports:
    """What the devices at these places send."""
    asked = collection.assign(places)
    made: Reports = {}
    for number in np.unique(asked).tolist():
        question, who = collection.questions[number], places[asked == number]
        part = seeded(seed).part(f"{collection.number} {number}")
        made[number] = (who, question.oracle.perturb(question.codes(RECORDS.codes[who]), rng=part))
    return made


def _drawn(records: Records, collection: Collection) -> Reports:
    """What simulated devices send in the round that is open."""
    asked = Round.of(collection, 0, len(records), rng=seeded(1))
    sent = answers(RecordBlock(0, records.codes), asked)
    return {asked.questions[which][0]: (places, reports) for which, places, reports in sent}


@each_design
def test_assignment_is_a_coin_of_the_place(empty: Collection) -> None:
    places = np.arange(10_000)
    asked = empty.assign(places)
    np.testing.assert_array_equal(asked, empty.assign(places))
    order = np.random.default_rng(0).permutation(10_000)
    np.testing.assert_array_equal(empty.assign(places[order]), asked[order])
    np.testing.assert_array_equal(empty.assign(places[7000:7003]), asked[7000:7003])
    shares = np.bincount(asked, minlength=len(empty.questions)) / 10_000
    assert np.abs(shares - empty.chances).max() < 5 * 0.5 / 100
    other = replace(empty, seed=6).assign(places)
    assert (other != asked).mean() > 0.5


@each_design
def test_each_round_tosses_its_own_coins(empty: Collection) -> None:
    """With the same probabilities in both rounds, a place gets the same question as often as by chance.

    10,000 places; the standard deviation of the share that agrees is at most .005.
    """
    places = np.arange(10_000)
    later = empty.advance()
    np.testing.assert_allclose(later.chances, empty.chances)  # nobody has reported in between
    agree = (empty.assign(places) == later.assign(places)).mean()
    assert agree == pytest.approx(np.square(empty.chances).sum(), abs=5 * 0.005)


@each_design
def test_devices_draw_anew_in_each_round(empty: Collection) -> None:
    """The same people with the same questions; with shared draws all of their reports would agree."""
    alike = Records(SCHEMA, np.ones((4000, len(SIZES)), dtype=np.int32))
    later = empty.advance()
    first, second = (_drawn(alike, each) for each in (empty, later))
    agree = [
        np.mean([np.array_equal(*rows) for rows in zip(first[n][1], second[n][1], strict=False)])
        for n in range(len(empty.questions))
        if n in first and n in second
    ]
    assert len(agree) > 3
    assert np.mean(agree) < 0.9


@each_design
def test_everybody_reports_once(empty: Collection) -> None:
    made = simulated(RECORDS, empty, rng=seeded(1))
    assert sum(table.asked for table in made.tables) == len(RECORDS)
    assert made.seen.size == len(RECORDS)
    assert made.seen.all()
    assert made.number == 1  # 3,000 people: two rounds of LatentClassSynthesis, two batches of SamPrivSyn
    assert len(made.records(77, rng=seeded(1))) == 77
    guarantee = made.promise()
    assert isinstance(guarantee, Guarantee)
    assert guarantee.epsilon <= 2.0
    assert guarantee.epsilon == pytest.approx(2.0)
    assert (guarantee.delta, guarantee.unit, guarantee.trust) == (0.0, "record", "local")


@each_design
def test_in_parts_is_as_all_at_once(empty: Collection) -> None:
    reports = _reports(empty, np.arange(500))
    whole, parts = empty.ingest(reports), empty
    for number, each in reports.items():
        parts = parts.ingest({number: each})
    assert empty.tables == ()
    for one, other in zip(whole.tables, parts.tables, strict=True):
        assert one.asked == other.asked
        np.testing.assert_array_equal(one.support, other.support)


@each_design
def test_a_second_report_is_refused(empty: Collection) -> None:
    reports = _reports(empty, np.arange(100))
    once = empty.ingest(reports)
    with pytest.raises(InputError, match="already"):
        once.ingest(reports)
    with pytest.raises(InputError, match="already"):
        once.advance().ingest(_reports(once.advance(), np.arange(50, 60)))
    number, (who, sent) = next((n, each) for n, each in reports.items() if each[0].size)
    with pytest.raises(InputError, match="already"):
        empty.ingest({number: (np.repeat(who[:1], 2), np.repeat(sent[:1], 2, axis=0))})


@each_design
def test_an_answer_to_another_question_is_refused(empty: Collection) -> None:
    reports = _reports(empty, np.arange(100))
    (first, (who, sent)), *_ = reports.items()
    for wrong in (first + 1, -1, len(empty.questions)):
        with pytest.raises(InputError, match="another question"):
            empty.ingest({wrong: (who, sent)})
    with pytest.raises(InputError, match="as many reports"):
        empty.ingest({first: (who, sent[:-1])})


@each_design
def test_a_report_of_an_earlier_round_is_refused(empty: Collection) -> None:
    """Devices that were asked in a round that is closed answer what nobody asks them any more."""
    late, later = _reports(empty, np.arange(200)), empty.advance()
    with pytest.raises(InputError, match="another question"):
        later.ingest(late)


@each_design
def test_reports_from_the_wire_are_those_that_devices_made(empty: Collection) -> None:
    """Each device gets its question as JSON and sends its report as JSON."""
    places = list(range(60))
    asked = empty.assign(np.array(places))
    wires = []
    for place, number in zip(places, asked.tolist(), strict=True):
        question = Question.from_dict(json.loads(json.dumps(empty.questions[number].to_dict())))
        report = question.report_one(RECORDS.codes[place].tolist(), rng=seeded(place))
        wires.append(json.loads(json.dumps(question.oracle.to_wire(report))))
    after = empty.ingest(empty.from_wire(places, wires))
    assert after.reports == 60
    for table in after.tables:
        number = empty.questions.index(table.question)
        who = np.flatnonzero(asked == number)
        sent = np.stack(
            [table.question.report_one(RECORDS.codes[i].tolist(), rng=seeded(int(i))) for i in who]
        )
        np.testing.assert_array_equal(table.support, table.question.oracle.support(sent))
    with pytest.raises(InputError, match="as many reports"):
        empty.from_wire(places, wires[1:])
    with pytest.raises(InputError):
        empty.from_wire(places, [*wires[:-1], {"v": 1, "mechanism": "krr", "payload": 10**6}])
    with pytest.raises(InputError, match="place"):
        empty.from_wire([-1], wires[:1])


def test_a_round_is_due_when_its_people_have_reported() -> None:
    small = Collection(SCHEMA, SamPrivSyn(2.0, batch=50), people=120)
    assert small.rounds == 3
    assert not small.due
    once = small.ingest(_reports(small, np.arange(50)))
    assert once.due
    assert not once.advance().due
    last = once.advance().advance()
    assert not last.ingest(_reports(last, np.arange(50, 120))).due  # there is no other round
    assert [*LatentClassSynthesis(1.0, rounds=4).round_ends(10)] == [2, 5, 7, 10]
    for design in (Calm(2.0), Independent(2.0)):
        assert Collection(SCHEMA, design).rounds == 1


def test_a_bad_place_is_refused() -> None:
    with pytest.raises(InputError, match="place"):
        EMPTY.ingest({0: (np.array([-1]), np.array([0], dtype=np.int32))})


def test_nothing_to_ingest() -> None:
    assert EMPTY.ingest({}).tables == ()
    with pytest.raises(InputError, match="nobody"):
        EMPTY.records(10)


@each_design
def test_a_collection_goes_on_after_a_stop(empty: Collection) -> None:
    """Also in the middle of the second round, whose plan follows the first."""
    places = np.arange(1500)
    half = empty.ingest(_reports(empty, places)).advance()
    begun = half.ingest(_reports(half, np.arange(1500, 1700)))
    kept = Collection.from_dict(json.loads(json.dumps(begun.to_dict())))
    assert kept.to_dict() == begun.to_dict()
    np.testing.assert_array_equal(kept.chances, begun.chances)
    assert np.abs(begun.chances - empty.chances).max() > 0.001
    later = np.arange(1700, 3000)
    np.testing.assert_array_equal(kept.assign(later), begun.assign(later))
    ends = [each.ingest(_reports(each, later)).records(500, rng=seeded(1)) for each in (kept, begun)]
    np.testing.assert_array_equal(ends[0].codes, ends[1].codes)
    with pytest.raises(InputError, match="already"):
        kept.ingest(_reports(kept, np.arange(1600, 1650)))


def test_no_round_after_the_last() -> None:
    last = EMPTY.advance()
    with pytest.raises(ParameterError, match="last"):
        last.advance()
    with pytest.raises(ParameterError, match="last"):
        Collection(SCHEMA, LatentClassSynthesis(2.0, rounds=1)).advance()
    with pytest.raises(ParameterError, match="last"):
        Collection(SCHEMA, SamPrivSyn(2.0, batch=100), people=100).advance()


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1},
        {"method": "krr"},  # everybody reports about all columns: there are no questions
        {"method": "other"},
        {"method": None},
        {"parameters": {"epsilon": "much"}},
        {"parameters": {"epsilon": 2.0, "label": 3}},
        {"parameters": {"epsilon": 2.0, "label": "none"}},
        {"parameters": {"epsilon": 2.0, "batch": 9}},
        {"parameters": [2.0]},
        {"seed": -1},
        {"seed": "x"},
        {"schema": None},
        {"seen": "not base64!"},
        {"halves": [[], [{"columns": [0, 9], "asked": 1, "cells": [0], "counts": [1]}]]},
        {"halves": [[], [{"columns": [0], "asked": 1, "cells": [9], "counts": [1]}]]},
        {"halves": [[], [{"columns": [0], "asked": 1, "cells": [0], "counts": [5]}]]},
    ],
)
def test_what_is_no_collection(change: dict[str, Any]) -> None:
    with pytest.raises((InputError, ParameterError)):
        Collection.from_dict(EMPTY.to_dict() | change)


def _kept(design: Design = LATENT) -> dict[str, Any]:
    """A collection of 200 people in its second round, as it was kept."""
    empty = Collection(SCHEMA, design, seed=5)
    begun = empty.ingest(_reports(empty, np.arange(200))).advance()
    kept: dict[str, Any] = json.loads(json.dumps(begun.to_dict()))
    return kept


KEPT = _kept()


@pytest.mark.parametrize(
    "change",
    [
        {"seen": KEPT["seen"][:8]},
        {"seen": ""},
        {"seen": "A" * 36},  # 27 bytes where 25 are needed, and nobody
        {"places": -3},
        {"places": 201},
        {"places": 10**30},
        {"round": 0.5},
        {"round": 2},
        {"planned": [float("nan")] * len(EMPTY.questions)},
        {"planned": [-1.0, *[2.0 / (len(EMPTY.questions) - 1)] * (len(EMPTY.questions) - 1)]},
        {"planned": [0.5] * len(EMPTY.questions)},
        {"planned": [1.0]},
        {"planned": []},
        {"round": 0},
        {"round": True},
        {"halves": [[], []]},
        {"halves": [KEPT["halves"][0], [*KEPT["halves"][1], KEPT["halves"][1][0]]]},
        {"halves": [[KEPT["halves"][0][0] | {"asked": 10**30}], []]},
        {"halves": [[KEPT["halves"][0][0] | {"asked": -5}], []]},
        {"halves": [[KEPT["halves"][0][0] | {"counts": [10**30], "cells": [0]}], []]},
        {"halves": [[KEPT["halves"][0][0] | {"counts": [1, 1], "cells": [0, 0]}], []]},
        {"people": 100},
        {"people": 0},
        {"parameters": {"epsilon": 0.0}},
    ],
)
def test_a_damaged_collection_lets_nobody_report_twice(change: dict[str, Any]) -> None:
    assert Collection.from_dict(KEPT).to_dict() == KEPT
    with pytest.raises(InputError, match="not a collection that was kept"):
        Collection.from_dict(KEPT | change)


@pytest.mark.parametrize(
    "places",
    [
        np.array([0.0]),
        np.array([True]),
        np.array([[0]]),
        np.array(0),
        np.array([EMPTY.people]),
        np.array([2**63], dtype=np.uint64),
        np.array(["0"]),
    ],
)
def test_places_that_are_none_are_refused(places: NDArray[Any]) -> None:
    with pytest.raises(InputError, match="place"):
        EMPTY.ingest({0: (places, np.array([0], dtype=np.int32))})


KEPT_PAIRS = _kept(SAMPLED)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "crowdveil"},
        {"parameters": {"epsilon": 2.0, "batch": 0}},
        {"parameters": {"epsilon": 2.0, "batch": True}},
        {"parameters": {"epsilon": 2.0, "batch": 10**7}},  # one round, so the second cannot be open
        {"round": 10**7},
        {"seen": "A" * 36},
        {"places": 199},
        {"planned": [0.5] * 6},
        {"halves": [[], []]},
        {"halves": [[KEPT_PAIRS["halves"][0][0] | {"counts": [1.0], "cells": [0]}], []]},
        {"halves": [[KEPT_PAIRS["halves"][0][0] | {"counts": [1], "cells": [12]}], []]},
        {"halves": [[KEPT_PAIRS["halves"][0][0] | {"columns": [1, 0]}], []]},
        {"halves": [[KEPT_PAIRS["halves"][0][0] | {"columns": [0]}], []]},
    ],
    ids=str,
)
def test_a_damaged_collection_of_pairs_is_refused(change: dict[str, Any]) -> None:
    assert Collection.from_dict(KEPT_PAIRS).to_dict() == KEPT_PAIRS
    with pytest.raises(InputError, match="not a collection that was kept"):
        Collection.from_dict(KEPT_PAIRS | change)


def test_questions_that_are_none_and_reports_that_are_none_are_refused() -> None:
    (number, (who, sent)), *_ = _reports(EMPTY, np.arange(100)).items()
    for wrong in ("2", 2.7, None):
        with pytest.raises(InputError, match="another question"):
            EMPTY.ingest({wrong: (who, sent)})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="as many reports"):
        EMPTY.ingest({number: (who, np.array(3))})
    with pytest.raises(InputError):
        EMPTY.ingest({number: (who, np.array(["x"] * who.size))})
    assert EMPTY.ingest({number: (who.tolist(), sent.tolist())}).tables[0].asked == who.size


def test_nothing_is_promised_about_columns_whose_domains_are_not_public() -> None:
    undeclared = Schema(EMPTY.schema.columns, declared=False)
    for name, method in METHODS.items():
        promise = method.parameters(2.0).promise(undeclared)
        assert promise.to_dict()["kind"] == "none", name
    assert Collection(undeclared, LATENT).promise().to_dict()["kind"] == "none"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 0}, "people"),
        ({"people": 10**9}, "people"),
        ({"number": 2}, "rounds"),
        ({"planned": (1.0,)}, "plan"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parameters(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Collection(SCHEMA, LATENT, **options)
