"""Promises: a differential privacy guarantee, plausible deniability, or nothing.

Only the method that gives a promise creates it. Plausible deniability is a separate type and never prints as
an epsilon.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from sys import float_info
from typing import Any, Literal

from crowdveil.errors import ParameterError

Unit = Literal["claim", "cell", "record", "user"]
Adjacency = Literal["replace-one", "replace-or-none", "replace-or-not-last", "add-remove"]
Trust = Literal["central", "local"]

_ADJACENCY_WORDS = {
    "replace-one": "when the value of one {unit} is replaced (who made claims about what counts as public)",
    "add-remove": "when one {unit} appears or disappears",
}
_TRUST_WORDS = {
    "central": "The collector saw the raw data and is trusted.",
    "local": "Where this runs on people's own devices, nobody has to be trusted.",
}

ONE_NAME = "each name is one person: whoever made claims under two names is protected as two users"


@dataclass(frozen=True)
class Scope:
    """What an epsilon is about: the unit, the neighbouring datasets and who is trusted.

    An epsilon counts in another scope only by the rules of `accounting.scopes`.
    """

    unit: Unit
    adjacency: Adjacency
    trust: Trust

    def __str__(self) -> str:
        return f"each {self.unit}, {self.adjacency}, {self.trust}"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy, with its unit, adjacency, trust model and assumptions.

    >>> promise = Guarantee(1.0, 0.0, unit="claim", adjacency="replace-one", trust="central")
    >>> promise.sentence().partition(":")[0]
    'Differential privacy for each claim with epsilon = 1'

    Parameters
    ----------
    epsilon, delta:
        The bound: no outcome becomes more than e^epsilon times as likely, up to delta.
    unit:
        What is protected: one claim, cell or record, or all data of one user.
    adjacency:
        How neighbouring datasets differ in one unit.
    trust:
        "central" if the collector sees raw data, "local" if devices randomize them.
    assumptions:
        The conditions of the guarantee, in words.

    """

    epsilon: float
    delta: float
    unit: Unit
    adjacency: Adjacency
    trust: Trust
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= float_info.max:
            raise ParameterError(f"epsilon must be a number of at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be in [0, 1), not {self.delta}")

    @property
    def scope(self) -> Scope:
        """The scope of its epsilon."""
        return Scope(self.unit, self.adjacency, self.trust)

    def sentence(self) -> str:
        """The guarantee in words."""
        strength = f"epsilon = {rounded_up(self.epsilon)}" + (
            f", delta = {rounded_up(self.delta)}" if self.delta else ""
        )
        return (
            f"Differential privacy for each {self.unit} with {strength}: no outcome becomes more than "
            f"e^epsilon times as likely{' (up to delta)' if self.delta else ''} {self._neighbours()}. "
            f"{_TRUST_WORDS[self.trust]}"
        )

    def _neighbours(self) -> str:
        """The difference of neighbouring datasets, in words."""
        one = self.unit == "cell"
        change = "one answer of a user becomes another" if one else "answers of a user become any others"
        if self.adjacency == "replace-or-none":
            return f"when {change}, or none (who takes part counts as public)"
        if self.adjacency == "replace-or-not-last":
            return (
                f"when {change}, or none while the user and the object keep some other answer (lists of "
                "users and objects were read off the answers: who and what is on them is NOT protected)"
            )
        if (self.unit, self.adjacency) == ("record", "replace-one"):
            return "when one record is replaced by any other (who takes part counts as public)"
        words = _ADJACENCY_WORDS[self.adjacency].format(unit=self.unit)
        if self.unit == "user":
            words = words.replace("the value of one user is", "all values of one user are")
        return words

    def to_dict(self) -> dict[str, Any]:
        """The promise as plain JSON data, for the certificate."""
        return {"kind": "differential privacy", **asdict(self), "sentence": self.sentence()}


@dataclass(frozen=True)
class Deniability:
    """Plausible deniability: each released value has k plausible seeds. This is not an epsilon."""

    k: int
    gamma: float
    weights_ratio: str  # the bound on the ratio of the seeds' weights, in words
    reason_no_epsilon: str

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"Plausible deniability: at least {self.k} claims could have led to each released value, with "
            f"kernels within a factor {self.gamma:g} of each other; the odds between them are bounded by "
            f"{self.gamma:g} times the ratio of their weights ({self.weights_ratio}). "
            f"No differential privacy guarantee: {self.reason_no_epsilon}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The promise as plain JSON data, for the certificate."""
        return {"kind": "plausible deniability", **asdict(self), "sentence": self.sentence()}


@dataclass(frozen=True)
class NoGuarantee:
    """An explicit "nothing is promised", with the reason."""

    reason: str

    def sentence(self) -> str:
        """The absence of a guarantee, in words."""
        return f"No differential privacy guarantee: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """The promise as plain JSON data, for the certificate."""
        return {"kind": "none", **asdict(self), "sentence": self.sentence()}


Promise = Guarantee | Deniability | NoGuarantee

SEEDED = NoGuarantee("the draws come from a fixed seed, and whoever knows it can undo them.")


def rounded_up(number: float, digits: int = 6) -> str:
    """A number rounded up to `digits` digits, so that a guarantee never looks stronger than it is."""
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(number)))):g}"


def rational(number: float, *, what: str, limit: int = 10**6) -> Fraction:
    """A positive number as the fraction of its decimal digits, rounded *down* to denominators <= limit.

    Exact samplers take fractions. Rounding down an epsilon makes the noise larger, never smaller.
    """
    if not 0 < number <= float_info.max:
        raise ParameterError(f"{what} must be a number above 0, not {number}")
    exact = Fraction(repr(float(number)))
    if exact.denominator > limit:
        exact = Fraction(int(exact * limit), limit)
    if not 0 < exact <= limit:
        raise ParameterError(f"{what} must lie between {1 / limit:g} and {limit}, not {number}")
    return exact
