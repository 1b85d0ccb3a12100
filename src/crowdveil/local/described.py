"""A mechanism as plain data, to be kept beside what it made and to be built again from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from crowdveil.answers import Domain
from crowdveil.errors import ParameterError
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.gaussian_exponential import VariancePerUser, fresh_variance
from crowdveil.local.laplace import Laplace
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.perturbed import Mechanism
from crowdveil.local.reports import SparseMechanism
from crowdveil.local.slot_response import SlotResponse
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer
from crowdveil.public_range import Range

M = TypeVar("M")


def _gaussian_exponential(
    range: Range, resolution: float | None = None, rate: float | None = None, epsilon: float | None = None
) -> Laplace:
    """Fresh variances of that rate, or of the rate that gives a claim that epsilon: Laplace noise."""
    if (rate is None) == (epsilon is None):
        raise ParameterError("gaussian-exponential takes either a rate or an epsilon")
    return fresh_variance(rate, range, resolution) if rate else Laplace(epsilon or 0.0, range, resolution)


OF_CLAIMS: dict[str, Callable[..., Mechanism]] = {
    "laplace": Laplace,
    "gaussian-exponential": _gaussian_exponential,
    "gaussian-exponential-per-user": VariancePerUser,
}
OF_CELLS: dict[str, Callable[..., SparseMechanism]] = {
    "cell-response": CellResponse,
    "two-layer": TwoLayer,
    "lp": LaplaceCells,
    "mf": Factorization,
    "mf-sound": SoundFactorization,
    "slots": SlotResponse,
}


@dataclass(frozen=True)
class Description:
    """A mechanism's name and its parameters: numbers, and `range` as a list of two."""

    mechanism: str
    parameters: Mapping[str, Any]

    @property
    def of_cells(self) -> bool:
        """Whether it reports about every cell, and not about claims that were made."""
        return self.mechanism in OF_CELLS

    def build(self) -> Mechanism:
        """The mechanism that is described, which adds noise to claims."""
        return self._built(OF_CLAIMS, lambda low, high: {"range": Range(low, high)}, lambda made: made.law)

    def build_for_cells(self) -> SparseMechanism:
        """The mechanism that is described, which reports about every cell."""
        return self._built(
            OF_CELLS, lambda low, high: {"domain": Domain(low, high)}, lambda made: made.cell_level()
        )

    def _built(
        self,
        known: Mapping[str, Callable[..., M]],
        scale: Callable[..., dict[str, Any]],
        tried: Callable[[M], object],
    ) -> M:
        if self.mechanism not in known:
            raise ParameterError(f"there is no mechanism {self.mechanism!r}: is this version too old?")
        given = dict(self.parameters)
        try:
            ends = given.pop("range")
            if not all(type(number) in (int, float) for number in (*ends, *given.values())):
                raise TypeError
            mechanism = known[self.mechanism](**scale(*ends), **given)
            tried(mechanism)  # nothing is left that could fail once something was spent
            return mechanism
        except ParameterError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ParameterError(f"these are not the parameters of {self.mechanism!r}") from None
