"""Inversion of delta(epsilon): the epsilon at a given delta."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.accounting.rounding import ROUNDING

_HALVINGS = 200


def smallest_epsilon(delta_at: Callable[[float], float], delta: float, *, most: float) -> float:
    """The smallest epsilon with delta_at(epsilon) <= delta, by bisection and rounded up.

    `delta_at` must decrease in epsilon, and delta_at(most) <= delta must hold.
    """
    if most == 0 or delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if high - low <= ROUNDING * high or not low < middle < high:
            break
        if delta_at(middle) <= delta:
            high = middle
        else:
            low = middle
    return high
