"""Expectation and maximization in leaps: two steps tell where many more would lead.

Reference: Varadhan and Roland, *Simple and Globally Convergent Methods for Accelerating the Convergence of
Any EM Algorithm* (SQUAREM), Scandinavian Journal of Statistics 35 (2008), step length S3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats

LONGEST = 4.0  # the first leap, in steps at most
CHANGE = 4.0  # how much longer the next may be, or how much shorter
_TINY = np.finfo(float).tiny

Step = Callable[[Floats], tuple[Floats, float]]
"""Better parameters than the given ones, and how good the given ones are."""


@dataclass
class Leaps:
    """Leaps with one kind of step; they grow longer as long as they lead to better places."""

    step: Step
    longest: float = LONGEST

    def leap(self, parameters: Floats) -> Floats:
        """Three steps, the last one from where the first two point to; or two if that is no better."""
        first, _ = self.step(parameters)
        second, good = self.step(first)
        moved, bent = first - parameters, second - 2.0 * first + parameters
        length = _norm(moved) / max(_norm(bent), _TINY)
        length = max(1.0, length)
        taken = min(length, self.longest)
        third, better = self.step(parameters + 2.0 * taken * moved + taken**2 * bent)
        if better < good:
            self.longest = max(1.0, self.longest / CHANGE)
            return second
        if taken < length:
            self.longest *= CHANGE
        return third


def _norm(vector: Floats) -> float:
    return math.sqrt(float(np.square(vector).sum()))
