"""The public interval in which all values lie, and the grid it is cut into by default."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from crowdveil.claims import LARGEST_VALUE
from crowdveil.errors import ParameterError

STEPS_IN_RANGE = 1000


@dataclass(frozen=True)
class Range:
    """A public interval in which all values lie; it is declared, never taken from the data."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high)):
            raise ParameterError("a range needs two finite numbers, LOW:HIGH")
        if max(abs(self.low), abs(self.high)) > LARGEST_VALUE:
            raise ParameterError(f"the range goes beyond {LARGEST_VALUE:g}")
        if self.low >= self.high:
            raise ParameterError(f"the range {self.low:g}:{self.high:g} is empty: LOW must be below HIGH")

    @property
    def length(self) -> float:
        """high - low."""
        return self.high - self.low


def check_resolution(resolution: float | None) -> None:
    """Refuse a resolution that is not a positive number of a sensible size."""
    if resolution is not None and not 0 < resolution < LARGEST_VALUE:
        raise ParameterError(f"resolution must be a number above 0, not {resolution:g}")
