"""What every release method offers.

A method is the frozen dataclass of its parameters: it says what a release would promise and which noisy
events it consists of, before anything is drawn, and draws it. Commands, plans, audits and certificates read
all they need to know of a method from its class. A new method is one file and one line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Self

from crowdveil.accounting.events import Event, PrivateEvent
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.plain_data import construct, fits
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release


class ReleaseMethod(ABC):
    """Parameters of one way to publish claims, and what it promises."""

    name: ClassVar[str]
    synthetic: ClassVar[bool] = True
    """Whether released values are drawn from a density; else each is one person's own, with noise."""

    depends_on_counts: ClassVar[bool] = False
    """Whether epsilon depends on how many claims objects have."""

    range: Range | None
    """The public range of values."""

    @abstractmethod
    def promise(self, pattern: Pattern) -> Promise:
        """What a release of claims with this pattern costs and promises.

        The pattern is used only where it is public: never under adjacency add-remove.
        """

    def guarantee(self, epsilon: float) -> Guarantee:
        """What is promised where the release costs `epsilon`, for methods whose epsilon depends on counts."""
        raise ParameterError(f"the epsilon of {self.name} follows from its parameters, it is not {epsilon:g}")

    def events(self, pattern: Pattern) -> tuple[Event, ...]:
        """The noisy events of such a release, of which the promise is the composition."""
        promise = self.promise(pattern)
        return (PrivateEvent(promise.epsilon, promise.delta),) if isinstance(promise, Guarantee) else ()

    def used(self, claims: Claims) -> Claims:
        """The claims that a release looks at, with values pulled into the range; idempotent."""
        if self.range is None:
            return claims
        return claims.clamped(self.range.low, self.range.high)[0]

    def refuse_useless(self, pattern: Pattern) -> None:  # noqa: B027, most methods have no such limit
        """Raise a `ParameterError` if a public pattern tells that a release would be little but noise."""

    @abstractmethod
    def draw(self, claims: Claims, *, rng: Randomness, engine: LocalEngine) -> Release:
        """The release of these claims; charge what it promises before."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What was asked for, as plain JSON data for the certificate and the ledger."""

    def public(self, pattern: Pattern) -> dict[str, Any]:  # noqa: ARG002, most promises need no count
        """Public numbers that the promise depends on besides the parameters, as plain JSON data."""
        return {}

    @classmethod
    def from_dict(cls, stated: Mapping[str, Any]) -> Self:
        """The method with the parameters that `to_dict` wrote down; `ParameterError` for anything else."""
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
    engine: LocalEngine | None = None,
) -> Release:
    """Publish claims by a method: synthetic or noisy ones, with the promise that they carry.

    Parameters
    ----------
    claims:
        The raw claims; they do not leave this function.
    parameters:
        The method with its parameters, such as `Certified(epsilon=2, range=Range(0, 10))`.
    rng:
        Where draws come from; by default a secure source that nobody can repeat.
    engine:
        Where the work is done; by default all cores of this machine.

    Nothing is charged to a ledger: `operations.release` does that, as the command does.

    """
    return parameters.draw(parameters.used(claims), rng=rng or secure(), engine=engine or LocalEngine())
