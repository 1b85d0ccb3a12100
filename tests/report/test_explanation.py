"""Explanations: true figures, plain words, and certificates that contradict themselves are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.release.result import Release
from crowdveil.report.certificate import SCHEMA_VERSION, certificate, to_json
from crowdveil.report.explanation import Certificate, Explanation, explain, explanation, read_certificate

PURE = Guarantee(1.0, 0.0, "claim", "replace-one", "central", ("the range was declared",))
DENIABLE = Deniability(5, 4.0, "1, all weights are equal", "draws repeat until enough pass")
NOTHING = NoGuarantee("draws repeat until enough pass.")
CASES: dict[str, tuple[str, Promise, dict[str, Any], bool]] = {
    "basic": ("basic", PURE, {"epsilon": 1.0}, False),
    "user": (
        "certified",
        Guarantee(2.0, 0.0, "user", "add-remove", "central"),
        {"epsilon": 2.0, "unit": "user", "adjacency": "add-remove"},
        False,
    ),
    "delta": ("smoothed", Guarantee(0.5, 1e-6, "claim", "replace-one", "central"), {"delta": 1e-6}, False),
    "local": ("rr", Guarantee(1.0, 0.0, "cell", "replace-one", "local"), {}, False),
    "deniable": ("uniform", DENIABLE, {"k": 5, "gamma": 4.0, "require_k": True}, False),
    "nothing": ("priscrowd", NOTHING, {"k": 5, "gamma": 4.0, "require_k": False}, False),
    "seeded": ("basic", PURE, {"epsilon": 1.0}, True),
}


def made(case: str) -> dict[str, Any]:
    """The certificate of a release, as it stands in its file."""
    method, promise, parameters, seeded = CASES[case]
    release = Release(
        objects=pl.Series(["a"]),
        offsets=np.array([0, 0]),
        values=np.array([]),
        statuses=np.array([0], dtype=np.int8),
        method=method,
        parameters=parameters,
        promise=promise,
        seeded=seeded,
        synthetic=method != "basic",
    )
    written: dict[str, Any] = json.loads(to_json(certificate(release)))
    return written


def _write(folder: Path, value: Any) -> Path:
    path = folder / "certificate.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def _explained(promise: Promise) -> Explanation:
    return explanation(Certificate("0", "certified", False, True, promise, ()))


def _claim(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", "replace-one", "central")


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_that_we_write_can_be_read_and_explained(tmp_path: Path, case: str) -> None:
    path = _write(tmp_path, made(case))
    found = explain(str(path))
    assert found == explain(str(tmp_path))
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["kind"] == made(case)["promise"]["kind"]
    assert told["sentence"] == made(case)["promise"]["sentence"]
    assert told["differentially_private"] == (told["kind"] == "differential privacy")
    text = found.text()
    assert max(len(line) for line in text.splitlines()) <= 92
    for heading in ("Who is protected", "From whom", "How strongly", "What is not promised"):
        assert f"\n{heading}\n" in text
    flat = " ".join(text.split())
    for line in made(case)["not_promised"] if not told["seeded"] else []:
        assert line[1:] in flat


def test_a_certificate_comes_from_standard_input_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(json.dumps(made("basic")).encode())))
    assert explain("-").certificate.method == "basic"


WORDS = {
    "basic": [
        "each single claim with epsilon = 1. ",
        "counts as public",
        "Not from the collector",
        "at most 2.72 times as likely as it would have been had one claim said something else",
        "at most 73.2 % sure",
        "10 % ends with at most 23.2 %",
        "88.1 % for 2 claims, 99.4 % for 5 claims and almost 100 % for 20 claims",
        "The range was declared.",
        "somebody's own, with noise",
    ],
    "user": [
        "for each person with epsilon = 2. ",
        "Even whether they took part at all is hidden.",
        "had one person not been there at all",
        "moderate protection",
        "All that a person contributed is covered together",
    ],
    "delta": [
        "epsilon = 0.5, delta = 1e-06",
        "give or take a probability of 1e-06 (delta)",
        "the guess is right in 50 % of cases, with it in at most 62.3 %",
    ],
    "local": ["From everybody, the collector included", "20 answers"],
    "deniable": [
        "Plausible deniability with k = 5, and no differential privacy",
        "at most 50 %",
        "Differential privacy: draws repeat until enough pass.",
    ],
    "nothing": [
        "No differential privacy guarantee",
        "Nobody.",
        "There is no epsilon: draws repeat until enough pass.",
        "a value near 9 appears in 3 of 10 releases",
    ],
    "seeded": ["NOT PRIVATE", "must not be published", "Whoever knows or guesses the seed"],
}


@pytest.mark.parametrize("case", WORDS)
def test_an_explanation_says_what_matters(tmp_path: Path, case: str) -> None:
    flat = " ".join(explain(str(_write(tmp_path, made(case)))).text().split())
    for words in WORDS[case]:
        assert words in flat, words


@pytest.mark.parametrize("case", ["deniable", "nothing", "seeded"])
def test_without_a_guarantee_no_epsilon_is_told(tmp_path: Path, case: str) -> None:
    found = explain(str(_write(tmp_path, made(case))))
    assert "epsilon = " not in found.text().replace("epsilon0 = ", "")
    assert "sure" not in found.text()
    assert not {"epsilon", "level"} & found.figures.keys()


@given(epsilon=st.floats(0, 50), prior=st.sampled_from([0.5, 0.1, 0.01]))
def test_a_belief_is_bounded_by_bayes_rule(epsilon: float, prior: float) -> None:
    """The worst release is e^epsilon times as likely in one case as in the other."""
    (bound,) = [
        e["after_at_most"] for e in _explained(_claim(epsilon)).figures["examples"] if e["before"] == prior
    ]
    odds = prior / (1 - prior) * math.exp(epsilon)
    assert bound == pytest.approx(odds / (1 + odds), rel=1e-12)


@given(epsilon=st.floats(0, 20), delta=st.floats(0, 0.99))
def test_a_guess_is_bounded_by_the_worst_mechanism_of_that_epsilon_and_delta(
    epsilon: float, delta: float
) -> None:
    """Tell the case with probability delta, else randomize: that meets epsilon and delta exactly."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    right = delta + (1 - delta) * keep
    assert _explained(_claim(epsilon, delta)).figures["guess_right_at_most"] == pytest.approx(right, rel=1e-9)


@given(epsilon=st.floats(0, 3), delta=st.floats(0, 1e-3))
def test_several_claims_are_bounded_step_by_step(epsilon: float, delta: float) -> None:
    """One claim is replaced after the other: each step multiplies by e^epsilon and adds delta."""
    for row in _explained(_claim(epsilon, delta)).figures["together"]:
        added = 0.0
        for _ in range(row["count"]):
            added = math.exp(epsilon) * added + delta
        assert row["epsilon"] == pytest.approx(row["count"] * epsilon)
        assert row["delta"] == pytest.approx(min(1.0, added), rel=1e-6)


@given(epsilon=st.floats(1e-9, 13), delta=st.just(0.0) | st.floats(1e-12, 0.5))
def test_figures_in_the_text_are_rounded_up(epsilon: float, delta: float) -> None:
    found = _explained(_claim(epsilon, delta))
    words = " ".join(found.how_strongly)
    factor = float(words.split("at most ")[1].split(" times")[0])
    assert factor >= math.exp(epsilon) * (1 - 1e-12)
    assert factor <= math.exp(epsilon) * 1.02
    shown = words.split("at most ")[2]
    percent = 100.0 if shown.startswith("almost") else float(shown.split(" %")[0])
    assert 0 <= percent / 100 - found.figures["guess_right_at_most"] <= 0.001 + 1e-12


@pytest.mark.parametrize(
    ("epsilon", "level"),
    [
        (0.0, "strong"),
        (1.0, "strong"),
        (1.2, "moderate"),
        (2.9, "moderate"),
        (4.0, "weak"),
        (5.0, "hardly any"),
    ],
)
def test_a_level_follows_from_what_even_odds_can_become(epsilon: float, level: str) -> None:
    assert _explained(_claim(epsilon)).figures["level"] == level


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 20.0, 1000.0, 1.7e308])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 0.5])
def test_extreme_guarantees_are_explained_too(epsilon: float, delta: float) -> None:
    found = _explained(_claim(epsilon, delta))
    json.dumps(found.to_dict(), allow_nan=False)
    assert ("exactly as likely" in found.text()) == (epsilon == 0)
    assert ("more than a million times" in " ".join(found.text().split())) == (epsilon >= 20)


# Certificates that cannot be relied on


def _set(*keys: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(given: dict[str, Any]) -> None:
        for key in keys[:-1]:
            given = given[key]
        given[keys[-1]] = to

    return change


def _remove(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(given: dict[str, Any]) -> None:
        for key in keys[:-1]:
            given = given[key]
        del given[keys[-1]]

    return change


def _reworded(promise: Promise) -> Callable[[dict[str, Any]], None]:
    """Another promise with its right sentence: only the rest of the certificate gives it away."""
    return _set("promise", to=json.loads(json.dumps(promise.to_dict())))


EDITS: dict[str, tuple[str, Callable[[dict[str, Any]], None], str]] = {
    "a smaller epsilon": ("basic", _set("promise", "epsilon", to=0.1), "promise.sentence"),
    "another unit": ("basic", _set("promise", "unit", to="user"), "promise.sentence"),
    "another sentence": ("nothing", _set("promise", "sentence", to="All is well."), "promise.sentence"),
    "another k": ("deniable", _set("promise", "k", to=50), "promise.sentence"),
    "smaller, reworded": (
        "basic",
        _reworded(_claim(0.1)),
        "promise.epsilon is not the one of the parameters",
    ),
    "larger, reworded": ("basic", _reworded(_claim(1.5)), "promise.epsilon is above"),
    "smaller than certified": (
        "user",
        _reworded(Guarantee(1.0, 0.0, "user", "add-remove", "central")),
        "promise.epsilon is not",
    ),
    "unit, reworded": (
        "user",
        _reworded(Guarantee(2.0, 0.0, "record", "add-remove", "central")),
        "promise.unit is not",
    ),
    "adjacency, reworded": (
        "user",
        _reworded(Guarantee(2.0, 0.0, "user", "replace-one", "central")),
        "promise.adjacency is not",
    ),
    "a larger delta": ("delta", _reworded(_claim(0.5, 1e-3)), "promise.delta is above"),
    "an epsilon for paper mode": ("nothing", _reworded(PURE), "never promises an epsilon"),
    "deniability for paper mode": ("nothing", _reworded(DENIABLE), "not the one of the parameters"),
    "more deniability": (
        "deniable",
        _reworded(Deniability(50, 4.0, "1", "why")),
        "not the one of the parameters",
    ),
    "k of nothing": ("deniable", _reworded(Deniability(0, 4.0, "1", "why")), "numbers that none can have"),
    "a promise for a seed": ("seeded", _reworded(PURE), "a seeded release promises nothing"),
    "no longer seeded": ("seeded", _set("seeded", to=False), "entries that do not belong"),
    "no warning": ("seeded", _remove("warning"), "warning is missing"),
    "no unit": ("basic", _remove("promise", "unit"), "promise.unit is missing"),
    "no promise": ("basic", _remove("promise"), "promise is missing"),
    "something more": ("basic", _set("approved", to=True), "it has entries that do not belong"),
    "something more promised": (
        "basic",
        _set("promise", "k", to=5),
        "promise has entries that do not belong",
    ),
    "another kind": (
        "nothing",
        _set("promise", "kind", to="differential privacy"),
        "promise.epsilon is missing",
    ),
    "no such kind": ("nothing", _set("promise", "kind", to="perfect"), "promise.kind"),
    "a kind that is none": ("nothing", _set("promise", "kind", to=[]), "promise.kind"),
    "a list as promise": ("basic", _set("promise", to=[]), "promise is not"),
    "a truth as epsilon": ("basic", _set("promise", "epsilon", to=True), "promise.epsilon is not"),
    "text as epsilon": ("basic", _set("promise", "epsilon", to="1"), "promise.epsilon is not"),
    "a negative epsilon": ("basic", _set("promise", "epsilon", to=-1), "numbers that none can have"),
    "an epsilon beyond numbers": (
        "basic",
        _set("promise", "epsilon", to=10**400),
        "numbers that none can have",
    ),
    "a delta of one": ("basic", _set("promise", "delta", to=1), "numbers that none can have"),
    "no such unit": ("basic", _set("promise", "unit", to="planet"), "promise.unit is not"),
    "a list as unit": ("basic", _set("promise", "unit", to=["claim"]), "promise.unit is not"),
    "text as seeded": ("basic", _set("seeded", to="no"), "seeded is not"),
    "numbers not promised": ("basic", _set("not_promised", to=[1]), "not_promised"),
    "a terminal's escape": ("basic", _set("not_promised", to=["\x1b[2J"]), "not_promised"),
    "an escape assumed": ("basic", _set("promise", "assumptions", to=["\x1b[2J"]), "promise.assumptions"),
    "an escape as method": ("basic", _set("method", to="a\nb"), "method is not"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_certificate_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    case, edit, words = EDITS[kind]
    changed = made(case)
    edit(changed)
    path = _write(tmp_path, changed)
    with pytest.raises(InputError) as refused:
        read_certificate(str(path))
    assert str(refused.value).startswith(f"{path}: was edited or is damaged: ")
    assert words in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    changed = made("basic")
    changed["promise"]["epsilon"] = changed["parameters"]["epsilon"] = 1
    assert read_certificate(str(_write(tmp_path, changed))).promise == PURE


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 0, "1", None, [], True])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    path = _write(tmp_path, made("basic") | {"schema_version": version})
    with pytest.raises(InputError, match=f"another version; this crowdveil reads version {SCHEMA_VERSION}"):
        read_certificate(str(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("object,user,value\n", "not JSON"),
        ('{"schema_version": 1, "schema_version": 1}', "not JSON"),
        ('{"schema_version": NaN}', "not JSON"),
        ('{"schema_version": 1e999}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a crowdveil certificate"),
        ('"schema_version"', "not a crowdveil certificate"),
        ("{}", "not a crowdveil certificate"),
        (" " * 2**21, "is not a certificate"),
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_certificate(str(_write(tmp_path, text)))


@pytest.mark.parametrize("case", CASES)
def test_a_truncated_certificate_is_refused_wherever_it_was_cut(tmp_path: Path, case: str) -> None:
    whole = to_json(made(case)).rstrip()
    for length in range(0, len(whole), 37):
        with pytest.raises(InputError):
            read_certificate(str(_write(tmp_path, whole[:length])))


def test_bytes_that_are_no_text_a_missing_file_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no certificate\.json in this folder"):
        read_certificate(str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        read_certificate(str(tmp_path / "nowhere.json"))
    path = tmp_path / "certificate.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="is not a certificate"):
        read_certificate(str(path))
