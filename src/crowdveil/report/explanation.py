"""A certificate in plain words: who is protected, from whom, how strongly, and what is not promised.

A certificate is checked before it is explained: its version, its keys and types, that its sentence says what
its fields say, and that promise, method and parameters agree. It is not signed: whoever changes all of them
in step is not found out (docs/ledger.md).

Notation: with pure epsilon, somebody who holds something for likely with probability p holds it for likely
with at most p / (p + (1 - p) e^-epsilon) after seeing the release. With a delta no such bound holds for every
outcome; then guesses between two equally likely cases are right with probability at most
(1 + delta e^-epsilon) / (1 + e^-epsilon) (Kairouz, Oh and Viswanath, 2015). n claims together have n epsilon
and delta (1 + e^epsilon + ... + e^((n-1) epsilon)) (group privacy). All figures are rounded up.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from math import exp, isfinite
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.report.certificate import SCHEMA_VERSION
from crowdveil.version import __version__

LARGEST_FILE = 2**20
WIDTH = 92
PRIORS = (0.5, 0.1, 0.01)
TOGETHER = (2, 5, 20)

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
_PAPER_MODE = ("priscrowd", "uniform")
_GIVES_WHAT_IS_ASKED = ("basic", "certified")
_SLACK = 0.001  # by how much the epsilon realised may stay below the one asked for


@dataclass(frozen=True)
class Certificate:
    """A certificate whose parts agree with each other."""

    crowdveil: str
    method: str
    seeded: bool
    synthetic: bool
    promise: Promise
    not_promised: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """What a certificate says, for a person (`text`) and for machines (`to_dict`)."""

    certificate: Certificate
    in_short: str
    who: list[str]
    from_whom: list[str]
    how_strongly: list[str]
    assumed: list[str]
    not_promised: list[str]
    figures: dict[str, Any]  # what the words under `how_strongly` are made of

    def text(self) -> str:
        """Headings and paragraphs."""
        lines = [*_wrapped(self.in_short, "", "")]
        sections = [
            ("Who is protected", self.who),
            ("From whom", self.from_whom),
            ("How strongly", self.how_strongly),
            ("What is assumed", self.assumed),
            ("What is not promised", self.not_promised),
        ]
        for title, items in sections:
            if items:
                lines += ["", title]
                lines += [line for item in items for line in _wrapped(item, "  - ", "    ")]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        promise = self.certificate.promise.to_dict()
        return {
            "schema_version": SCHEMA_VERSION,
            "crowdveil": self.certificate.crowdveil,
            "method": self.certificate.method,
            "kind": promise["kind"],
            "seeded": self.certificate.seeded,
            "synthetic": self.certificate.synthetic,
            "differentially_private": promise["kind"] == "differential privacy"
            and not self.certificate.seeded,
            "in_short": self.in_short,
            "who": self.who,
            "from_whom": self.from_whom,
            "how_strongly": self.how_strongly,
            "assumed": self.assumed,
            "not_promised": self.not_promised,
            "figures": self.figures,
            "sentence": promise["sentence"],
        }


def explain(path: str) -> Explanation:
    """The explanation of a certificate: its file, the folder of a release, or "-" for standard input."""
    return explanation(read_certificate(path))


def explanation(certificate: Certificate) -> Explanation:
    """The explanation of a certificate that was read."""
    if certificate.seeded:
        return _seeded(certificate)
    if isinstance(certificate.promise, Guarantee):
        return _private(certificate, certificate.promise)
    if isinstance(certificate.promise, Deniability):
        return _deniable(certificate, certificate.promise)
    return _nothing(certificate, certificate.promise)


# What is promised, in words

_WHO = {
    "claim": "each single claim: what one person said about one object",
    "cell": "each single answer of a person",
    "record": "each single record: one row of the table",
    "user": "each person, with everything they contributed",
}
_SEVERAL = {"claim": "claims", "cell": "answers", "record": "records"}
_ALWAYS = [
    "What is true of people in general, or follows from what others said, is not hidden: if most people get "
    "dizzy from a drug, that says something about everybody who takes it, whether they took part or not.",
    "Releases from the same data add up; crowdveil ledger shows what was spent.",
    "This certificate is not signed. It was checked for contradictions, but somebody careful could have "
    "changed it: take it from the people who made the release.",
]
_UNPROTECTED = [
    "Nobody. Whoever reads the release may learn what a single person said, above all if they know something "
    "about that person already."
]


def _private(certificate: Certificate, promise: Guarantee) -> Explanation:
    unit, epsilon = promise.unit, _up(promise.epsilon)
    level = _level(promise)
    together = "each person" if unit == "user" else f"each single {unit}"
    strength = f"epsilon = {epsilon}" + (f", delta = {_up(promise.delta)}" if promise.delta else "")
    who = [f"Protected is {_WHO[unit]}."]
    if promise.adjacency == "replace-one":
        hidden = "who took part" if unit == "user" else f"that a {unit} exists, and whose it is,"
        who.append(f"What it says is hidden; {hidden} counts as public.")
    else:
        hidden = "they took part" if unit == "user" else "it is there"
        who.append(f"Even whether {hidden} at all is hidden.")
    if not certificate.synthetic:
        who.append(
            "Each released value is somebody's own, with noise added that hides it that well and no more."
        )
    return Explanation(
        certificate,
        in_short=(
            f"Differential privacy for {together} with {strength}. As a rule of thumb that is {level} "
            f"protection for {together}. (method {certificate.method})"
        ),
        who=who,
        from_whom=_FROM_WHOM[promise.trust],
        how_strongly=[*_strength(promise), *_several(promise)],
        assumed=[_sentence(text) for text in promise.assumptions]
        + ["The release was made by crowdveil as it is published, with randomness that stayed secret."],
        not_promised=[_sentence(text) for text in certificate.not_promised] + _ALWAYS,
        figures=_figures(promise),
    )


_FROM_WHOM = {
    "central": [
        "From everybody who reads the release, however clever, and whatever else they know: even somebody "
        "who knows all the rest of the data.",
        "Not from the collector, who saw the raw data and has to be trusted with them, nor from anybody who "
        "gets hold of the raw data or of the private folder of the release.",
    ],
    "local": [
        "From everybody, the collector included: data were randomized on people's own devices before they "
        "were sent."
    ],
}


def _strength(promise: Guarantee) -> list[str]:
    unit = "person" if promise.unit == "user" else promise.unit
    change = "said something else" if promise.adjacency == "replace-one" else "not been there at all"
    case = "says one thing or another" if promise.adjacency == "replace-one" else "is in the data or not"
    words = [
        f"Whatever was released, it was {_times(promise.epsilon)} as it would have been had one {unit} "
        f"{change} (e to the power of epsilon)"
        + (f", give or take a probability of {_up(promise.delta)} (delta)." if promise.delta else ".")
    ]
    if promise.delta:
        words.append(
            f"For example: somebody has to guess whether a certain {unit} {case}, and both are equally "
            f"likely. Without the release the guess is right in 50 % of cases, with it in at most "
            f"{_percent(_right(promise.epsilon, promise.delta))}."
        )
        return words
    first, *others = [(prior, _posterior(prior, promise.epsilon)) for prior in PRIORS]
    words.append(
        f"For example: somebody wonders whether a certain {unit} {case}, and holds both for equally likely "
        f"({_percent(first[0])}). After reading the release they can be at most {_percent(first[1])} sure. "
        "Somebody who begins with "
        + " and with ".join(
            f"{_percent(prior)} ends with at most {_percent(bound)}" for prior, bound in others
        )
        + "."
    )
    return words


def _several(promise: Guarantee) -> list[str]:
    """What the guarantee means for a person with several claims."""
    if promise.unit == "user":
        return ["All that a person contributed is covered together: having much of it changes nothing."]
    things = _SEVERAL[promise.unit]
    bounds = [f"{_percent(_group(promise, count)[2])} for {count} {things}" for count in TOGETHER]
    return [
        f"A person with several {things} is protected less, because each of them says something: together "
        f"they have epsilon times their number. Somebody who asks about all of a person's {things} at once, "
        f"again beginning with 50 %, gets to at most {', '.join(bounds[:-1])} and {bounds[-1]}."
    ]


def _figures(promise: Guarantee) -> dict[str, Any]:
    together = [] if promise.unit == "user" else [(count, *_group(promise, count)) for count in TOGETHER]
    return {
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "unit": promise.unit,
        "adjacency": promise.adjacency,
        "trust": promise.trust,
        "level": _level(promise),
        "factor": exp(promise.epsilon) if promise.epsilon < 700 else None,
        "guess_right_at_most": _right(promise.epsilon, promise.delta),
        "examples": [
            {"before": prior, "after_at_most": _posterior(prior, promise.epsilon)}
            for prior in (() if promise.delta else PRIORS)
        ],
        "together": [
            {
                "count": count,
                "epsilon": epsilon if isfinite(epsilon) else None,
                "delta": delta,
                "guess_right_at_most": right,
            }
            for count, epsilon, delta, right in together
        ],
    }


def _deniable(certificate: Certificate, promise: Deniability) -> Explanation:
    share = promise.gamma / (promise.gamma + promise.k - 1)
    return Explanation(
        certificate,
        in_short=(
            f"Plausible deniability with k = {promise.k}, and no differential privacy. That is much weaker: "
            "it hides where a single released value came from, not what a person said. "
            f"(method {certificate.method})"
        ),
        who=[
            f"Of each released value: the claim it was made from. At least {promise.k} claims could have led "
            "to it about as likely.",
            "No claim and no person as such: a claim may show in a release although nobody can say from "
            "which claim a value was made.",
        ],
        from_whom=[
            "From somebody who looks at one released value and asks which claim it was made from.",
            "Not from somebody who compares the release with what they know of the data, nor from the "
            "collector.",
        ],
        how_strongly=[
            f"Of these {promise.k} claims none is more than {_up(promise.gamma)} times as plausible as "
            f"another, times the ratio of their weights ({promise.weights_ratio}).",
            f"For example: with equal weights the claim that a value was really made from can be held for "
            f"its origin with at most {_percent(share)}; with unequal weights with more.",
        ],
        assumed=[],
        not_promised=[
            _sentence(f"differential privacy: {promise.reason_no_epsilon}"),
            *[_sentence(text) for text in certificate.not_promised],
            *_ALWAYS,
        ],
        figures={"k": promise.k, "gamma": promise.gamma, "origin_at_most_with_equal_weights": share},
    )


def _nothing(certificate: Certificate, promise: NoGuarantee) -> Explanation:
    example = (
        "For example: 30 people rate something, 29 of them with 5.0. Released with k = 5, gamma = 4, "
        "epsilon0 = 0.1, equal weights and a bandwidth of 0.45, a value near 9 appears in 3 of 10 releases "
        "if the last one said 9.0, and never if they said 5.0. Who sees it, knows."
    )
    return Explanation(
        certificate,
        in_short=(
            "No differential privacy guarantee: nothing is promised to anybody. "
            f"(method {certificate.method})"
        ),
        who=_UNPROTECTED,
        from_whom=["From nobody: there is no promise that would hold whatever a reader knows."],
        how_strongly=[
            _sentence(f"there is no epsilon: {promise.reason}"),
            *([example] if certificate.method in _PAPER_MODE else []),
        ],
        assumed=[],
        not_promised=[*[_sentence(text) for text in certificate.not_promised], *_ALWAYS],
        figures={},
    )


def _seeded(certificate: Certificate) -> Explanation:
    return Explanation(
        certificate,
        in_short=(
            "NOT PRIVATE: this release was drawn with a fixed seed. It is for tests and must not be "
            f"published. (method {certificate.method})"
        ),
        who=["Nobody. Whoever knows or guesses the seed can draw the same randomness and undo it."],
        from_whom=["From nobody who knows or guesses the seed; seeds are short and easily tried out."],
        how_strongly=[
            "Not at all. What the method promises, it promises only for randomness that nobody can repeat."
        ],
        assumed=[],
        not_promised=["Anything.", *_ALWAYS[2:]],
        figures={},
    )


# Figures


def _posterior(prior: float, epsilon: float) -> float:
    """The most that somebody can believe afterwards, under pure epsilon."""
    return prior / (prior + (1 - prior) * exp(-epsilon))


def _right(epsilon: float, delta: float) -> float:
    """The most often that a guess between two equally likely cases can be right."""
    return min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon)))


def _group(promise: Guarantee, count: int) -> tuple[float, float, float]:
    """Epsilon and delta of several units together, and how often a guess about all of them can be right."""
    epsilon = count * promise.epsilon
    if promise.delta == 0:
        delta = 0.0
    elif epsilon > 700:
        delta = 1.0
    else:
        delta = min(1.0, promise.delta * sum(exp(i * promise.epsilon) for i in range(count)))
    return epsilon, delta, _right(epsilon, delta)


def _level(promise: Guarantee) -> str:
    """A rule of thumb: how sure somebody with even odds can get."""
    right = _right(promise.epsilon, promise.delta)
    levels = [(0.75, "strong"), (0.95, "moderate"), (0.99, "weak")]
    return next((word for bound, word in levels if right <= bound), "hardly any")


def _times(epsilon: float) -> str:
    if epsilon == 0:
        return "exactly as likely"
    return (
        "perhaps more than a million times as likely"
        if epsilon > 13.8
        else f"at most {_up(exp(epsilon), 3)} times as likely"
    )


def _up(number: float, digits: int = 6) -> str:
    """A number in some digits, rounded up: a promise may look weaker than it is, never stronger."""
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(number))):g}"


def _percent(share: float) -> str:
    """A share in percent with one decimal, rounded up."""
    shown = (Decimal(repr(share)) * 100).quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return "almost 100 %" if shown >= 100 else f"{f'{shown:f}'.removesuffix('.0')} %"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    whole = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(whole, WIDTH, initial_indent=first, subsequent_indent=rest)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


# Reading and checking


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
    except (ParameterError, OverflowError):
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
    yield from _contradictions(given, promise)


def _key_problems(given: dict[str, Any], keys: dict[str, Any], where: str) -> Iterator[str]:
    for name, kind in keys.items():
        if name not in given:
            yield f"{where}{name} is missing"
        elif not _fits(given[name], kind):
            yield f"{where}{name} is not what belongs there"
    if given.keys() - keys.keys():
        yield f"{where or 'it '}has entries that do not belong there".replace(".has", " has")


def _contradictions(given: dict[str, Any], promise: Promise) -> Iterator[str]:
    method, parameters = given["method"], given["parameters"]
    if given["seeded"] and not isinstance(promise, NoGuarantee):
        yield "a seeded release promises nothing"
    if isinstance(promise, Guarantee):
        if method in _PAPER_MODE:
            yield f"the method {method} never promises an epsilon"
        for name, promised in (("epsilon", promise.epsilon), ("delta", promise.delta)):
            asked: Any = parameters.get(name)
            if _fits(asked, float) and promised > asked:
                yield f"promise.{name} is above the one that was asked for"
        for name, promise_has in (("unit", promise.unit), ("adjacency", promise.adjacency)):
            if parameters.get(name) not in (None, promise_has):
                yield f"promise.{name} is not the one of the parameters"
        if method in _GIVES_WHAT_IS_ASKED and not (
            _fits(parameters.get("epsilon"), float) and parameters["epsilon"] - promise.epsilon < _SLACK
        ):
            yield "promise.epsilon is not the one of the parameters"
    elif isinstance(promise, Deniability):
        if not (promise.k >= 1 and isfinite(promise.gamma) and promise.gamma > 1):
            yield "the promise has numbers that none can have"
        stated = tuple(parameters.get(name) for name in ("k", "gamma", "require_k"))
        if method in _PAPER_MODE and stated != (promise.k, promise.gamma, True):
            yield "the promise is not the one of the parameters"


def _promise(written: dict[str, Any]) -> Promise:
    made = _KINDS[written["kind"]]
    fields: dict[str, Any] = {}
    for name, kind in get_type_hints(made).items():
        value = written[name]
        fields[name] = float(value) if kind is float else tuple(value) if isinstance(value, list) else value
    return made(**fields)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value from JSON can be a field of this kind. Text must be fit to be shown."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind == tuple[str, ...]:
        return isinstance(value, list) and all(_fits(item, str) for item in value)
    if kind is str:
        return isinstance(value, str) and value.isprintable()
    if kind in (int, float):
        return isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
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
