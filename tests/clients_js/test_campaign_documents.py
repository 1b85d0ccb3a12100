"""The JavaScript client computes what a campaign promises, and refuses a document that says otherwise."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from node_side import ask, needs_node

from campaign_cases import REQUESTS, SCHEMA, answer, asked, document
from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked, Kind
from crowdveil.campaigns.sensing import Sensing
from crowdveil.campaigns.sparse import Sparse
from crowdveil.randomness import seeded

pytestmark = needs_node
PER_USER = "gaussian-exponential-per-user"
SENSING = {"title": "T", "kind": "sensing", "objects": ["a", "b", "c"], "range": [0, 10]}
WIDE = {"columns": {f"c{at}": {"values": [f"v{k}" for k in range(2 + 3 * at % 11)]} for at in range(12)}}
NUMBERED = {
    "columns": {name: {"values": list("abcdefg"[: 2 + at])} for at, name in enumerate(("b", "10", "2", "a"))}
}
MORE: dict[str, dict[str, Any]] = {
    "laplace, odd epsilon": {**SENSING, "epsilon": 0.7000000000000001, "options": {"resolution": 0.37}},
    "laplace, too many digits": {**SENSING, "epsilon": 0.123456789, "range": [-3, 7.7], "waves": 7},
    "laplace, one object": {**SENSING, "epsilon": 30, "objects": ["a"]},
    "rate": {**SENSING, "mechanism": "gaussian-exponential", "options": {"lambda2": 0.0123}, "waves": 3},
    "own ranges, rate": {
        **SENSING,
        "range": None,
        "objects": [{"name": "z", "range": [-1, 4], "unit": "m"}, {"name": "Ä", "range": [0, 1e-3]}],
        "epsilon": 0.3,
    },
    "per user, floor": {**SENSING, "mechanism": PER_USER, "options": {"lambda2": 0.01, "floor": 900.0}},
    "per user, nothing left of waves": {
        **SENSING,
        "mechanism": PER_USER,
        "options": {"lambda2": 0.01, "floor": 5.0, "delta": 0.004},
        "waves": 300,
    },
    "per user, weak": {**SENSING, "mechanism": PER_USER, "options": {"lambda2": 1e-5}},
    "per user, hardly anything": {
        **SENSING,
        "mechanism": PER_USER,
        "options": {"lambda2": 1.0, "insist": True},
    },
    "three symbols of many": {
        "title": "T",
        "kind": "sparse",
        "mechanism": "three-symbols",
        "range": [-3, 100],
        "epsilon": 0.123456789,
        "objects": [str(at) for at in range(1000)],
        "waves": 12,
    },
    "slots of many": {
        "title": "T",
        "kind": "sparse",
        "unit": "person",
        "range": [0, 9],
        "epsilon": 8,
        "objects": [str(at) for at in range(300)],
        "people": 5000,
    },
    **{
        f"wide {name} {epsilon}": {
            "title": "T",
            "kind": "records",
            "schema": WIDE,
            "mechanism": name,
            "epsilon": epsilon,
        }
        for name, epsilon in (
            *(("crowdveil", 0.1), ("crowdveil", 1.2345678901234567), ("crowdveil", 6)),
            *(("samprivsyn", 1.2345678901234567), ("calm", 3), ("independent", 0.1)),
        )
    },
    "numbered columns": {"title": "T", "kind": "records", "schema": NUMBERED, "epsilon": 2, "waves": 2},
    "calm of three": {
        "title": "T",
        "kind": "records",
        "schema": SCHEMA,
        "mechanism": "calm",
        "epsilon": 2,
        "options": {"columns": 3},
    },
    "many cells": {
        "title": "T",
        "kind": "records",
        "schema": {"columns": {name: {"values": [str(k) for k in range(900)]} for name in "ab"}},
        "mechanism": "calm",
        "epsilon": 3.3,
    },
}
REMARKS = ("assumptions", "not_promised")


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    """The public document of each campaign."""
    return {name: document(asked(name)) for name in REQUESTS} | {
        name: document(Campaign.asked(request)) for name, request in MORE.items()
    }


OTHERS: tuple[Any, ...] = (0.5, None, "x")


def read(documents: list[Any]) -> list[Any]:
    """What JavaScript makes of documents."""
    return ask([{"do": "campaign", "document": json.dumps(each)} for each in documents])


def refusals(documents: list[Any]) -> list[bool]:
    return ["refused" in each for each in read(documents)]


def test_every_promise_is_computed_and_found_true(documents: dict[str, dict[str, Any]]) -> None:
    for (name, public), made in zip(documents.items(), read([*documents.values()]), strict=True):
        stated = {key: value for key, value in public["guarantee"].items() if key not in REMARKS}
        assert made == {"guarantee": stated}, name


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            yield from leaves(inner, (*path, key))
        elif not {*path, key} & {*REMARKS}:
            yield (*path, key), inner


def edited(public: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(public)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


SMALL = [name for name in (*REQUESTS, *MORE) if "wide" not in name and "many" not in name]


def test_no_number_and_no_sentence_of_a_promise_can_be_edited(documents: dict[str, dict[str, Any]]) -> None:
    for name in SMALL:
        public = documents[name]
        stated = [(path, value) for path, value in leaves(public) if path[0] == "guarantee"]
        assert len(stated) > 10
        edits = [edited(public, path, other) for path, value in stated for other in OTHERS if other != value]
        edits += [
            edited(public, path, f"{value} Trust us!") for path, value in stated if isinstance(value, str)
        ]
        slightly = [(path, value) for path, value in stated if isinstance(value, float) and value]
        # An epsilon at a floor is checked by an integral in doubles, everything else to the last bit.
        factors = (0.999,) if public["mechanism"]["parameters"].get("floor") else (0.999, 1 - 2**-40)
        edits += [edited(public, path, value * factor) for path, value in slightly for factor in factors]
        for changed, refused in zip(edits, refusals(edits), strict=True):
            assert refused, (name, changed["guarantee"])


def test_a_parameter_cannot_be_edited_without_its_promise(documents: dict[str, dict[str, Any]]) -> None:
    for name in SMALL:
        public = documents[name]
        parameters = public["mechanism"]["parameters"]
        edits = [
            edited(public, ("waves",), public["waves"] + 1),
            edited(public, ("unit",), "person" if public["unit"] != "person" else "claim"),
            edited(public, ("mechanism", "wire"), 2),
            edited(public, ("mechanism", "name"), "lp"),
            edited(public, ("admission",), "closed"),
            edited(public, ("mechanism", "parameters"), {**parameters, "more": 1}),
            edited(public, ("title",), "a\nb"),
        ]
        if "range" in parameters:
            low, high = parameters["range"]
            edits.append(edited(public, ("mechanism", "parameters", "range"), [low, high + 1]))
        for key in ("epsilon", "rate", "floor"):
            if parameters.get(key):
                edits += [
                    edited(public, ("mechanism", "parameters", key), parameters[key] * f) for f in (1.01, 2)
                ]
        for changed, refused in zip(edits, refusals(edits), strict=True):
            assert refused, (name, changed)


def test_half_the_noise_under_the_same_promise_is_refused(documents: dict[str, dict[str, Any]]) -> None:
    """The parameters that make the noise are the ones that the promise is computed from."""
    for name in ("per user, floor", "per user, weak"):
        parameters = documents[name]["mechanism"]["parameters"]
        keys = ("floor",) if parameters.get("floor") else ("rate",)
        for key in keys:
            for factor in (0.5, 0.99, 1.01, 2.0):
                changed = edited(documents[name], ("mechanism", "parameters", key), parameters[key] * factor)
                assert refusals([changed]) == [True], (name, key, factor)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", '{"kind": "sensing"}', '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}'],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    assert ask([{"do": "campaign", "document": text}]) == [{"refused": "document"}]


ANYTHING: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**53,
    1e300,
    "",
    "x",
    "é",
    "constructor",
    [],
    [1],
    [[]],
    {},
    {"x": {}},
)


def test_a_document_with_anything_anywhere_is_refused_or_what_python_takes(
    documents: dict[str, dict[str, Any]],
) -> None:
    rng = np.random.default_rng(18)
    edits = []
    for name in SMALL:
        public = documents[name]
        paths = [path for path, _ in leaves(public)]
        for _ in range(40):
            path = paths[rng.integers(len(paths))]
            edits.append(
                edited(public, path[: rng.integers(1, len(path) + 1)], ANYTHING[rng.integers(len(ANYTHING))])
            )
    accepted = [each for each, refused in zip(edits, refusals(edits), strict=True) if not refused]
    assert 0 < len(accepted) < len(edits) // 4
    for public in accepted:
        Campaign.from_dict(public)


def test_the_same_words_give_the_same_reports_in_campaigns(documents: dict[str, dict[str, Any]]) -> None:
    """Whole reports: clamped, rounded, drawn in the order of names, in the form in which they are sent."""
    calls: list[dict[str, Any]] = []
    expected: list[Any] = []
    for public in documents.values():
        kind = Campaign.kept(public).kind
        if not isinstance(kind, Sensing | Sparse):
            continue
        campaign = Campaign("T", kind)
        mechanism: Any = kind.claim_mechanism if isinstance(kind, Sensing) else kind.cell_mechanism
        for place in (0, 1, 2, 5):
            rng = seeded(place)
            key, nonces = rng.streams([""], purpose=mechanism.method)
            said = answer(campaign, place)
            call = {
                "do": "report",
                "document": json.dumps(public),
                "answer": said,
                "asked": {"place": place, "round": 0},
                "stream": {"key": key.tolist(), "nonce": nonces[0].tolist()},
            }
            calls.append(call)
            nothing = not said and isinstance(kind, Sensing)
            expected.append(
                {"refused": "answer"} if nothing else kind.report_one(said, Asked(place), rng=rng)
            )
    assert ask(calls) == expected


def test_a_server_understands_what_a_device_of_a_records_campaign_sends(
    documents: dict[str, dict[str, Any]],
) -> None:
    calls: list[dict[str, Any]] = []
    senders: list[tuple[Kind, Asked]] = []
    for name in SMALL:
        public = documents[name]
        if public["kind"] != "records":
            continue
        campaign = Campaign.kept(public)
        for place in range(6):
            where = Asked(place)
            question = campaign.kind.question(1, where, {})
            said = {column.name: column.labels()[-1] for column in campaign.kind.schema.columns}  # type: ignore[attr-defined]
            call = {
                "do": "report",
                "document": json.dumps(public),
                "answer": said,
                "asked": {"place": place, "round": 0, "question": question},
                "stream": {"key": [place] * 8},
            }
            calls.append(call)
            senders.append((campaign.kind, where))
    for (kind, where), report in zip(senders, ask(calls), strict=True):
        assert kind.receive(report, 1, where, {})


def test_a_question_that_costs_more_or_contradicts_itself_is_not_answered(
    documents: dict[str, dict[str, Any]],
) -> None:
    public = documents["records"]
    campaign = Campaign.from_dict(public)
    said = {"job": "cook", "town": "x", "age": 20}
    question = campaign.kind.question(1, Asked(0), {})
    dearer = asked("records", epsilon=1.001).kind.question(1, Asked(0), {})
    assert question is not None
    weights = {**question["weights"]}
    weights[max(weights)] = str(int(weights[max(weights)]) + 1)
    questions = [
        dearer,
        None,
        {},
        {**question, "weights": weights},
        {**question, "weights": {}},
        {**question, "columns": [9] * len(question["columns"])},
        {**question, "sizes": [size + 1 for size in question["sizes"]]},
        {**question, "oracle": {**question["oracle"], "mechanism": "none"}},
    ]
    calls = [
        {
            "do": "report",
            "document": json.dumps(public),
            "answer": said,
            "asked": {"place": 0, "round": 0, "question": each},
            "stream": {"key": [1] * 8},
        }
        for each in [*questions, question]
    ]
    *refused, answered = ask(calls)
    assert all("refused" in each for each in refused), refused
    assert answered["v"] == 1


@pytest.mark.slow_audit
def test_no_true_promise_about_records_is_refused() -> None:
    """Which questions there are, and so the largest epsilon among them, is the same over many schemas."""
    rng = np.random.default_rng(3)
    public: list[dict[str, Any]] = []
    while len(public) < 200:
        sizes = rng.integers(2, rng.choice([3, 6, 13, 60]), rng.integers(2, 9)).tolist()
        columns = {f"c{at}": {"values": [str(k) for k in range(size)]} for at, size in enumerate(sizes)}
        request = {
            "mechanism": str(rng.choice(["crowdveil", "samprivsyn", "calm", "independent"])),
            "epsilon": float(np.exp(rng.uniform(np.log(0.05), np.log(20)))),
        }
        schema = {"kind": "records", "title": "T", "schema": {"columns": columns}}
        public.append(document(Campaign.asked({**schema, **request})))
    assert not any(refusals(public))


@pytest.mark.slow_audit
@pytest.mark.parametrize(
    ("rate", "floor", "delta"),
    [(1, 17.1, 1e-6), (1e-3, 5, 1e-6), (100, 0.5, 1e-9), (1e3, 400, 1e-20), (0.01, 1e-3, 0.005)],
)
def test_no_true_promise_of_a_floor_is_refused(rate: float, floor: float, delta: float) -> None:
    options = {"lambda2": rate, "floor": floor, "delta": delta}
    request = {**SENSING, "range": [0, 1], "mechanism": PER_USER, "options": options}
    assert refusals([document(Campaign.asked(request))]) == [False]
