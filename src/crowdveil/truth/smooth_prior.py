"""A smooth prior of truths on a grid, estimated from the posteriors of objects by penalised likelihood.

The penalty is on the second derivative of the log-density. So with few objects the estimate is close to an
exponential density (flat, or increasing towards one end of the range), and with many it can take any shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.kernels.products import product

PENALTY = 3e-3  # factor of the integral of the squared second derivative, on a range of length 1
PSEUDO_OBJECTS = 1.0  # spread evenly over the grid, added to the objects
_NEWTON = 2
_LONGEST_STEP = 2.0  # of a logarithm


@dataclass(frozen=True)
class SmoothPrior:
    """The quadratic penalty on the log-probabilities of a prior on a grid."""

    penalty: Floats  # (T, T)

    @classmethod
    def of(cls, points: int, step: float) -> SmoothPrior:
        """The penalty for `points` grid points at distance `step`, in units of the range."""
        second_differences = np.diff(np.eye(points), 2, axis=0) / step**2
        return cls(PENALTY * step * product(second_differences.T, second_differences))

    def goodness(self, logs: Floats) -> float:
        """The terms of the objective for a prior (in logs): pseudo-objects minus the penalty."""
        return float(PSEUDO_OBJECTS * logs.mean() - 0.5 * product(logs, product(self.penalty, logs)))

    def improved(self, logs: Floats, beliefs: Floats) -> Floats:
        """An improved prior (in logs) given posteriors of shape (objects, points): two Newton steps."""
        points = logs.size
        expected = beliefs.sum(axis=0) + PSEUDO_OBJECTS / points
        total = float(expected.sum())
        for _ in range(_NEWTON):
            law = np.exp(logs - logs.max())
            law /= law.sum()
            gradient = expected - total * law - product(self.penalty, logs)
            curvature = np.diag(total * law) - total * np.outer(law, law) + self.penalty
            # Adding a constant to the logs changes nothing: a small ridge makes the system regular.
            step = np.linalg.solve(curvature + 1e-6 * total / points * np.eye(points), gradient)
            logs = logs + step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-9))
        normed: Floats = logs - np.log(np.exp(logs - logs.max()).sum()) - logs.max()
        return normed
