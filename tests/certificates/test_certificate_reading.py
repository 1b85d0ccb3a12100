"""Certificates that contradict themselves, or are none, are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crowdveil.certificates.certificate import SCHEMA_VERSION, Certificate
from crowdveil.certificates.reading import read_text
from crowdveil.errors import InputError
from crowdveil.files import certificates as files
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.plain_data import to_json
from crowdveil.public_range import Range
from crowdveil.releases.certified import Certified
from crowdveil.releases.registry import RELEASES
from stated_certificates import CASES, DENIABLE, NOTHING, PATTERN, PURE, claim, made, stated, write

VERSION_1 = Path(__file__).parent / "version1"  # written by crowdveil when certificates had version 1


def read_certificate(path: str) -> Certificate:
    return files.read_certificate(path).certificate


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


def _all(*changes: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def change(given: dict[str, Any]) -> None:
        for one in changes:
            one(given)

    return change


def _reworded(promise: Promise) -> Callable[[dict[str, Any]], None]:
    """Another promise with its right sentence: only the rest of the certificate gives it away."""
    return _set("promise", to=json.loads(json.dumps(promise.to_dict())))


EDITS: dict[str, tuple[str, Callable[[dict[str, Any]], None], str]] = {
    "a smaller epsilon": ("basic", _set("promise", "epsilon", to=0.1), "promise.epsilon is not"),
    "another unit": ("basic", _set("promise", "unit", to="user"), "promise.unit is not"),
    "another k": ("deniable", _set("promise", "k", to=50), "promise.k is not"),
    "smaller, reworded": (
        "basic",
        _reworded(claim(0.1)),
        "promise.epsilon is not the one of the method",
    ),
    "larger, reworded": ("basic", _reworded(claim(1.5)), "promise.epsilon is not"),
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
    "a larger delta": ("delta", _reworded(claim(0.5, 1e-3)), "promise.epsilon is not"),
    "an epsilon for paper mode": ("nothing", _reworded(PURE), "promise.kind is not"),
    "deniability for paper mode": ("nothing", _reworded(DENIABLE), "promise.kind is not"),
    "more deniability": (
        "deniable",
        _reworded(Deniability(50, 4.0, "1", "why")),
        "promise.k is not",
    ),
    "k of nothing": ("deniable", _reworded(Deniability(0, 4.0, "1", "why")), "promise.k is not"),
    "a promise for a seed": ("seeded", _reworded(PURE), "what is seeded promises nothing"),
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
    "an epsilon beyond numbers": ("basic", _set("promise", "epsilon", to=10**400), "promise.epsilon is not"),
    "an epsilon asked beyond numbers": (
        "basic",
        _set("parameters", "epsilon", to=10**400),
        "parameters.epsilon is not",
    ),
    "a certified epsilon beyond numbers": (
        "user",
        _set("parameters", "epsilon", to=10**400),
        "parameters.epsilon is not",
    ),
    "an epsilon asked beyond methods": (
        "basic",
        _set("parameters", "epsilon", to=1e300),
        "epsilon must lie",
    ),
    "an epsilon asked in a list": (
        "basic",
        _set("parameters", "epsilon", to=[1.0]),
        "parameters.epsilon is not",
    ),
    "no epsilon asked": ("basic", _set("parameters", "epsilon", to=None), "parameters.epsilon is not"),
    "a delta asked beyond numbers": ("delta", _set("parameters", "delta", to=10**400), "parameters.delta is"),
    "a delta asked that is text": ("delta", _set("parameters", "delta", to="1"), "parameters.delta is not"),
    "a smaller delta": ("delta", _reworded(claim(0.5, 1e-9)), "promise.epsilon is not the one"),
    "another certified delta": (
        "gaussian",
        _set("parameters", "delta", to=1e-5),
        "promise.delta is not the one of the method",
    ),
    "a certified delta of one": ("gaussian", _set("parameters", "delta", to=1), "delta must be"),
    "a delta for claims": ("gaussian", _set("parameters", "unit", to="claim"), "only for unit user"),
    "no cap": ("gaussian", _set("parameters", "cap", to=None), "is not chosen"),
    "a cap beyond numbers": ("gaussian", _set("parameters", "cap", to=10**400), "parameters.cap is not"),
    "no such estimator": ("user", _set("parameters", "estimator", to="best"), "parameters.estimator is not"),
    "an estimator in a list": ("user", _set("parameters", "estimator", to=["bayes"]), "parameters.estimator"),
    "a number as background": (
        "user",
        _set("parameters", "background", to=1),
        "parameters.background is not",
    ),
    "a background of histograms": (
        "gaussian",
        _set("parameters", "background", to=True),
        "background is for bayes",
    ),
    "all for reliability": ("gaussian", _set("parameters", "reliability", to=1), "reliability must be"),
    "reliability for bayes": ("user", _set("parameters", "reliability", to=0.5), "reliability is for"),
    "a range of one number": ("user", _set("parameters", "range", to=[1]), "parameters.range is not"),
    "a range of lists": ("user", _set("parameters", "range", to=[[], {}]), "parameters.range is not"),
    "a range backwards": ("user", _set("parameters", "range", to=[10, 0]), "range"),
    "no estimator": ("user", _remove("parameters", "estimator"), "parameters.estimator is missing"),
    "another parameter": ("user", _set("parameters", "k", to=1), "parameters has entries"),
    "nobody to trust": (
        "basic",
        _reworded(Guarantee(1.0, 0.0, "claim", "replace-one", "local")),
        "promise.trust is not",
    ),
    "users for claims": (
        "basic",
        _reworded(Guarantee(1.0, 0.0, "user", "replace-one", "central")),
        "promise.unit is not",
    ),
    "called synthetic": ("basic", _set("synthetic", to=True), "synthetic is not"),
    "no promise where there is one": ("user", _reworded(NOTHING), "promise.kind is not"),
    "a k beyond numbers": (
        "deniable",
        _all(
            _reworded(Deniability(10**400, 4.0, "1", "why")),
            _set("parameters", "k", to=10**400),
        ),
        "is not what belongs there",
    ),
    "a gamma beyond numbers": (
        "deniable",
        _set("promise", "gamma", to=10**400),
        "promise.gamma is not",
    ),
    "a number as truth": ("deniable", _set("parameters", "require_k", to=1), "parameters.require_k is not"),
    "a delta of one": ("basic", _set("promise", "delta", to=1), "numbers that none can have"),
    "no such unit": ("basic", _set("promise", "unit", to="planet"), "promise.unit is not"),
    "a list as unit": ("basic", _set("promise", "unit", to=["claim"]), "promise.unit is not"),
    "text as seeded": ("basic", _set("seeded", to="no"), "seeded is not"),
    "numbers not promised": ("basic", _set("not_promised", to=[1]), "not_promised"),
    "a terminal's escape": ("basic", _set("not_promised", to=["\x1b[2J"]), "not_promised"),
    "an escape assumed": ("basic", _set("promise", "assumptions", to=["\x1b[2J"]), "promise.assumptions"),
    "an escape as method": ("basic", _set("method", to="a\nb"), "method is not"),
}


# What a careful editor tries on methods whose epsilon depends on numbers of claims.
EDITS |= {
    f"{name} of {case}": (case, edit, words)
    for case in ("delta", "attempts")
    for name, edit, words in (
        ("a tiny epsilon", _set("promise", "epsilon", to=0.001), "promise.epsilon is not"),
        ("users", _set("promise", "unit", to="user"), "promise.unit is not"),
        ("nobody to trust", _set("promise", "trust", to="local"), "promise.trust is not"),
        ("no delta", _set("promise", "delta", to=0.0), "promise.delta is not"),
        ("more claims", _set("public", "claims_per_object", to=[10**6]), "promise.epsilon is not"),
        ("no counts", _remove("public", "claims_per_object"), "public.claims_per_object is missing"),
        ("odd counts", _set("public", "claims_per_object", to=[0]), "public.claims_per_object is not"),
    )
}
EDITS |= {
    "more claims than can be computed": (
        "attempts",
        _set("public", "claims_per_object", to=[2**53]),
        "public.claims_per_object is not",
    ),
    "a gamma beyond use": ("attempts", _set("parameters", "gamma", to=1e308), "gamma at most"),
    "a bandwidth beyond use": ("delta", _set("parameters", "bandwidth", to=1e-300), "bandwidth"),
    "another kind of file": ("basic", _set("kind", to="reports"), "there is no mechanism"),
    "no such kind of file": ("basic", _set("kind", to="letter"), "kind is not"),
    "no such method": ("basic", _set("method", to="magic"), "there is no release method"),
    "a promise to users": ("basic", _set("user_promise", to={"kind": "none"}), "user_promise"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_certificate_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    case, edit, words = EDITS[kind]
    changed = made(case)
    edit(changed)
    path = write(tmp_path, changed)
    with pytest.raises(InputError) as refused:
        read_certificate(str(path))
    assert str(refused.value).startswith(f"{path}: was edited or is damaged: ")
    assert words in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    changed = made("basic")
    changed["promise"]["epsilon"] = changed["parameters"]["epsilon"] = 1
    assert read_certificate(str(write(tmp_path, changed))).promise == PURE


@pytest.mark.parametrize(
    "asked",
    [
        Certified(1 / 3, Range(0, 1), unit="claim"),
        Certified(0.0003, Range(-1, 1), pooled=True, background=True, resolution=0.01, unit="claim"),
        Certified(1.0, Range(0, 1), estimator="histogram", reliability=0.7, unit="claim"),
        Certified(
            1.0, Range(0, 1), estimator="histogram", reliability=0, adjacency="add-remove", unit="claim"
        ),
        Certified(2.5, Range(0, 1), unit="user", cap=3, delta=1e-300, estimator="histogram"),
    ],
)
def test_what_a_certified_release_can_ask_for_is_read(tmp_path: Path, asked: Certified) -> None:
    certificate = read_certificate(str(write(tmp_path, stated(asked))))
    assert certificate.promise == asked.promise(PATTERN)
    assert certificate.parameters == asked.to_dict()


def test_a_small_epsilon_cannot_become_smaller_either(tmp_path: Path) -> None:
    asked = Certified(0.0005, Range(0, 1), unit="claim")
    path = write(tmp_path, stated(asked, claim(0.0004)))
    with pytest.raises(InputError, match=r"promise\.epsilon is not the one of the method"):
        read_certificate(str(path))


@pytest.mark.parametrize("case", CASES)
def test_sentences_are_for_people_and_never_compared(case: str) -> None:
    """Old files stay readable when the wording is improved."""
    reworded = made(case)
    reworded["promise"]["sentence"] = "As the words were, once."
    reworded["not_promised"] = []
    for name in ("assumptions", "reason", "weights_ratio", "reason_no_epsilon"):
        if name in reworded["promise"]:
            reworded["promise"][name] = ["once"] if name == "assumptions" else "once"
    checked = read_text(json.dumps(reworded), "here")
    assert checked.recomputed
    assert checked.certificate == read_text(json.dumps(made(case)), "here").certificate


@pytest.mark.parametrize("path", sorted(VERSION_1.glob("*.json")), ids=lambda path: path.stem)
def test_certificates_of_version_1_stay_readable(path: Path) -> None:
    text = path.read_text()
    stated = json.loads(text)
    checked = read_text(text, "here")
    promise = checked.certificate.promise
    assert checked.certificate.kind == "release"
    assert checked.recomputed == (not RELEASES[stated["method"]].depends_on_counts)
    assert promise.to_dict()["kind"] == stated["promise"]["kind"]
    if isinstance(promise, Guarantee):
        assert (promise.epsilon, promise.delta) == (stated["promise"]["epsilon"], stated["promise"]["delta"])
    else:
        assert isinstance(promise, NoGuarantee | Deniability)


VERSION_2 = Path(__file__).parent / "version2"  # written by crowdveil when certificates had version 2
RELEASED_IN_2 = sorted(path.stem for path in VERSION_2.glob("*.json") if "." not in path.stem)


def test_there_is_a_certificate_of_version_2_of_every_method() -> None:
    assert {_version_2(name)["method"] for name in RELEASED_IN_2} == set(RELEASES)


def _version_2(name: str) -> dict[str, Any]:
    stated: dict[str, Any] = json.loads((VERSION_2 / f"{name}.json").read_text())
    return stated


@pytest.mark.parametrize("name", RELEASED_IN_2)
def test_certificates_of_version_2_stay_readable_and_hold_all_numbers(name: str) -> None:
    stated = _version_2(name)
    checked = read_text(json.dumps(stated), "here")
    assert checked.recomputed
    assert checked.signer is None
    assert checked.certificate.promise.to_dict()["kind"] == stated["promise"]["kind"]
    assert ("claims_per_object" in stated["public"]) == RELEASES[stated["method"]].depends_on_counts


@pytest.mark.parametrize("name", [name for name in RELEASED_IN_2 if name != "seeded"])
@pytest.mark.parametrize("upgrade", [False, True])
def test_no_method_lets_its_promise_be_edited(name: str, upgrade: bool) -> None:
    """Each of the edits that would make it look stronger, or weaker, alone."""
    whole = _version_2(name)
    if upgrade:
        whole = json.loads(to_json(read_text(json.dumps(whole), "here").certificate.to_dict()))
        assert whole["schema_version"] == SCHEMA_VERSION
    promise = whole["promise"]
    edits: dict[str, list[Any]] = {
        "epsilon": [0.001, 0.0, promise.get("epsilon", 1.0) * 1.01],
        "delta": [0.0, 1e-12, 0.5],
        "unit": ["user", "claim", "record"],
        "trust": ["local"],
        "adjacency": ["add-remove", "replace-one"],
        "k": [2, 50],
        "gamma": [1.0, 1.5],
    }
    tried = 0
    for field, values in edits.items():
        for value in values:
            if field not in promise or promise[field] == value:
                continue
            edited = json.loads(json.dumps(whole))
            edited["promise"][field] = value
            with pytest.raises(InputError, match=rf"promise\.{field} is not"):
                read_text(json.dumps(edited), "here")
            tried += 1
    stronger = Guarantee(0.001, 0.0, "user", "add-remove", "local").to_dict()
    with pytest.raises(InputError, match=r"promise\.(kind|epsilon) is not"):
        read_text(json.dumps(whole | {"promise": stronger}), "here")
    assert tried >= {"differential privacy": 7, "plausible deniability": 4, "none": 0}[promise["kind"]]


@pytest.mark.parametrize("case", ["smoothed", "attempts"])
@pytest.mark.parametrize(("name", "value"), [("unit", "user"), ("trust", "local"), ("delta", 0.0)])
def test_what_version_1_can_be_held_against_still_is(case: str, name: str, value: Any) -> None:
    stated = json.loads((VERSION_1 / f"{case}.json").read_text())
    stated["promise"][name] = value
    with pytest.raises(InputError, match=rf"promise\.{name} is not"):
        read_text(json.dumps(stated), "here")


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 0, "1", None, [], True])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    path = write(tmp_path, made("basic") | {"schema_version": version})
    with pytest.raises(InputError, match=f"another version; .* reads versions up to {SCHEMA_VERSION}"):
        read_certificate(str(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "carries no certificate"),
        ("object,user,value\n", "carries no certificate"),
        ('{"schema_version": 1, "schema_version": 1}', "not JSON"),
        ('{"schema_version": NaN}', "not JSON"),
        ('{"schema_version": 1e999}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a crowdveil certificate"),
        ('"schema_version"', "not a crowdveil certificate"),
        ("{}", "not a crowdveil certificate"),
        (" " * 2**21, "carries no certificate"),
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_certificate(str(write(tmp_path, text)))


@pytest.mark.parametrize("case", CASES)
def test_a_truncated_certificate_is_refused_wherever_it_was_cut(tmp_path: Path, case: str) -> None:
    whole = to_json(made(case)).rstrip()
    for length in range(0, len(whole), 37):
        with pytest.raises(InputError):
            read_certificate(str(write(tmp_path, whole[:length])))


def test_bytes_that_are_no_text_a_missing_file_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no certificate\.json in this folder"):
        read_certificate(str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        read_certificate(str(tmp_path / "nowhere.json"))
    path = tmp_path / "certificate.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="is not a certificate"):
        read_certificate(str(path))
