"""A certificate in plain words: who is protected, from whom, how strongly, and what is not promised.

A certificate is checked before it is explained (`certificates`; `checks` has the words). The figures are
those of `beliefs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crowdveil.certificates.certificate import SCHEMA_VERSION, Certificate
from crowdveil.certificates.reading import Checked
from crowdveil.files.certificates import read_certificate
from crowdveil.files.public_keys import expect, read_public_key
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, rounded_up
from crowdveil.report import beliefs, checks
from crowdveil.report.wording import percent, sentence, times_as_likely, wrapped

_WHO = {
    "claim": "each single claim: what one person said about one object",
    "cell": "each single answer of a person",
    "record": "each single record: one row of the table",
    "user": "each person, with everything they contributed",
}
_SEVERAL = {"claim": "claims", "cell": "answers", "record": "records"}
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
_HIDDEN = {
    # adjacency: (for a claim, cell or record; for a person)
    "replace-one": (
        "What it says is hidden; that it exists, and whose it is, counts as public.",
        "What they said is hidden; who took part, and about what, counts as public.",
    ),
    "add-remove": (
        "Hidden is whether it is there at all. Hidden less well, by twice epsilon, is which value it has: to "
        "tell two apart is to tell each from nothing.",
        "Hidden is whether they took part at all. Hidden less well, by twice epsilon, is what they said: to "
        "tell two apart is to tell each from nothing.",
    ),
    "replace-or-none": (
        "Hidden is which answer it is, and whether there is one at all; who takes part counts as public.",
        "Hidden is what they answered, and about what; who takes part counts as public.",
    ),
    "replace-or-not-last": (
        "Hidden is which answer it is, and whether there is one, as long as its person and its object keep "
        "another: that somebody answered at all, or that anybody answered about an object, is not hidden.",
        "Hidden is what they answered, and about what, as long as they and the objects keep some answer: "
        "that somebody answered at all, or that anybody answered about an object, is not hidden.",
    ),
}
_CHANGES = {
    # adjacency: (had one claim or person ..., whether a certain one ...)
    "replace-one": ("said something else", "says one thing or another"),
    "add-remove": ("not been there at all", "is in the data or not"),
    "replace-or-none": ("said something else, or nothing", "says one thing or another, or nothing"),
    "replace-or-not-last": ("said something else, or nothing", "says one thing or another, or nothing"),
}
_ALWAYS = [
    "What is true of people in general, or follows from what others said, is not hidden: if most people get "
    "dizzy from a drug, that says something about everybody who takes it, whether they took part or not.",
    "Releases from the same data add up; crowdveil ledger shows what was spent.",
]
_UNPROTECTED = [
    "Nobody. Whoever reads the release may learn what a single person said, above all if they know something "
    "about that person already."
]


@dataclass(frozen=True)
class Explanation:
    """A certificate in plain words, as text (`text`) and as JSON data (`to_dict`)."""

    certificate: Certificate
    in_short: str
    who: list[str]
    from_whom: list[str]
    how_strongly: list[str]
    assumed: list[str]
    not_promised: list[str]
    figures: dict[str, Any]  # the numbers in `how_strongly`
    made: list[str] = field(default_factory=list)  # how the values were computed
    checked: list[str] = field(default_factory=list)  # what was checked before, in words
    checks: dict[str, Any] = field(default_factory=dict)  # and as plain data

    def text(self) -> str:
        """The explanation as headings and paragraphs."""
        lines = [*wrapped(self.in_short, "", "")]
        sections = [
            ("What was checked", self.checked),
            ("Who is protected", self.who),
            ("From whom", self.from_whom),
            ("How strongly", self.how_strongly),
            ("How it was made", self.made),
            ("What is assumed", self.assumed),
            ("What is not promised", self.not_promised),
        ]
        for title, items in sections:
            if items:
                lines += ["", title]
                lines += [line for item in items for line in wrapped(item, "  - ", "    ")]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain JSON data."""
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
            "checks": self.checks,
            "in_short": self.in_short,
            "checked": self.checked,
            "who": self.who,
            "from_whom": self.from_whom,
            "how_strongly": self.how_strongly,
            "made": self.made,
            "assumed": self.assumed,
            "not_promised": self.not_promised,
            "figures": self.figures,
            "levels": [level.to_dict() for level in self.certificate.levels()],
            "sentence": promise["sentence"],
        }


def explain(path: str, key: Path | None = None) -> Explanation:
    """The explanation of a certificate: `path` is its file, a release's folder, or "-" for standard input.

    If a file with a public `key` is named, a certificate that this key did not sign is refused.
    """
    wanted = None if key is None else read_public_key(key)
    checked = read_certificate(path)
    return explanation(checked if wanted is None else expect(checked, wanted, path))


def explanation(checked: Checked) -> Explanation:
    """The explanation of a certificate that was read and checked."""
    explained = replace(
        _explained(checked.certificate), checked=checks.sentences(checked), checks=checks.told(checked)
    )
    if checked.recomputed:
        return explained
    in_short = f"As the certificate says, which could NOT be computed again: {explained.in_short}"
    return replace(explained, in_short=in_short)


def _explained(certificate: Certificate) -> Explanation:
    if certificate.seeded:
        return _seeded(certificate)
    if isinstance(certificate.promise, Guarantee):
        return _private(certificate, certificate.promise)
    if isinstance(certificate.promise, Deniability):
        return _deniable(certificate, certificate.promise)
    return _nothing(certificate, certificate.promise)


def _private(certificate: Certificate, promise: Guarantee) -> Explanation:
    unit, epsilon = promise.unit, rounded_up(promise.epsilon)
    level = beliefs.level(promise)
    together = "each person" if unit == "user" else f"each single {unit}"
    strength = f"epsilon = {epsilon}" + (f", delta = {rounded_up(promise.delta)}" if promise.delta else "")
    who = [f"Protected is {_WHO[unit]}.", _HIDDEN[promise.adjacency][unit == "user"]]
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
        how_strongly=[*_in_numbers(certificate), *_strength(promise), *_several(promise)],
        assumed=[sentence(text) for text in promise.assumptions]
        + ["The release was made by crowdveil as it is published, with randomness that stayed secret."],
        not_promised=[sentence(text) for text in certificate.not_promised()] + _ALWAYS,
        figures=beliefs.figures(promise),
        made=_method_remarks(certificate),
    )


def _in_numbers(certificate: Certificate) -> list[str]:
    return [f"In numbers: {'; '.join(level.sentence() for level in certificate.levels())}."]


def _strength(promise: Guarantee) -> list[str]:
    unit = {"user": "person", "cell": "answer"}.get(promise.unit, promise.unit)
    change, case = _CHANGES[promise.adjacency]
    sentences = [
        f"Whatever was released, it was {times_as_likely(promise.epsilon)} as it would have been had one "
        f"{unit} {change} (e to the power of epsilon)"
        + (f", give or take a probability of {rounded_up(promise.delta)} (delta)." if promise.delta else ".")
    ]
    if promise.delta:
        sentences.append(
            f"For example: somebody has to guess whether a certain {unit} {case}, and both are equally "
            f"likely. Without the release the guess is right in 50 % of cases, with it in at most "
            f"{percent(beliefs.right_guesses(promise.epsilon, promise.delta))}."
        )
        sentences.append(
            "Delta is a remainder of probability for which nothing is promised. It should be far below one "
            "in the number of people."
        )
        return sentences
    first, *others = [(prior, beliefs.belief_after(prior, promise.epsilon)) for prior in beliefs.PRIORS]
    sentences.append(
        f"For example: somebody wonders whether a certain {unit} {case}, and holds both for equally likely "
        f"({percent(first[0])}). After reading the release they can be at most {percent(first[1])} sure. "
        "Somebody who begins with "
        + " and with ".join(f"{percent(prior)} ends with at most {percent(bound)}" for prior, bound in others)
        + "."
    )
    return sentences


def _method_remarks(certificate: Certificate) -> list[str]:
    """Remarks on how a certified release was computed, for readers of its values."""
    if certificate.method != "certified":
        return []
    remarks, parameters = [], certificate.parameters
    if parameters.get("delta"):
        remarks.append(
            "Counts of claims got Gaussian noise: less noise than epsilon alone would take, at the price of "
            "delta. Where it hides less than epsilon says, that is by degrees, not all at once."
        )
    if parameters.get("estimator") == "histogram":
        remarks.append(
            "Values were drawn from noisy counts of claims in parts of the range, with no model of what "
            "claims look like: where values are few, they may stand for noise and for no claim at all."
        )
        hidden = parameters.get("unit") == "user" or parameters.get("adjacency") == "replace-one"
        if hidden and parameters.get("reliability") != 0 and not parameters.get("pooled"):
            remarks.append(
                "Claims of people who mostly agree with others may have counted more than those of others; "
                "that is covered by epsilon too."
            )
    return remarks


def _several(promise: Guarantee) -> list[str]:
    """Remarks on the guarantee of a person with several claims."""
    if promise.unit == "user":
        return ["All that a person contributed is covered together: having much of it changes nothing."]
    things = _SEVERAL[promise.unit]
    sure = {count: percent(beliefs.together(promise, count)[2]) for count in beliefs.TOGETHER}
    bounds = [f"{bound} for {count} {things}" for count, bound in sure.items()]
    faster = ", with a delta that grows faster than that" if promise.delta else ""
    return [
        f"A person with several {things} is protected less, because each of them says something: together "
        f"they have epsilon times their number{faster}. Somebody who asks about all of a person's {things} "
        f"at once, again beginning with 50 %, gets to at most {', '.join(bounds[:-1])} and {bounds[-1]}."
    ]


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
            f"Of these {promise.k} claims none is more than {rounded_up(promise.gamma)} times as plausible "
            f"as another, times the ratio of their weights ({promise.weights_ratio}).",
            f"For example: with equal weights the claim that a value was really made from can be held for "
            f"its origin with at most {percent(share)}; with unequal weights with more.",
        ],
        assumed=[],
        not_promised=[
            sentence(f"differential privacy: {promise.reason_no_epsilon}"),
            *[sentence(text) for text in certificate.not_promised()],
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
            sentence(f"there is no epsilon: {promise.reason}"),
            *([example] if certificate.kind == "release" else []),
        ],
        assumed=[],
        not_promised=[*[sentence(text) for text in certificate.not_promised()], *_ALWAYS],
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
        not_promised=["Anything."],
        figures={},
    )
