"""What tests of delta(epsilon) compare with."""

from __future__ import annotations

from collections.abc import Callable
from math import exp


def hockey_stick(p: list[float], q: list[float], epsilon: float) -> float:
    return sum(max(0.0, a - exp(epsilon) * b) for a, b in zip(p, q, strict=True))


def falls(function: Callable[[float], float], low: float, high: float) -> bool:
    return function(high) <= function(low) * (1 + 1e-9) + 1e-300
