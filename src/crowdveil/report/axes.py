"""Axes of charts: where a number lies on the page, and round numbers along the way."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.report.numbers import number, together


def ticks(low: float, high: float, most: int = 6) -> Floats:
    """At most `most` round numbers between low and high, and as many as that allows."""
    rough = (high - low) / (most + 1)
    if not rough > 1e-15 * max(abs(low), abs(high)):
        return np.array([low])
    power = 10.0 ** floor(log10(rough))
    for step in (power * factor for factor in (1, 2, 5, 10, 20, 50)):
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first < most:
            break
    return np.arange(first, last + 1, dtype=np.float64) * step


def logarithmic_ticks(low: float, high: float, most: int = 8) -> Floats:
    """At most `most` of 1, 2, 5, 10, 20, ... between low and high, or else powers of ten; never none."""
    powers = np.arange(floor(log10(low)) - 1, ceil(log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        chosen = np.array([factor * 10.0**power for power in powers for factor in factors])
        inside = chosen[(chosen >= low * (1 - 1e-9)) & (chosen <= high * (1 + 1e-9))]
        if 2 <= inside.size <= most:
            return inside
    return inside[:: ceil(inside.size / most)] if inside.size > 1 else np.array([low, high])


def padded(values: Floats, share: float = 0.04) -> tuple[float, float]:
    """The smallest and the largest value with some space beyond, also where all are equal."""
    low, high = float(values.min()), float(values.max())
    space = share * (high - low)
    if not space > 1e-12 * max(abs(low), abs(high)):
        space = 0.5 if low == high == 0 else 0.05 * max(abs(low), abs(high))
    return low - space, high + space


@dataclass(frozen=True)
class Axis:
    """An axis on which `low` lies at `start` and `high` at `end`, in pixels or percents of the page."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise ParameterError("an axis needs two finite numbers, the smaller first")
        if self.logarithmic and self.low <= 0:
            raise ParameterError("a logarithmic axis begins above 0")

    def at(self, values: Floats) -> Floats:
        """Where values lie on the page."""
        if self.logarithmic:
            share: Floats = np.log(values / self.low) / np.log(self.high / self.low)
        else:
            share = (values - self.low) / (self.high - self.low)
        places: Floats = self.start + share * (self.end - self.start)
        return places

    def place(self, value: float) -> float:
        """Where one value lies on the page."""
        return float(self.at(np.array([value]))[0])

    def labels(self, most: int = 6, letters: int | None = None) -> list[tuple[str, float]]:
        """Round numbers and where they lie: at most `most`, and not more than fit into `letters`."""
        for number_of_ticks in range(most, 1, -1):
            chosen = self._ticks(number_of_ticks)
            texts = (
                [number(tick) for tick in chosen.tolist()] if self.logarithmic else together(chosen.tolist())
            )
            if letters is None or sum(len(text) + 2 for text in texts) <= letters:
                break
        return list(zip(texts, self.at(chosen).tolist(), strict=True))

    def _ticks(self, most: int) -> Floats:
        return (logarithmic_ticks if self.logarithmic else ticks)(self.low, self.high, most)
