"""What a promise is worth for a claim and for a person, each with a number.

A guarantee protects one unit, and whoever reads it asks about another: "and all of mine together?" The levels
are those numbers. They follow from the promise, and from the one to a user where that differs
(`accounting/scopes.py`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crowdveil.accounting.scopes import counted_in
from crowdveil.guarantee import Adjacency, Guarantee, Promise, Scope, Unit, rounded_up


@dataclass(frozen=True)
class Level:
    """One of the numbers of a promise.

    Parameters
    ----------
    hidden:
        What is hidden, in words.
    epsilon, delta:
        How well; None if nothing bounds it.
    times:
        What epsilon is to be multiplied by, in words, where no public number says it.

    """

    hidden: str
    epsilon: float | None
    delta: float | None = 0.0
    times: str | None = None

    def sentence(self) -> str:
        """The level in words: "each claim: epsilon 2"."""
        if self.epsilon is None:
            return f"{self.hidden}: nothing is promised"
        delta = f", delta {rounded_up(self.delta)}" if self.delta else ""
        times = f" times {self.times}" if self.times else ""
        return f"{self.hidden}: epsilon {rounded_up(self.epsilon)}{delta}{times}"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {**asdict(self), "sentence": self.sentence()}


def levels(promise: Promise, user_promise: Promise | None, claims_of_a_user: int | None) -> list[Level]:
    """All levels of a promise, the one that it is about first; none if it is no guarantee."""
    if not isinstance(promise, Guarantee):
        return []
    if promise.unit == "record":
        return [_level("each record", promise)]
    if promise.unit == "user":
        return _of_users(promise)
    if promise.unit == "cell":
        everything = f"a person, with all {claims_of_a_user or 'their'} answers, given or not"
        return [_level("each answer, given or not", promise), _level(everything, user_promise)]
    return _of_claims(promise, user_promise, claims_of_a_user)


def _of_claims(promise: Guarantee, user_promise: Promise | None, claims_of_a_user: int | None) -> list[Level]:
    if promise.adjacency == "add-remove":
        return [
            _level("whether a claim is there", promise),
            _level("between two values of a claim", _in(promise, promise.unit, "replace-one")),
            _level("whether a person took part, with all their claims", promise, times="their number"),
        ]
    own = _level("each claim", promise)
    if user_promise is None:
        return [own, _level("a person with several claims", promise, times="their number")]
    several = "1 claim" if claims_of_a_user == 1 else f"{claims_of_a_user} claims"
    return [own, _level(f"a person with {several}, and nobody has more", user_promise)]


def _of_users(promise: Guarantee) -> list[Level]:
    everything = "a person, with everything they said"
    if promise.adjacency == "replace-one":
        return [_level(everything, promise), _level("each of their claims", promise)]
    if promise.adjacency != "add-remove":
        return [_level(everything, promise), _level("each of their answers, given or not", promise)]
    return [
        _level("whether a person took part", promise),
        _level("between two versions of everything a person said", _in(promise, "user", "replace-one")),
        _level("whether one of their claims is there", _in(promise, "claim", "add-remove")),
        _level("between two values of one of their claims", _in(promise, "claim", "replace-one")),
    ]


def _in(promise: Guarantee, unit: Unit, adjacency: Adjacency) -> Guarantee | None:
    return counted_in(promise, Scope(unit, adjacency, promise.trust), None)


def _level(hidden: str, promise: Promise | None, *, times: str | None = None) -> Level:
    if not isinstance(promise, Guarantee) or (times and promise.delta):
        return Level(hidden, None, None)  # a delta grows faster than the number of claims
    return Level(hidden, promise.epsilon, promise.delta, times)
