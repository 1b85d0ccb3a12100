"""Down a smooth slope to its lowest point: L-BFGS, in plain sums.

Not SciPy's: its sums go through BLAS, whose threads change last digits (and take many times as long on a
machine that is busy); here a result is the same wherever it is computed.

Reference: Nocedal and Wright, *Numerical Optimization*, 2006, algorithms 7.4 and 7.5; the length of a step is
found by bisection between one too long and one too short (weak Wolfe conditions).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from crowdveil.arrays import Floats

Slopes = Callable[[Floats], tuple[float, Floats]]
"""The height at a place, and the slopes there."""

REMEMBERED = 20  # steps
ENOUGH, FLATTER = 1e-4, 0.9  # of the descent and of the slope that a step promises
LONGEST_SEARCH = 30
FLAT = 1e-5  # the steepest slope at which a place counts as the lowest one
CLOSE = 2e-9  # of a height: a step that gains less is the last one


def lowest(slopes: Slopes, start: Floats, *, steps: int) -> Floats:
    """Where so many steps lead to, or fewer, if they get nowhere."""
    place = start
    height, slope = slopes(place)
    past: deque[tuple[Floats, Floats]] = deque(maxlen=REMEMBERED)
    for _ in range(steps):
        if np.abs(slope).max() < FLAT:
            break
        way = -_by_curvature(slope, past)
        length = 1.0 if past else min(1.0, 1.0 / sqrt(_dot(slope, slope)))
        found = _step(slopes, place, height, slope, way, length)
        if found is None:
            break
        there, lower, new_slope = found
        gain = height - lower
        past.append((there - place, new_slope - slope))
        place, height, slope = there, lower, new_slope
        if gain <= CLOSE * max(1.0, abs(height)):
            break
    return place


def _by_curvature(slope: Floats, past: deque[tuple[Floats, Floats]]) -> Floats:
    """The slope, times what past steps tell of the inverse of the second derivatives."""
    found = slope.copy()
    taken = []
    for step, change in reversed(past):
        share = _dot(step, found) / _dot(step, change)
        taken.append(share)
        found -= share * change
    if past:
        step, change = past[-1]
        found *= _dot(step, change) / _dot(change, change)
    for (step, change), share in zip(past, reversed(taken), strict=True):
        found += (share - _dot(change, found) / _dot(step, change)) * step
    return found


def _step(
    slopes: Slopes, place: Floats, height: float, slope: Floats, way: Floats, length: float
) -> tuple[Floats, float, Floats] | None:
    """The place, height and slopes after a step that descends enough and ends where it is flatter."""
    descent = _dot(slope, way)
    if not descent < 0.0:
        return None
    shortest, longest = 0.0, inf
    for _ in range(LONGEST_SEARCH):
        there = place + length * way
        lower, new_slope = slopes(there)
        if not lower <= height + ENOUGH * length * descent:
            longest = length
        elif _dot(new_slope, way) < FLATTER * descent:
            shortest = length
        else:
            return there, lower, new_slope
        length = 2.0 * shortest if longest == inf else 0.5 * (shortest + longest)
    return None


def _dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))
