"""Accelerated EM: two EM steps are extrapolated to where many more would lead.

Reference: Varadhan and Roland, *Simple and Globally Convergent Methods for Accelerating the Convergence of
Any EM Algorithm* (SQUAREM), Scandinavian Journal of Statistics 35, 2008,
doi:10.1111/j.1467-9469.2007.00585.x, step length S3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats

LONGEST = 4.0  # initial limit of the step length
CHANGE = 4.0  # factor by which the limit grows or shrinks
_TINY = np.finfo(float).tiny

Step = Callable[[Floats], tuple[Floats, float]]
"""One EM step: improved parameters, and the objective at the given ones."""


@dataclass
class Leaps:
    """Accelerated iterations of one EM step; the step length may grow as long as the objective improves."""

    step: Step
    longest: float = LONGEST

    def leap(self, parameters: Floats) -> Floats:
        """Two EM steps and a third from their extrapolation; only the two if the third is no better."""
        first, _ = self.step(parameters)
        second, objective = self.step(first)
        change, curvature = first - parameters, second - 2.0 * first + parameters
        length = _norm(change) / max(_norm(curvature), _TINY)
        length = max(1.0, length)
        limited = min(length, self.longest)
        third, extrapolated = self.step(parameters + 2.0 * limited * change + limited**2 * curvature)
        if extrapolated < objective:
            self.longest = max(1.0, self.longest / CHANGE)
            return second
        if limited < length:
            self.longest *= CHANGE
        return third


def _norm(vector: Floats) -> float:
    return math.sqrt(float(np.square(vector).sum()))
