"""L-BFGS: minimises a smooth function, with sums in one fixed order.

SciPy's L-BFGS sums with BLAS, whose threads change the last digits and are many times slower on a busy
machine. Here a result is the same wherever it is computed.

Reference: Nocedal and Wright, *Numerical Optimization*, 2006, algorithms 7.4 and 7.5. The step length is
found by bisection under the weak Wolfe conditions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from crowdveil.arrays import Floats

Function = Callable[[Floats], tuple[float, Floats]]
"""The value at a point, and the gradient there."""

REMEMBERED = 20  # steps
ENOUGH, FLATTER = 1e-4, 0.9  # the two Wolfe conditions: sufficient decrease, and curvature
LONGEST_SEARCH = 30
FLAT = 1e-5  # the largest entry of a gradient that counts as 0
CLOSE = 2e-9  # relative decrease: a step that gains less is the last one


def lowest(function: Function, start: Floats, *, steps: int) -> Floats:
    """The point after at most this many steps, fewer if they no longer decrease the value."""
    point = start
    value, gradient = function(point)
    past: deque[tuple[Floats, Floats]] = deque(maxlen=REMEMBERED)  # changes of the point and the gradient
    for _ in range(steps):
        if np.abs(gradient).max() < FLAT:
            break
        direction = -_by_curvature(gradient, past)
        length = 1.0 if past else min(1.0, 1.0 / sqrt(_dot(gradient, gradient)))
        step = _step(function, point, value, gradient, direction, length)
        if step is None:
            break
        new_point, new_value, new_gradient = step
        gain = value - new_value
        past.append((new_point - point, new_gradient - gradient))
        point, value, gradient = new_point, new_value, new_gradient
        if gain <= CLOSE * max(1.0, abs(value)):
            break
    return point


def _by_curvature(gradient: Floats, past: deque[tuple[Floats, Floats]]) -> Floats:
    """The gradient times the inverse Hessian as past steps approximate it (algorithm 7.4)."""
    product = gradient.copy()
    shares = []
    for step, change in reversed(past):
        share = _dot(step, product) / _dot(step, change)
        shares.append(share)
        product -= share * change
    if past:
        step, change = past[-1]
        product *= _dot(step, change) / _dot(change, change)
    for (step, change), share in zip(past, reversed(shares), strict=True):
        product += (share - _dot(change, product) / _dot(step, change)) * step
    return product


def _step(
    function: Function, point: Floats, value: float, gradient: Floats, direction: Floats, length: float
) -> tuple[Floats, float, Floats] | None:
    """The point, value and gradient after a step that meets both Wolfe conditions; None if there is none."""
    descent = _dot(gradient, direction)
    if not descent < 0.0:
        return None
    shortest, longest = 0.0, inf
    for _ in range(LONGEST_SEARCH):
        new_point = point + length * direction
        new_value, new_gradient = function(new_point)
        if not new_value <= value + ENOUGH * length * descent:
            longest = length
        elif _dot(new_gradient, direction) < FLATTER * descent:
            shortest = length
        else:
            return new_point, new_value, new_gradient
        length = 2.0 * shortest if longest == inf else 0.5 * (shortest + longest)
    return None


def _dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))
