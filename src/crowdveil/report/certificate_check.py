"""Reading a certificate back, and refusing one whose parts do not agree.

Checked are its version, its keys and types, that its sentence says what its fields say, and that promise,
method and parameters agree. It is not signed: whoever changes all of them in step is not found out
(docs/ledger.md).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Adjacency, Deniability, Guarantee, NoGuarantee, Promise, rational
from crowdveil.report.certificate import SCHEMA_VERSION
from crowdveil.version import __version__

LARGEST_FILE = 2**20
PAPER_MODE = ("priscrowd", "uniform")  # methods that never promise an epsilon

_KEYS: dict[str, type] = {
    "schema_version": int,
    "crowdveil": str,
    "method": str,
    "parameters": dict,
    "seeded": bool,
    "synthetic": bool,
    "promise": dict,
    "not_promised": list,
}
_KINDS: dict[str, type[Guarantee | Deniability | NoGuarantee]] = {
    "differential privacy": Guarantee,
    "plausible deniability": Deniability,
    "none": NoGuarantee,
}
# Methods that give the epsilon asked for, rounded down to denominators up to these.
_GIVES_WHAT_IS_ASKED = {"basic": 10**6, "certified": 10**4}
_CERTIFIED: dict[str, Any] = {
    "epsilon": float,
    "unit": Literal["claim", "user"],
    "adjacency": Adjacency,
    "cap": int | None,
    "delta": float,
    "per_object": int,
    "range": tuple[float, float],
    "resolution": float | None,
    "pooled": bool,
    "estimator": Literal["bayes", "histogram"],
    "background": bool,
    "reliability": float | None,
}
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class Certificate:
    """A certificate whose parts agree with each other."""

    crowdveil: str
    method: str
    seeded: bool
    synthetic: bool
    promise: Promise
    not_promised: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def read_certificate(path: str) -> Certificate:
    """A certificate from its file, the folder of its release or standard input; refused unless all fits."""
    label, text = _read(path)
    try:
        given = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InputError(f"{label}: is not a certificate: it is not JSON, or not all of it") from None
    if not isinstance(given, dict) or "schema_version" not in given:
        raise InputError(f"{label}: is not a crowdveil certificate")
    version = given["schema_version"]
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise InputError(
            f"{label}: is a certificate of another version; this crowdveil reads version {SCHEMA_VERSION}"
        )
    for problem in _problems(given):
        raise InputError(f"{label}: was edited or is damaged: {problem}")
    return Certificate(
        crowdveil=given["crowdveil"],
        method=given["method"],
        seeded=given["seeded"],
        synthetic=given["synthetic"],
        promise=_promise(given["promise"]),
        not_promised=tuple(given["not_promised"]),
        parameters=given["parameters"],
    )


def _read(path: str) -> tuple[str, str]:
    if path == "-":
        label, data = "standard input", sys.stdin.buffer.read(LARGEST_FILE + 1)
    else:
        label, place = path, Path(path)
        try:
            if place.is_dir():
                place = place / "certificate.json"
                if not place.exists():
                    raise InputError(f"{label}: there is no certificate.json in this folder")
            with place.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            raise InputError(f"{label}: no such file") from None
        except OSError as error:
            raise InputError(f"{label}: cannot be read ({error.strerror})") from None
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError
        return label, data.decode("utf-8-sig")
    except ValueError:
        raise InputError(f"{label}: is not a certificate") from None


def _problems(given: dict[str, Any]) -> Iterator[str]:
    """What does not fit; later checks rely on earlier ones, so only the first one counts."""
    keys = _KEYS | ({"warning": str} if given.get("seeded") is True else {})
    yield from _key_problems(given, keys, "")
    if not _fits(given["not_promised"], tuple[str, ...]):
        yield "not_promised is not a list of lines of text"
    written = given["promise"]
    kind = written.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        yield "promise.kind is none that exists"
    yield from _key_problems(
        written, {"kind": str, "sentence": str} | get_type_hints(_KINDS[str(kind)]), "promise."
    )
    try:
        promise = _promise(written)
    except ParameterError:
        yield "the promise has numbers that none can have"
        return
    if promise.sentence() != written["sentence"]:
        yield (
            "promise.sentence does not say what its fields say"
            + (
                ""
                if given["crowdveil"] == __version__
                else f" (it names another crowdveil than {__version__})"
            )
        )
    if given["method"] == "certified":
        yield from _key_problems(given["parameters"], _CERTIFIED, "parameters.")
        if not _certifiable(given["parameters"]):
            yield "the parameters are none that a certified release can have"
    yield from _contradictions(given, promise)


def _key_problems(given: dict[str, Any], keys: dict[str, Any], where: str) -> Iterator[str]:
    for name, kind in keys.items():
        if name not in given:
            yield f"{where}{name} is missing"
        elif not _fits(given[name], kind):
            yield f"{where}{name} is not what belongs there"
    if given.keys() - keys.keys():
        yield f"{where or 'it '}has entries that do not belong there".replace(".has", " has")


def _certifiable(asked: dict[str, Any]) -> bool:
    """Whether parameters go together; as `Certified` has it, which would take seconds to import."""
    user, plain, pooled = asked["unit"] == "user", asked["estimator"] == "histogram", asked["pooled"]
    cap, delta, resolution, share = (asked[name] for name in ("cap", "delta", "resolution", "reliability"))
    weighted = plain and not pooled and (user or asked["adjacency"] == "replace-one" or not share)
    return (
        (cap is not None and cap >= 1 if user else cap is None)
        and (delta == 0 or (0 < delta < 1 and user and not pooled))
        and asked["per_object"] >= 1
        and asked["range"][0] < asked["range"][1]
        and (resolution is None or resolution > 0)
        and not (asked["background"] and plain)
        and (share is None or (0 <= share < 1 and weighted))
    )


def _contradictions(given: dict[str, Any], promise: Promise) -> Iterator[str]:
    method, parameters = given["method"], given["parameters"]
    if given["seeded"] and not isinstance(promise, NoGuarantee):
        yield "a seeded release promises nothing"
    if method in _GIVES_WHAT_IS_ASKED:
        if given["synthetic"] == (method == "basic"):
            yield f"synthetic is not what it is for the method {method}"
        if not (given["seeded"] or isinstance(promise, Guarantee)):
            yield f"the method {method} promises an epsilon"
    if isinstance(promise, Guarantee):
        yield from _wrong_guarantee(method, parameters, promise)
    elif isinstance(promise, Deniability):
        if not (promise.k >= 1 and isfinite(promise.gamma) and promise.gamma > 1):
            yield "the promise has numbers that none can have"
        asked = {"k": int, "gamma": float, "require_k": bool}
        stated = [parameters.get(name) for name in asked]
        fit = all(map(_fits, stated, asked.values()))
        if method in PAPER_MODE and not (fit and stated == [promise.k, promise.gamma, True]):
            yield "the promise is not the one of the parameters"


def _wrong_guarantee(method: str, parameters: dict[str, Any], promise: Guarantee) -> Iterator[str]:
    if method in PAPER_MODE:
        yield f"the method {method} never promises an epsilon"
    for name, promised in (("epsilon", promise.epsilon), ("delta", promise.delta)):
        asked: Any = parameters.get(name)
        if asked is None:
            continue
        if not _fits(asked, float):
            yield f"parameters.{name} is not what belongs there"
        if promised > asked:
            yield f"promise.{name} is above the one that was asked for"
        if name == "delta" and promised != asked:
            yield "promise.delta is not the one of the parameters"
    stated: dict[str, Any] = {name: parameters.get(name) for name in ("unit", "adjacency")}
    if method == "basic":
        stated = {"unit": "claim", "adjacency": "replace-one"}
    if method in _GIVES_WHAT_IS_ASKED:
        stated["trust"] = "central"
        try:
            given = rational(parameters["epsilon"], what="epsilon", limit=_GIVES_WHAT_IS_ASKED[method])
        except (KeyError, TypeError, ParameterError):
            given = None
        if given is None or float(given) != promise.epsilon:
            yield "promise.epsilon is not the one of the parameters"
    for name, value in stated.items():
        if value not in (None, getattr(promise, name)):
            yield f"promise.{name} is not the one of the method and its parameters"


def _promise(written: dict[str, Any]) -> Promise:
    made = _KINDS[written["kind"]]
    fields: dict[str, Any] = {}
    for name, kind in get_type_hints(made).items():
        value = written[name]
        fields[name] = float(value) if kind is float else tuple(value) if isinstance(value, list) else value
    return made(**fields)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value from JSON can be a field of this kind. Text must be fit to be shown."""
    made_of = get_args(kind)
    if get_origin(kind) is Literal:
        return value in made_of
    if isinstance(kind, UnionType):
        return any(_fits(value, part) for part in made_of)
    if get_origin(kind) is tuple:  # of any length, or a pair; all of one kind
        right = isinstance(value, list) and (made_of[-1] is ... or len(value) == len(made_of))
        return right and all(_fits(item, made_of[0]) for item in value)
    if kind is str:
        return isinstance(value, str) and value.isprintable()
    if kind in (int, float):
        most = _LARGEST_WHOLE if kind is int else sys.float_info.max
        number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        return number and abs(value) <= most
    return isinstance(value, kind)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(digits)
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no key stands twice: readers would disagree about which one counts."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made
