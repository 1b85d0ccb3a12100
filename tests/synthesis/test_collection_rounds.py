"""A collection in rounds: who is asked what, what is refused, and going on after a stop."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_tables import SIZES, dependent, schema_of

from crowdveil.arrays import Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.randomness import seeded
from crowdveil.records import Schema
from crowdveil.synthesis.collection import Collection, simulated
from crowdveil.synthesis.methods import METHODS

Reports = dict[int, tuple[Ints, NDArray[Any]]]
EMPTY = Collection(schema_of(SIZES), 2.0, seed=5)
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


def test_assignment_is_a_coin_of_the_place() -> None:
    places = np.arange(10_000)
    asked = EMPTY.assign(places)
    np.testing.assert_array_equal(asked, EMPTY.assign(places))
    order = np.random.default_rng(0).permutation(10_000)
    np.testing.assert_array_equal(EMPTY.assign(places[order]), asked[order])
    np.testing.assert_array_equal(EMPTY.assign(places[7000:7003]), asked[7000:7003])
    shares = np.bincount(asked, minlength=len(EMPTY.questions)) / 10_000
    assert np.abs(shares - EMPTY.chances).max() < 5 * 0.5 / 100
    other = Collection(EMPTY.schema, 2.0, seed=6).assign(places)
    assert (other != asked).mean() > 0.5


def test_everybody_reports_once() -> None:
    made = simulated(RECORDS, EMPTY, rng=seeded(1))
    assert sum(table.asked for table in made.tables) == len(RECORDS)
    assert made.seen.size == len(RECORDS)
    assert made.seen.all()
    assert made.number == made.rounds - 1
    guarantee = made.promise()
    assert isinstance(guarantee, Guarantee)
    assert guarantee.epsilon <= 2.0
    assert guarantee.epsilon == pytest.approx(2.0)
    assert (guarantee.delta, guarantee.unit, guarantee.trust) == (0.0, "record", "local")


def test_in_parts_is_as_all_at_once() -> None:
    reports = _reports(EMPTY, np.arange(500))
    whole, parts = EMPTY.ingest(reports), EMPTY
    for number, each in reports.items():
        parts = parts.ingest({number: each})
    assert EMPTY.tables == ()
    for one, other in zip(whole.tables, parts.tables, strict=True):
        assert one.asked == other.asked
        np.testing.assert_array_equal(one.support, other.support)


def test_a_second_report_is_refused() -> None:
    reports = _reports(EMPTY, np.arange(100))
    once = EMPTY.ingest(reports)
    with pytest.raises(InputError, match="already"):
        once.ingest(reports)
    with pytest.raises(InputError, match="already"):
        once.advance().ingest(_reports(once.advance(), np.arange(50, 60)))
    number, (who, sent) = next((n, each) for n, each in reports.items() if each[0].size)
    with pytest.raises(InputError, match="already"):
        EMPTY.ingest({number: (np.repeat(who[:1], 2), np.repeat(sent[:1], 2, axis=0))})


def test_an_answer_to_another_question_is_refused() -> None:
    reports = _reports(EMPTY, np.arange(100))
    (first, (who, sent)), *_ = reports.items()
    for wrong in (first + 1, -1, len(EMPTY.questions)):
        with pytest.raises(InputError, match="another question"):
            EMPTY.ingest({wrong: (who, sent)})
    with pytest.raises(InputError, match="as many reports"):
        EMPTY.ingest({first: (who, sent[:-1])})


def test_a_bad_place_is_refused() -> None:
    with pytest.raises(InputError, match="place"):
        EMPTY.ingest({0: (np.array([-1]), np.array([0], dtype=np.int32))})


def test_nothing_to_ingest() -> None:
    assert EMPTY.ingest({}).tables == ()
    with pytest.raises(InputError, match="nobody"):
        EMPTY.fitted()


def test_a_collection_goes_on_after_a_stop() -> None:
    """Also in the middle of the second round, whose plan follows the first."""
    places = np.arange(1500)
    half = EMPTY.ingest(_reports(EMPTY, places)).advance()
    begun = half.ingest(_reports(half, np.arange(1500, 1700)))
    kept = Collection.from_dict(json.loads(json.dumps(begun.to_dict())))
    assert kept.to_dict() == begun.to_dict()
    np.testing.assert_array_equal(kept.chances, begun.chances)
    assert np.abs(begun.chances - EMPTY.chances).max() > 0.001
    later = np.arange(1700, 3000)
    np.testing.assert_array_equal(kept.assign(later), begun.assign(later))
    ends = [each.ingest(_reports(each, later)).fitted() for each in (kept, begun)]
    np.testing.assert_array_equal(ends[0].chances, ends[1].chances)
    with pytest.raises(InputError, match="already"):
        kept.ingest(_reports(kept, np.arange(1600, 1650)))


def test_no_round_after_the_last() -> None:
    last = EMPTY.advance()
    with pytest.raises(ParameterError, match="last"):
        last.advance()
    with pytest.raises(ParameterError, match="last"):
        Collection(EMPTY.schema, 2.0, rounds=1).advance()


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"epsilon": "much"},
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


def _kept() -> dict[str, Any]:
    """A collection of 200 people in its second round, as it was kept."""
    begun = EMPTY.ingest(_reports(EMPTY, np.arange(200))).advance()
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
        {"halves": [[], []]},
        {"halves": [KEPT["halves"][0], [*KEPT["halves"][1], KEPT["halves"][1][0]]]},
        {"halves": [[KEPT["halves"][0][0] | {"asked": 10**30}], []]},
        {"halves": [[KEPT["halves"][0][0] | {"asked": -5}], []]},
        {"halves": [[KEPT["halves"][0][0] | {"counts": [10**30], "cells": [0]}], []]},
        {"halves": [[KEPT["halves"][0][0] | {"counts": [1, 1], "cells": [0, 0]}], []]},
        {"people": 100},
        {"people": 0},
        {"epsilon": 0.0},
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
    assert Collection(undeclared, 2.0).promise().to_dict()["kind"] == "none"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 0}, "people"),
        ({"people": 10**9}, "people"),
        ({"rounds": 0}, "rounds"),
        ({"label": "none"}, "no column"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parameters(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Collection(EMPTY.schema, 1.0, **options)
