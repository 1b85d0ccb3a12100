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


def _gaussian_exponential(
    range: Range, resolution: float | None = None, rate: float | None = None, epsilon: float | None = None
) -> Laplace:
    """Fresh variances of that rate, or of the rate that gives a claim that epsilon: Laplace noise."""
    if (rate is None) == (epsilon is None):
        raise ParameterError("gaussian-exponential takes either a rate or an epsilon")
    return fresh_variance(rate, range, resolution) if rate else Laplace(epsilon or 0.0, range, resolution)


MECHANISMS: dict[str, Callable[..., Mechanism]] = {
    "laplace": Laplace,
    "gaussian-exponential": _gaussian_exponential,
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
            ends = given.pop("range")
            if not all(type(number) in (int, float) for number in (*ends, *given.values())):
                raise TypeError
            low, high = ends
            mechanism = MECHANISMS[self.mechanism](range=Range(low, high), **given)
            _ = mechanism.law  # nothing is left that could fail once something was spent
        except ParameterError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ParameterError(f"these are not the parameters of {self.mechanism!r}") from None
        return mechanism
