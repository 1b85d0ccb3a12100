"""What one device sends: the same as the bulk path, in a form that stays and is checked when it arrives."""

from __future__ import annotations

import json
from typing import Any

import device_cases
import numpy as np
import polars as pl
import pytest
import wire_vectors
from device_cases import CASES, FOR_CELLS, FOR_CLAIMS, OBJECTS, USERS, said

from crowdveil.answers import Domain
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.local.description import Description
from crowdveil.local.device_input import public_objects
from crowdveil.local.perturbed import perturb, perturb_one
from crowdveil.local.registry import MECHANISMS, check_options
from crowdveil.local.reports import report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.randomness import seeded

SENT = {name: case for name, case in FOR_CELLS.items() if case.mechanism != "mf"}  # which has no wire form
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_claims_case = pytest.mark.parametrize("case", FOR_CLAIMS.values(), ids=FOR_CLAIMS)
every_cells_case = pytest.mark.parametrize("case", FOR_CELLS.values(), ids=FOR_CELLS)
every_sent_case = pytest.mark.parametrize("case", SENT.values(), ids=SENT)


# --- the registry -------------------------------------------------------------------------------------------


def test_every_name_of_the_registry_is_tried_here() -> None:
    assert set(device_cases.WISHES) == set(MECHANISMS)
    methods = [case.build().method for case in CASES.values()]
    assert max(len(method.encode()) for method in methods) <= 16


@every_case
def test_a_description_is_plain_data_that_builds_the_mechanism_again(case: Description) -> None:
    plain = json.loads(json.dumps({"mechanism": case.mechanism, "parameters": dict(case.parameters)}))
    mechanism = Description(**plain).build()
    assert mechanism == case.build()
    assert mechanism.name == case.mechanism
    assert mechanism.about == case.about


@every_case
def test_a_promise_is_for_the_mechanisms_own_unit_or_for_a_user(case: Description) -> None:
    mechanism = case.build()
    own: Promise = mechanism.promise()
    assert own == mechanism.promise(mechanism.unit) == mechanism.promise(mechanism.unit, 1)
    for unit in mechanism.units:
        promise = mechanism.promise(unit, 5)
        if isinstance(promise, Guarantee):
            assert promise.unit == unit
    single = mechanism.units[0]
    assert mechanism.promise(single, 5) == mechanism.promise(single)  # of one claim or cell, however many
    for wrong in ("record", "claim" if case.about == "cells" else "cell"):
        if wrong not in mechanism.units:
            with pytest.raises(ParameterError, match="promises nothing"):
                mechanism.promise(wrong)
    for count in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="number of"):
            mechanism.promise("user", count)


WRITTEN_BEFORE: list[tuple[str, dict[str, Any]]] = [
    ("laplace", {"epsilon": 4.0, "range": [0.0, 4.0], "resolution": 0.5}),
    ("gaussian-exponential", {"epsilon": 4.0, "range": [0.0, 4.0]}),
    ("gaussian-exponential", {"rate": 0.02, "range": [0.0, 4.0]}),
    ("gaussian-exponential-per-user", {"rate": 0.02, "range": [0.0, 4.0]}),
    ("gaussian-exponential-per-user", {"rate": 0.02, "range": [0.0, 4.0], "floor": 300.0, "delta": 1e-05}),
    ("cell-response", {"epsilon": 4.0, "range": [0, 4], "levels": 5}),
    ("lp", {"epsilon": 4.0, "range": [0, 4], "null": 2}),
    ("two-layer", {"mean": 2.0, "range": [0, 4]}),
    ("mf", {"epsilon": 4.0, "range": [0, 4], "ridge": 1.0}),
    ("mf-sound", {"epsilon": 4.0, "range": [0, 4], "dimensions": 2}),
    ("slots", {"epsilon": 4.0, "range": [0, 4], "slots": 1, "listed": 3, "levels": 5, "unnamed": 10}),
]
"""What files told before there was a registry."""


@pytest.mark.parametrize(("name", "parameters"), WRITTEN_BEFORE, ids=str)
def test_what_files_tell_can_always_be_built(name: str, parameters: dict[str, Any]) -> None:
    mechanism = Description(name, parameters).build()
    for parameter, value in parameters.items():
        if parameter != "range":
            assert getattr(mechanism, parameter) == value
    ends = mechanism.domain if mechanism.about == "cells" else mechanism.range
    assert [ends.low, ends.high] == parameters["range"]


def test_what_is_no_mechanism_is_not_described() -> None:
    for name in ("rr", "auto", "magic", ""):  # shortcuts lead to a mechanism and are none
        with pytest.raises(ParameterError, match="no mechanism"):
            Description(name, {"epsilon": 1.0, "range": [0, 4]}).build()
    for parameters in (
        {},
        {"epsilon": 1.0},
        {"epsilon": "1", "range": [0, 4]},
        {"epsilon": 1.0, "range": [0.0, 4.5]},
    ):
        with pytest.raises(ParameterError):
            Description("cell-response", parameters).build()


def test_options_of_other_mechanisms_are_refused_with_their_owners() -> None:
    for option, owners in (
        ("null", "lp"),
        ("sparsity", "auto and slots"),
        ("dimensions", "mf and mf-sound"),
        ("variance_per_user", "gaussian-exponential"),
    ):
        with pytest.raises(
            ParameterError, match=f"--{option.replace('_', '-')} goes with --mechanism {owners}$"
        ):
            check_options("two-layer", {option: True})
    check_options("two-layer", {"null": None, "variance_per_user": False})


# --- the bulk path and one device ---------------------------------------------------------------------------


@every_claims_case
def test_all_claims_together_are_what_each_device_sends(case: Description) -> None:
    mechanism, rng = case.build(), seeded(3)
    together = perturb(device_cases.claims(), mechanism, rng=rng).claims
    wires = {
        user: json.loads(json.dumps(mechanism.report_one(said(s, nothing=False), user=user, rng=rng)))
        for s, user in enumerate(USERS)
    }
    received = mechanism.collected(wires, OBJECTS)
    for name in ("offsets", "user_codes", "values"):
        assert np.array_equal(getattr(received, name), getattr(together, name))
    assert received.objects.to_list() == together.objects.to_list()
    assert received.users.to_list() == together.users.to_list()
    places = mechanism.from_wire(wires[USERS[1]], OBJECTS)
    own = said(1, nothing=False)
    in_order = sorted(
        (name for name in own), key=lambda name: public_objects(own).to_list().index(_nfc(name))
    )
    alone = perturb_one([own[name] for name in in_order], mechanism, user=USERS[1], rng=rng)
    assert mechanism.grid.values(np.array(list(places.values()))).tolist() == alone.tolist()


@pytest.mark.filterwarnings("ignore:some users have too few answers")  # mf: the ridge decides
@every_cells_case
def test_all_cells_together_are_what_each_device_sends(case: Description) -> None:
    mechanism, rng = case.build(), seeded(3)
    together = report(device_cases.answers(mechanism), mechanism, rng=rng)
    for place, user in enumerate(USERS):
        for given in (said(place, nothing=True), _by_index(said(place, nothing=True))):
            row = mechanism.row_of_one(given, OBJECTS, place=place, user=user, rng=rng)
            assert row.dtype == together.rows.dtype
            assert row.tolist() == together.rows[place].tolist()


@every_sent_case
def test_what_was_received_is_what_the_bulk_path_gives(case: Description) -> None:
    mechanism, rng = case.build(), seeded(3)
    together = report(device_cases.answers(mechanism), mechanism, rng=rng)
    wires = {
        user: json.loads(
            json.dumps(mechanism.report_one(said(s, nothing=True), OBJECTS, place=s, user=user, rng=rng))
        )
        for s, user in reversed(list(enumerate(USERS)))
    }
    received = mechanism.collected(wires, OBJECTS)
    assert (received.rows == together.rows).all()
    assert received.rows.dtype == together.rows.dtype
    assert received.objects.to_list() == together.objects.to_list()
    assert received.users.to_list() == together.users.to_list()
    assert (received.declared, received.seeded) == (True, False)
    known = {user: place for place, user in enumerate(USERS)}
    assert (mechanism.collected(wires, OBJECTS, known).rows == together.rows).all()


def test_the_papers_factorization_has_no_wire_form() -> None:
    mechanism = CASES["mf"].build()
    with pytest.raises(ParameterError, match="no campaign can use it"):
        mechanism.report_one(dict.fromkeys(OBJECTS, 1.0), OBJECTS, user="a", rng=seeded(1))
    with pytest.raises(ParameterError, match="no campaign can use it"):
        mechanism.from_wire({"v": 1, "mechanism": "mf", "payload": [0, 0]}, OBJECTS)


@every_case
def test_without_a_seed_no_two_reports_share_noise(case: Description) -> None:
    if case.mechanism == "mf":
        return
    mechanism = case.build()
    reports = {json.dumps(mechanism.report_one(said(1, nothing=False), OBJECTS)) for _ in range(60)}
    assert len(reports) > 1


# --- places -------------------------------------------------------------------------------------------------


def test_a_device_far_down_the_list_is_dealt_the_hand_that_all_together_are_dealt() -> None:
    for unnamed in (None, 3):
        parameters = SlotResponse(1.0, Domain(0, 4), 2, 2, 2, unnamed, 4)
        places = np.arange(400)
        together = iter(parameters.lists(places, 9).tolist())
        for place in places:
            own = parameters.lists(np.array([place]), 9).tolist()
            assert own == ([next(together)] if parameters.names_objects(np.array([place]))[0] else [])
        assert next(together, None) is None
    assert parameters.lists(np.array([10**12]), 9).shape == (1, 2, 2)


def test_devices_that_never_report_leave_a_gap_and_nothing_more() -> None:
    mechanism, rng = CASES["slots, some unnamed"].build(), seeded(5)
    places = {"ann": 7, "ben": 2, "cy": 10**6, "di": 3}
    wires = {
        user: mechanism.report_one(said(place, nothing=False), OBJECTS, place=place, user=user, rng=rng)
        for user, place in places.items()
    }
    read = mechanism.collected(wires, OBJECTS, places).read()
    naming = [place for place in places.values() if (place + 1) % 3]
    assert read.lists.tolist() == mechanism.lists(np.array(naming), len(OBJECTS)).tolist()
    assert read.unnamed.tolist() == wires["ben"]["payload"]


# --- the golden vectors -------------------------------------------------------------------------------------


def test_the_wire_form_and_all_that_it_rests_on_stay_as_they_are() -> None:
    """If this fails on purpose: write the file anew, and think of the clients that go by the old one."""
    written = json.loads(wire_vectors.FILE.read_text(encoding="utf-8"))
    again = json.loads(wire_vectors.to_text(wire_vectors.vectors()))
    assert set(written) == set(again)
    for name, vectors in written.items():
        assert vectors == again[name], name
    covered = {vector["mechanism"] for vector in written["reports"]}
    assert covered == {case.mechanism for case in CASES.values()} - {"mf"}


def test_the_vectors_levels_are_those_of_the_law() -> None:
    for vector in json.loads(wire_vectors.FILE.read_text(encoding="utf-8"))["levels"]:
        parameters = SlotResponse(1.0, Domain(0, vector["answers"] - 1), levels=vector["levels"])
        for code, lower, numerator, denominator in vector["rounded"]:
            chances = parameters.rounding[code]
            assert chances[lower] == pytest.approx(1 - numerator / denominator)
            assert chances[lower + 1 :].sum() == pytest.approx(numerator / denominator)


# --- hostile devices ----------------------------------------------------------------------------------------

NO_PAYLOAD: list[Any] = [
    *(None, True, 1, 1.5, "text", {}, [], {"v": 1}),
    {"v": 1, "mechanism": "MINE", "payload": "FINE", "more": 1},
    {"v": 2, "mechanism": "MINE", "payload": "FINE"},
    {"v": 1.0, "mechanism": "MINE", "payload": "FINE"},
    {"v": True, "mechanism": "MINE", "payload": "FINE"},
    {"v": "1", "mechanism": "MINE", "payload": "FINE"},
    {"v": 1, "mechanism": "another", "payload": "FINE"},
    {"v": 1, "mechanism": ["MINE"], "payload": "FINE"},
    {"v": 1, "mechanism": None, "payload": "FINE"},
]


def filled(template: Any, wire: dict[str, Any]) -> Any:
    """The template with the words MINE and FINE replaced by what a true device sends."""
    if not isinstance(template, dict):
        return template
    words = {"MINE": wire["mechanism"], "FINE": wire["payload"]}
    return {
        key: words.get(value, value) if isinstance(value, str) else value for key, value in template.items()
    }


@every_case
@pytest.mark.parametrize("template", NO_PAYLOAD, ids=str)
def test_envelopes_that_no_device_sends_are_refused(case: Description, template: Any) -> None:
    if case.mechanism == "mf":
        return
    mechanism = case.build()
    wire = mechanism.report_one(said(0, nothing=False), OBJECTS)
    mechanism.from_wire(wire, OBJECTS)
    with pytest.raises(InputError):
        mechanism.from_wire(filled(template, wire), OBJECTS)


NO_NUMBERS: list[Any] = [
    None,
    True,
    0.0,
    1.5,
    float("nan"),
    "1",
    [],
    [0],
    10**30,
    -(10**30),
    2**63,
    -(2**63) - 1,
]


@every_sent_case
@pytest.mark.parametrize("number", NO_NUMBERS, ids=str)
def test_numbers_that_no_device_sends_are_refused(case: Description, number: Any) -> None:
    mechanism = case.build()
    wire = mechanism.report_one(said(0, nothing=False), OBJECTS)
    for at in range(len(wire["payload"])):
        bad = wire | {"payload": [number if k == at else sent for k, sent in enumerate(wire["payload"])]}
        with pytest.raises(InputError):
            mechanism.from_wire(bad, OBJECTS)


@every_sent_case
def test_bounds_are_tight_where_they_are_known_and_lengths_are_exact(case: Description) -> None:
    mechanism = case.build()
    for place in (0, 1, 2):
        bounds = mechanism.bounds(len(OBJECTS), place)
        for ends in zip(*bounds, strict=True):
            wire = {"v": 1, "mechanism": mechanism.name, "payload": list(ends)}
            assert mechanism.from_wire(wire, OBJECTS, place=place).tolist() == list(ends)
            for at, end in enumerate(ends):
                beyond = list(ends)
                beyond[at] = end + (1 if end == bounds[at][1] else -1)
                with pytest.raises(InputError):
                    mechanism.from_wire(wire | {"payload": beyond}, OBJECTS, place=place)
            for wrong in (list(ends)[:-1], [*ends, 0]):
                with pytest.raises(InputError):
                    mechanism.from_wire(wire | {"payload": wrong}, OBJECTS, place=place)


@every_claims_case
def test_claims_that_no_device_sends_are_refused(case: Description) -> None:
    mechanism = case.build()
    name, other = public_objects(OBJECTS).to_list()[:2]
    farthest = mechanism.grid.farthest(mechanism.largest_deviation)
    assert farthest < 2**53
    for fine in ([[name, farthest]], [[name, -farthest], [other, 0]]):
        wire = {"v": 1, "mechanism": mechanism.name, "payload": fine}
        assert mechanism.from_wire(wire, OBJECTS) == dict(map(tuple, fine))
    refused: list[Any] = [
        *([], {}, "text", None, [name, 1], [[name]], [[name, 1, 1]], [(name, 1)], [{name: 1}]),
        *([[name, farthest + 1]], [[name, -farthest - 1]], [[name, 1], [name, 1]], [["nowhere", 1]]),
        *([[1, 1]], [[None, 1]], [[True, 1]], [[[name], 1]]),
        *([[name, number]] for number in NO_NUMBERS),
        [[each, 1] for each in public_objects(OBJECTS)] + [[name, 1]],
    ]
    for wrong in refused:
        with pytest.raises(InputError):
            mechanism.from_wire({"v": 1, "mechanism": mechanism.name, "payload": wrong}, OBJECTS)


# --- what a device is given ---------------------------------------------------------------------------------


@every_case
def test_what_a_device_cannot_use_is_refused_and_not_quoted(case: Description) -> None:
    if case.mechanism == "mf":
        return
    mechanism = case.build()
    unusable: list[Any] = [
        {"zebra": float("nan")},
        {"zebra": float("inf")},
        {"zebra": "secret"},
        {"zebra": None},
        {"é": 1.0, "e\u0301": 1.0},
        {"zebra": [1.0]},
    ]
    for given in unusable:
        with pytest.raises(InputError) as refused:
            mechanism.report_one(given, OBJECTS)
        assert "secret" not in str(refused.value)
        assert "zebra" not in str(refused.value)
    if case.about == "claims":
        for wrong in ({}, {"nowhere": 1.0}):
            with pytest.raises(InputError):
                mechanism.report_one(wrong, OBJECTS)
        assert mechanism.report_one({"nowhere": 1.0})["payload"][0][0] == "nowhere"
        return
    unlisted: list[Any] = [{"nowhere": 1.0}, {len(OBJECTS): 1.0}, {-1: 1.0}, {0: 1.0, OBJECTS[0]: 1.0}]
    for given in unlisted:
        with pytest.raises(InputError, match="not listed, or two"):
            mechanism.report_one(given, OBJECTS)
    for objects in ([], ["a", "a"], ["é", "e\u0301"], ["a", 1], [None], [""]):
        with pytest.raises(InputError):
            mechanism.report_one({}, objects)
    for place in (-1, 1.5, "0", 2**63):
        with pytest.raises(ParameterError, match="place"):
            mechanism.report_one({}, OBJECTS, place=place)


def test_objects_may_be_whole_numbers_and_then_keys_are_names() -> None:
    mechanism = CASES["cell-response"].build()
    objects = list(range(10, 18))
    sent = mechanism.report_one({12: 3.0, 17: 1.0}, objects, user="a", rng=seeded(1))
    table = pl.Series(objects)
    assert public_objects(table).to_list() == objects
    assert sent == mechanism.report_one({17: 1.0, 12: 3.0}, objects[::-1], user="a", rng=seeded(1))
    with pytest.raises(InputError):
        mechanism.report_one({0: 1.0}, objects)


def _nfc(name: str) -> str:
    return str(public_objects([name])[0])


def _by_index(given: dict[str, float]) -> dict[int, float]:
    return {OBJECTS.index(name): value for name, value in given.items()}
