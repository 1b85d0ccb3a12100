"""The public grid that claims are rounded to, so that noise can be exact: whole steps on whole steps."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.cells import LARGEST_VALUE
from crowdveil.errors import ParameterError
from crowdveil.public_range import STEPS_IN_RANGE, Range, check_resolution
from crowdveil.randomness.samplers import INTEGER_LIMIT

DEVIATIONS = 50.0  # noise does not lead farther: Laplace noise has a chance of e^-70 to


@dataclass(frozen=True)
class Grid:
    """The places low, low + step, ..., low + steps * step, which cover [low, high]."""

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        Range(self.low, self.high)  # refuses ends that are none
        check_resolution(self.step)
        if not (self.high - self.low) / self.step < INTEGER_LIMIT:
            raise ParameterError("the resolution is too fine for this range: use a coarser one")

    @classmethod
    def of(cls, range: Range, resolution: float | None) -> Grid:
        """The grid of a range, by default of 1,000 steps."""
        default = (range.high - range.low) / STEPS_IN_RANGE
        return cls(range.low, range.high, default if resolution is None else resolution)

    @property
    def steps(self) -> int:
        """How far one claim can move on the grid: its sensitivity."""
        return max(1, ceil((self.high - self.low) / self.step))

    def places(self, values: Floats) -> Ints:
        """The nearest place of each value, or of the end that it lies beyond; halves go to the even place."""
        inside = np.clip(values, self.low, self.high)
        nearest = np.rint((inside - self.low) / self.step)
        return np.clip(nearest, 0, self.steps).astype(np.int64)

    def values(self, places: Ints) -> Floats:
        """The value at each place, also beyond the ends."""
        there: Floats = self.low + self.step * places.astype(np.float64)
        return there

    def farthest(self, deviation: float) -> int:
        """The farthest place that noise of that standard deviation, in steps, is taken to lead to."""
        return self.steps + ceil(DEVIATIONS * deviation)

    def check_noise(self, deviation: float) -> None:
        """Refuse noise, of that standard deviation in steps, that could lead beyond the largest value."""
        farthest = max(abs(self.low), abs(self.high)) + DEVIATIONS * deviation * self.step
        if not farthest <= LARGEST_VALUE:
            raise ParameterError(f"range and noise together go beyond {LARGEST_VALUE:g}")
