"""Frequency oracles on one device: descriptions, one report, the wire, and what a hostile device sends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import device_twin as twin
import numpy as np
import pytest
from oracle_vectors import FILE, vectors
from sparse_answers import follows

from crowdveil.audit.registry import AUDITS
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.bloom import Bloom
from crowdveil.local.krr import KRR
from crowdveil.local.olh import OLH
from crowdveil.local.oracle import Oracle
from crowdveil.local.oracle_registry import ORACLES
from crowdveil.local.oue import OUE
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import seeded
from crowdveil.registry import UnknownName
from crowdveil.synthesis.questions import Question

PAGE = Path(__file__).parents[2] / "docs" / "guarantees" / "records.md"
AUDITED_AS = {"split-krr": "samprivsyn"}  # the others under their own names
EACH: list[Oracle] = [
    *(KRR(1.0, 9), OUE(1.0, 9), OUE(1.0, 16), OLH(1.0, 9), Bloom(1.0, 9), SplitKRR.of(1.0, (3, 3))),
]
each_oracle = pytest.mark.parametrize("oracle", EACH, ids=str)
GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))


# --- the registry ------------------------------------------------------------------------------------------


def test_every_oracle_is_registered_audited_and_documented_under_its_name() -> None:
    assert {type(oracle).name for oracle in EACH} == set(ORACLES)
    for name, kind in ORACLES.items():
        assert kind.name == name
        assert AUDITED_AS.get(name, name) in AUDITS
        assert f"`{kind.__name__}(" in PAGE.read_text(encoding="utf-8")


@each_oracle
def test_a_description_is_json_and_builds_an_oracle_that_draws_the_same(oracle: Oracle) -> None:
    again = Oracle.from_dict(json.loads(json.dumps(oracle.to_dict())))
    assert again == oracle
    assert again.promise() == oracle.promise()
    assert again.weights() == oracle.weights()
    codes = np.arange(300) % 9
    assert (again.perturb(codes, rng=seeded(1)) == oracle.perturb(codes, rng=seeded(1))).all()


@pytest.mark.parametrize("epsilon", [0.3, 1 / 3, 2.7, 9.1])
def test_split_epsilons_stay_as_realised(epsilon: float) -> None:
    """Columns of different sizes realise different epsilons, and none of them moves when built again."""
    oracle = SplitKRR.of(epsilon, (2, 41, 7))
    assert Oracle.from_dict(oracle.to_dict()) == oracle
    assert oracle.epsilon <= epsilon
    assert oracle.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    "description",
    [
        None,
        [],
        {"mechanism": "krr"},
        {"mechanism": "other", "parameters": {"epsilon": 1.0, "cells": 9}},
        {"mechanism": 3, "parameters": {}},
        {"mechanism": "krr", "parameters": []},
        {"mechanism": "krr", "parameters": {"epsilon": 1.0, "cells": 9, "more": 1}},
        {"mechanism": "krr", "parameters": {"epsilon": 1.0}},
        {"mechanism": "krr", "parameters": {"epsilon": True, "cells": 9}},
        {"mechanism": "krr", "parameters": {"epsilon": "1", "cells": 9}},
        {"mechanism": "krr", "parameters": {"epsilon": 1.0, "cells": 9.0}},
        {"mechanism": "krr", "parameters": {"epsilon": 1.0, "cells": 10**9}},
        {"mechanism": "krr", "parameters": {"epsilon": 10**400, "cells": 9}},
        {"mechanism": "krr", "parameters": {"epsilon": 1.0, "cells": 9}, "more": 1},
        {"mechanism": "split-krr", "parameters": {"epsilons": [1.0], "sizes": [3, 3]}},
        {"mechanism": "split-krr", "parameters": {"epsilons": [], "sizes": []}},
        {"mechanism": "split-krr", "parameters": {"epsilons": [1.0, 1.0], "sizes": [3, True]}},
        {"mechanism": "split-krr", "parameters": {"epsilons": [1.0, 1.0], "sizes": [5000, 5000]}},
        {"mechanism": "split-krr", "parameters": {"epsilons": 1.0, "sizes": 3}},
        {"mechanism": "bloom", "parameters": {"epsilon": 1.0, "cells": 9, "bits": 7}},
    ],
    ids=str,
)
def test_what_describes_no_oracle_is_refused(description: Any) -> None:
    with pytest.raises(ParameterError):
        Oracle.from_dict(description)


def test_an_unknown_oracle_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(UnknownName, match="there is no oracle 'grr'; there are krr, oue, olh"):
        ORACLES["grr"]


# --- one device --------------------------------------------------------------------------------------------


@each_oracle
def test_one_report_is_the_first_of_many(oracle: Oracle) -> None:
    for seed in range(20):
        one = oracle.report_one(seed % 9, rng=seeded(seed))
        many = oracle.perturb(np.full(5, seed % 9), rng=seeded(seed))
        assert np.array_equal(one, many[0])


def test_reports_of_devices_with_streams_of_their_own_follow_the_law_of_many() -> None:
    """4,000 devices, each from its own stream; the law is the one that bulk reports are tested against."""
    krr, oue, split = KRR(1.0, 4), OUE(1.0, 3), SplitKRR.of(2.0, (2, 3))
    parts = [seeded(3).part(f"device {place}") for place in range(4000)]
    law = np.array([float(chance) for chance in krr.exact_law()[2]])
    told = np.array([krr.report_one(2, rng=part) for part in parts])
    assert follows(np.bincount(told, minlength=4), law)
    law = np.array([float(chance) for chance in oue.exact_law()[1]])
    told = np.array([oue.report_one(1, rng=part)[0] for part in parts])
    assert follows(np.bincount(told, minlength=8), law)
    joint = np.kron(*([float(x) for x in each.exact_law()[1]] for each in split.responses))
    told = np.array([split.report_one(4, rng=part) for part in parts])
    assert follows(split.support(told), joint)


def test_reports_of_olh_devices_follow_the_law_given_their_seeds() -> None:
    oracle, parts = OLH(1.0, 20), [seeded(4).part(f"device {place}") for place in range(4000)]
    told = np.array([oracle.report_one(17, rng=part) for part in parts])
    past = (told[:, 1].astype(np.int64) - oracle.hashed(told[:, 0], 17)) % oracle.values
    law = [oracle.response.keep_chance] + [oracle.response.other_chance] * (oracle.values - 1)
    assert follows(np.bincount(past, minlength=oracle.values), np.array([float(x) for x in law]))
    assert np.unique(told[:, 0]).size > 3990


def test_without_a_seed_devices_differ() -> None:
    assert len({OLH(1.0, 9).report_one(3).tobytes() for _ in range(20)}) == 20


@pytest.mark.parametrize("code", [77, -77, 77.0, "77", True, None])
@each_oracle
def test_a_code_outside_the_table_is_refused_without_a_word_about_it(oracle: Oracle, code: Any) -> None:
    with pytest.raises(InputError) as refused:
        oracle.report_one(code, rng=seeded(1))
    assert "77" not in str(refused.value)


# --- the wire ----------------------------------------------------------------------------------------------


@each_oracle
def test_reports_come_back_from_json_and_are_counted_as_they_were(oracle: Oracle) -> None:
    sent = [oracle.report_one(place % 9, rng=seeded(place)) for place in range(100)]
    wires = [json.loads(json.dumps(oracle.to_wire(report))) for report in sent]
    assert all(wire.keys() == {"v", "mechanism", "payload"} for wire in wires)
    received = [oracle.from_wire(wire) for wire in wires]
    assert (np.stack(received) == np.stack(sent)).all()
    assert np.stack(received).dtype == np.stack(sent).dtype
    assert (oracle.support(np.stack(received)) == oracle.support(np.stack(sent))).all()


HOSTILE: list[tuple[Oracle, Any]] = [
    *(
        (KRR(1.0, 9), payload)
        for payload in (9, -1, 2**70, 3.0, True, "3", None, [3], {"cell": 3}, float("nan"))
    ),
    *(
        (OUE(1.0, 9), payload)
        for payload in ("AAA", "AAI=", "AAE", "AAE=\n", " AAE=", "AAF=", "!!!=", "AAAA")
    ),
    *((OUE(1.0, 9), payload) for payload in ("", "A" * 10**6, b"AAE=", 1, None, ["AAE="], "AAé=", "_-E=")),
    *(
        (OLH(1.0, 9), payload)
        for payload in ([2**32, 0], [-1, 0], [5, 4], [5, -1], [5], [5, 1, 1], [], [5, 1.0])
    ),
    *(
        (OLH(1.0, 9), payload)
        for payload in ([True, 1], ["5", 1], (5, 1), {"seed": 5, "value": 1}, None, "5,1")
    ),
    *((Bloom(1.0, 9), payload) for payload in ("AAAAAAAAAA==", "AAAAAAAAAAAA", "AAAAAAAAAAB=", 0, None)),
    *(
        (SplitKRR.of(1.0, (3, 3)), payload)
        for payload in ([3, 0], [0, 3], [0], [0, 0, 0], [0, True], [0, 1.0], 4)
    ),
]


@pytest.mark.parametrize(("oracle", "payload"), HOSTILE, ids=lambda given: str(given)[:30])
def test_a_payload_that_no_device_sends_is_refused(oracle: Oracle, payload: Any) -> None:
    with pytest.raises(InputError):
        oracle.from_wire({"v": 1, "mechanism": oracle.name, "payload": payload})


@pytest.mark.parametrize(
    "change",
    [{"v": 2}, {"v": "1"}, {"v": True}, {"v": 1.0}, {"mechanism": "oue"}, {"mechanism": None}, {"more": 1}],
    ids=str,
)
def test_an_envelope_of_another_kind_is_refused(change: dict[str, Any]) -> None:
    good = {"v": 1, "mechanism": "krr", "payload": 3}
    assert KRR(1.0, 9).from_wire(good) == 3
    with pytest.raises(InputError):
        KRR(1.0, 9).from_wire(good | change)
    for wire in (None, 3, [good], "x", {"v": 1, "mechanism": "krr"}):
        with pytest.raises(InputError):
            KRR(1.0, 9).from_wire(wire)


# --- golden vectors ----------------------------------------------------------------------------------------


def test_the_golden_vectors_are_what_is_drawn_today() -> None:
    assert json.loads(json.dumps(vectors())) == GOLDEN
    assert {each["oracle"]["mechanism"] for each in GOLDEN["reports"]} == set(ORACLES)


@pytest.mark.parametrize("vector", GOLDEN["reports"], ids=lambda vector: str(vector["oracle"]))
def test_a_device_that_knows_nothing_but_words_and_weights_sends_the_same(vector: dict[str, Any]) -> None:
    report = vector["report"]
    assert (report["v"], report["mechanism"]) == (1, vector["oracle"]["mechanism"])
    assert (
        twin.payload(vector["oracle"], vector["weights"], vector["code"], vector["words"])
        == report["payload"]
    )
    assert Oracle.from_dict(vector["oracle"]).weights() == vector["weights"]


def test_hashes_and_joint_codes_are_those_of_whole_numbers() -> None:
    for each in GOLDEN["hashes"]:
        assert twin.hashed(each["seed"], each["code"]) * each["values"] >> 32 == each["value"]
    for each in GOLDEN["joint_codes"]:
        question = each["question"]
        code = 0
        for column, size in zip(question["columns"], question["sizes"], strict=True):
            code = code * size + each["record"][column]
        assert code == each["code"]
        assert Question.from_dict(question).code(each["record"]) == code


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [0]},
        {"columns": [0, 0]},
        {"columns": [0, -1]},
        {"columns": [0, 1.0]},
        {"columns": None},
        {"sizes": [3, 4]},
        {"sizes": [3, True]},
        {"oracle": {"mechanism": "krr", "parameters": {"epsilon": 1.0, "cells": 14}}},
        {"oracle": "krr"},
        {"weights": {"symbols": 15, "keep": "9", "other": "1"}},
        {"weights": None},
    ],
    ids=str,
)
def test_a_question_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    """Weights that are not those of epsilon would have a device draw from another law than is promised."""
    published = Question((0, 3), (3, 5), KRR(1.0, 15)).to_dict()
    assert Question.from_dict(published).oracle == KRR(1.0, 15)
    with pytest.raises(InputError):
        Question.from_dict(published | change)


@pytest.mark.parametrize("record", [(3, 0, 0, 0), (0, 0, 0, 5), (-1, 0, 0, 0), (0, 0), ()])
def test_a_record_outside_its_domains_has_no_code(record: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="outside"):
        Question((0, 3), (3, 5), KRR(1.0, 15)).report_one(record)
