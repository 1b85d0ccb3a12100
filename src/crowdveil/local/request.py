"""What somebody asks for before a mechanism and its parameters are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crowdveil.answers import Domain
from crowdveil.errors import ParameterError
from crowdveil.public_range import Range


@dataclass(frozen=True)
class MechanismRequest:
    """A strength, a public range, and whatever else some mechanism can be asked for.

    Parameters
    ----------
    range:
        The public range of values; for answers on a scale its ends are whole numbers.
    epsilon:
        How strong, in the unit of the mechanism. Some mechanisms take another option in its place.
    users, objects:
        How many there are, for mechanisms that choose their parameters by it.
    options:
        Options of single mechanisms by name, as `Mechanism.options` lists them. None is "not given".

    """

    range: Range
    epsilon: float | None = None
    users: int = 0
    objects: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def strength(self) -> float:
        """Epsilon, which must be given."""
        if self.epsilon is None:
            raise ParameterError("how strong? Add --epsilon E")
        return self.epsilon

    @property
    def domain(self) -> Domain:
        """The range as a scale of whole numbers."""
        return whole_domain(self.range)

    @property
    def sparsity(self) -> float:
        """The expected share of cells without an answer, which must be given."""
        if self.options.get("sparsity") is None:
            raise ParameterError(
                "how many answers do you expect? Add --sparsity S, the share of cells without one, as you "
                "know it beforehand and not from these data"
            )
        return float(self.options["sparsity"])

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the named options that were given."""
        return {name: self.options[name] for name in names if self.options.get(name) is not None}


def whole_domain(limits: Range) -> Domain:
    """LOW:HIGH as the whole numbers between."""
    if not (limits.low.is_integer() and limits.high.is_integer()):
        raise ParameterError("answers lie on a scale of whole numbers: --range takes LOW:HIGH, like 0:4")
    return Domain(int(limits.low), int(limits.high))
