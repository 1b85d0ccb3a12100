"""What a campaign promises to whoever takes part, in numbers and in words, and what it does not promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from crowdveil.accounting.rounding import up
from crowdveil.campaigns.kind import Kind
from crowdveil.certificates.levels import Level
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.ledger import LARGE_DELTA

Admission = Literal["open", "invited"]

BY_LINK = (
    "over an open link one person with two devices can report twice: whoever does is protected as two "
    "people, and epsilon counts twice"
)
BY_INVITATION = (
    "whoever was given several invitations and used them is protected as several people; whoever gave out "
    "the invitations and may download the reports can tell whose report is whose: only the noise hides what "
    "it says"
)
WHO = "that somebody takes part, when, and from which network address, is not hidden from the server"
ELSEWHERE = "what the same person says in other campaigns, or in other ways, adds up"
WITHDRAWN = (
    "a report that is withdrawn is deleted, but it stays in the estimates until they are computed anew, in "
    "what later rounds were planned from, and in whatever was copied before; that its place is taken shows; "
    "once the campaign is closed, which its owner decides, no report can be withdrawn"
)
WITHDRAWING = (
    "whether somebody withdraws is not randomized: whoever decides it by what was sent tells something about "
    "the answer"
)
RETENTION = "the date on which everything is deleted can be put off or dropped by the campaign's owner"


def checked_promise(kind: Kind, *, insist: bool) -> Guarantee:
    """The promise for the unit of the campaign; refuses what promises nothing, or nearly nothing."""
    promise = own_promise(kind)
    if not isinstance(promise, Guarantee):
        raise ParameterError("with these parameters nothing is promised: no campaign is opened for that")
    if promise.delta > LARGE_DELTA and not insist:
        raise ParameterError(
            f"delta would be {promise.delta:.2g}, above {LARGE_DELTA:g}: add a floor, or the option insist"
        )
    return promise


def own_promise(kind: Kind) -> Promise | None:
    """What is promised in one wave for the unit of the campaign."""
    certificate = kind.certificate()
    person = getattr(kind, "unit", None) == "person" and certificate.promise.to_dict().get("unit") != "record"
    return certificate.user_promise if person else certificate.promise


def guarantee(kind: Kind, admission: Admission, waves: int) -> dict[str, Any]:
    """Both levels in numbers, for one wave and for all of them; assumptions; what is not promised."""
    certificate, promise = kind.certificate(), own_promise(kind)
    assert isinstance(promise, Guarantee)
    levels = certificate.levels()
    extra = BY_LINK if admission == "open" else BY_INVITATION
    again = [
        f"each of {waves} waves costs as much again: for whoever reports in all of them, epsilon is the one "
        "of all waves"
    ] * (waves > 1)
    stated = promise.to_dict()
    return {
        "unit": getattr(kind, "unit", promise.unit),
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "adjacency": promise.adjacency,
        "trust": promise.trust,
        "sentence": stated["sentence"],
        "levels": [level.to_dict() for level in levels],
        "waves": waves,
        "all_waves": [times(level, waves).to_dict() for level in levels],
        "assumptions": list(promise.assumptions),
        "not_promised": [
            *replace(certificate, promise=promise).not_promised(),
            extra,
            WHO,
            ELSEWHERE,
            WITHDRAWN,
            WITHDRAWING,
            RETENTION,
            *again,
        ],
    }


def times(level: Level, waves: int) -> Level:
    """A level after that many waves: epsilons and deltas add up."""
    if waves == 1 or level.epsilon is None or level.delta is None:
        return level
    hidden = f"{_of_one_wave(level.hidden)}, over all {waves} waves"
    delta = up(waves * Fraction(level.delta))
    if delta >= 1:
        return replace(level, hidden=hidden, epsilon=None, delta=None)
    return replace(level, hidden=hidden, epsilon=up(waves * Fraction(level.epsilon)), delta=delta)


def _of_one_wave(hidden: str) -> str:
    """What is hidden, in words that stay true where everybody says something in each wave."""
    for words, others in (
        ("each claim", "all that a person claims about one object"),
        ("each answer, given or not", "all that a person answers about one object, or not"),
        ("each record", "all that a person reports"),
        (", and nobody has more", " in each wave"),
    ):
        hidden = hidden.replace(words, others)
    return hidden
