"""The public interval in which all values lie, and its default grid."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from crowdveil.cells import LARGEST_VALUE
from crowdveil.errors import ParameterError

STEPS_IN_RANGE = 1000
SHORTEST = 1e-100  # squares of shorter ranges underflow
NARROWEST = 1e-10  # relative to the larger end: in narrower ranges rounding would hide the steps of a grid


@dataclass(frozen=True)
class Range:
    """A public interval in which all values lie; it is declared, never taken from the data.

    >>> Range(0, 10).length
    10.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            object.__setattr__(self, end, _float(getattr(self, end)))
        if not (isfinite(self.low) and isfinite(self.high)):
            raise ParameterError("a range needs two finite numbers, LOW:HIGH")
        if max(abs(self.low), abs(self.high)) > LARGEST_VALUE:
            raise ParameterError(f"the range goes beyond {LARGEST_VALUE:g}")
        if self.low >= self.high:
            raise ParameterError(f"the range {self.low:g}:{self.high:g} is empty: LOW must be below HIGH")
        if self.length < max(SHORTEST, NARROWEST * max(abs(self.low), abs(self.high))):
            raise ParameterError("the range is too narrow for numbers of its size")

    @property
    def length(self) -> float:
        """high - low."""
        return self.high - self.low


def _float(end: float) -> float:
    try:
        return float(end)
    except OverflowError:
        return inf


def check_resolution(resolution: float | None) -> None:
    """Raise an error unless the resolution is None or a positive number below `LARGEST_VALUE`."""
    if resolution is not None and not 0 < resolution < LARGEST_VALUE:
        raise ParameterError(f"resolution must be a number above 0, not {resolution:g}")
