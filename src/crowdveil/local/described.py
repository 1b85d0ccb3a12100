"""A mechanism as plain data, to be kept beside what it made and to be built again from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crowdveil.errors import ParameterError
from crowdveil.local.gaussian_exponential import VariancePerUser, fresh_variance
from crowdveil.local.laplace import Laplace
from crowdveil.local.perturbed import Mechanism
from crowdveil.public_range import Range

MECHANISMS: dict[str, Callable[..., Mechanism]] = {
    "laplace": Laplace,
    "gaussian-exponential": fresh_variance,
    "gaussian-exponential-per-user": VariancePerUser,
}


@dataclass(frozen=True)
class Description:
    """A mechanism's name and its parameters: numbers, and `range` as a list of two."""

    mechanism: str
    parameters: Mapping[str, Any]

    def build(self) -> Mechanism:
        """The mechanism that is described."""
        if self.mechanism not in MECHANISMS:
            raise ParameterError(f"there is no mechanism {self.mechanism!r}: is this version too old?")
        given = dict(self.parameters)
        try:
            low, high = given.pop("range")
            return MECHANISMS[self.mechanism](range=Range(float(low), float(high)), **given)
        except (KeyError, TypeError, ValueError):
            raise ParameterError(f"these are not the parameters of {self.mechanism!r}") from None
