"""The interface of release methods.

A method is the frozen dataclass of its parameters. It gives the promise and the noisy events of a release
before anything is drawn, and it draws the release. Commands, plans, audits and certificates take everything
they need to know about a method from its class. A new method is one file and one line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from crowdveil.accounting.events import Event, PrivateEvent
from crowdveil.accounting.rounding import up
from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import ONE_NAME, Guarantee, NoGuarantee, Promise, Scope
from crowdveil.plain_data import construct, fits
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.expected_error import Expectation
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release


class ReleaseMethod(ABC):
    """A method of publishing claims, with its parameters."""

    name: ClassVar[str]
    synthetic: ClassVar[bool] = True
    """Whether released values are drawn from a density; if not, each is one claim with noise."""

    depends_on_counts: ClassVar[bool] = False
    """Whether epsilon depends on the numbers of claims per object."""

    range: Range | None
    """The public range of values."""

    @abstractmethod
    def promise(self, pattern: Pattern) -> Promise:
        """The promise of a release of claims with this pattern; a guarantee is also what is charged.

        The pattern is used only where it is public: never under adjacency add-remove.
        """

    def user_promise(self, pattern: Pattern) -> Promise | None:
        """The promise to the user with the most claims about all of them, for methods that protect claims.

        None where that number is not public, and for methods that protect users anyway. The parts of a
        release are drawn object by object, so what is promised about each claim composes over a user's.
        """
        promise = self.promise(pattern)
        if not isinstance(promise, Guarantee) or promise.scope != Scope("claim", "replace-one", "central"):
            return None
        most = max(1, pattern.most)
        epsilon, delta = (up(Fraction(number) * most) for number in (promise.epsilon, promise.delta))
        if delta >= 1:
            return NoGuarantee(f"the deltas of {most} claims of one user add up to 1 or more")
        return self.to_users(promise, epsilon, delta)

    @staticmethod
    def to_users(promise: Guarantee, epsilon: float, delta: float) -> Guarantee:
        """A promise about claims as one to users about all their claims, at another price."""
        assumptions = (*promise.assumptions, ONE_NAME)
        return replace(promise, unit="user", epsilon=epsilon, delta=delta, assumptions=assumptions)

    @property
    def may_lack_claims(self) -> bool:
        """Whether no claims at all are released like any others, as there might have been one."""
        return False

    def guarantee(self, epsilon: float) -> Guarantee:
        """The guarantee of a release that costs `epsilon`, for methods whose epsilon depends on counts."""
        raise ParameterError(f"the epsilon of {self.name} follows from its parameters, it is not {epsilon:g}")

    def events(self, pattern: Pattern) -> tuple[Event, ...]:
        """The noisy events of a release; the promise is their composition."""
        promise = self.promise(pattern)
        return (PrivateEvent(promise.epsilon, promise.delta),) if isinstance(promise, Guarantee) else ()

    def settled(self, claims: Claims, engine: Engine | None = None) -> Self:  # noqa: ARG002
        """The method with everything decided that its parameters leave to the public pattern of the claims.

        Values are not looked at.
        """
        return self

    def used(self, claims: Claims) -> Claims:
        """The claims that a release uses, with values clamped to the range; idempotent."""
        if self.range is None:
            return claims
        return claims.clamped(self.range.low, self.range.high)[0]

    def unlisted(self, claims: Claims) -> int:  # noqa: ARG002, most methods take no list
        """How many claims are about objects that are not on the list of objects."""
        return 0

    def left_out(self, claims: Claims) -> int:  # noqa: ARG002, most methods use all claims
        """How many objects have no claim among those that a release uses, and so are not in it."""
        return 0

    def expectation(
        self,
        claims: Claims,  # noqa: ARG002
        spread: float | None = None,  # noqa: ARG002
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Expectation | None:
        """The error to expect if an object's claims spread so; None if it is not known.

        Like the promise it depends on who made claims about what, never on a value, and only where that is
        public.
        """
        return None

    def refuse_useless(  # noqa: B027
        self, claims: Claims, spread: float | None = None, engine: Engine | None = None
    ) -> None:
        """Raise `ParameterError` if the public pattern shows that a release would be mostly noise."""

    @abstractmethod
    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        """Draw a release of these claims. Its promise must be charged before."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON data, for the certificate and the ledger."""

    def public(self, pattern: Pattern) -> dict[str, Any]:
        """Public numbers besides the parameters on which the promises depend, as plain JSON data."""
        return {} if self.user_promise(pattern) is None else {"claims_of_a_user": max(1, pattern.most)}

    @classmethod
    def from_dict(cls, stated: Mapping[str, Any]) -> Self:
        """The method with the parameters that `to_dict` gave; `ParameterError` for anything else."""
        values = dict(stated)
        ends = values.get("range")
        if ends is not None:
            if not fits(ends, tuple[float, float]):
                raise ParameterError("parameters.range is not what belongs there")
            values["range"] = Range(*ends)
        method = construct(cls, values, "parameters.")
        missing = method.to_dict().keys() - stated.keys()
        if missing:
            raise ParameterError(f"parameters.{min(missing)} is missing")
        return method

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def required(cls) -> tuple[str, ...]:
        """The names of the parameters that have no default."""
        return tuple(
            field.name
            for field in fields(cls)  # type: ignore[arg-type]
            if field.default is MISSING and field.default_factory is MISSING
        )


def release(
    claims: Claims,
    parameters: ReleaseMethod,
    *,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Release:
    """Publish claims by a method; the result is synthetic or noisy claims with their promise.

    Parameters
    ----------
    claims:
        The raw claims; they are not part of the result.
    parameters:
        The method with its parameters, such as `Certified(epsilon=2, range=Range(0, 10))`.
    rng:
        The source of randomness; by default a secure one, which cannot be repeated.
    engine:
        Where the loops run; by default on all cores of this machine.

    Nothing is charged to a ledger: this is for audits, plans and experiments. `crowdveil.release` charges one
    (`operations.release_claims`), and so does the command.

    """
    engine = engine or LocalEngine()
    parameters = parameters.settled(claims, engine)
    return parameters.draw(parameters.used(claims), rng=rng or secure(), engine=engine)
