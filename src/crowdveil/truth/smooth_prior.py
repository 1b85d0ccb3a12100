"""A smooth law of truths on a grid, learned from beliefs about objects: few objects do not make it jagged.

It maximizes the likelihood less a penalty on the second derivative of its logarithm, so that with little to
learn from it is an exponential law (flat, or leaning to an end of the range) and with much whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.kernels.products import product

PENALTY = 3e-3  # times the integral of the squared second derivative, on a range of length 1
PSEUDO_OBJECTS = 1.0  # spread over the grid: one object does not tell the law of all
_NEWTON = 2
_LONGEST_STEP = 2.0  # of a logarithm


@dataclass(frozen=True)
class SmoothPrior:
    """The penalty that makes laws on a grid smooth."""

    penalty: Floats  # (T, T)

    @classmethod
    def of(cls, points: int, step: float) -> SmoothPrior:
        """For so many points, `step` apart in ranges."""
        bends = np.diff(np.eye(points), 2, axis=0) / step**2
        return cls(PENALTY * step * product(bends.T, bends))

    def goodness(self, logs: Floats) -> float:
        """What a law, in logs, loses by the penalty and gains by pseudo-objects."""
        return float(PSEUDO_OBJECTS * logs.mean() - 0.5 * product(logs, product(self.penalty, logs)))

    def improved(self, logs: Floats, beliefs: Floats) -> Floats:
        """A better law, in logs, for these beliefs (objects, points): some steps of Newton's."""
        points = logs.size
        seen = beliefs.sum(axis=0) + PSEUDO_OBJECTS / points
        whole = float(seen.sum())
        for _ in range(_NEWTON):
            law = np.exp(logs - logs.max())
            law /= law.sum()
            gradient = seen - whole * law - product(self.penalty, logs)
            curvature = np.diag(whole * law) - whole * np.outer(law, law) + self.penalty
            # The logarithm's level is free: a ridge holds it.
            step = np.linalg.solve(curvature + 1e-6 * whole / points * np.eye(points), gradient)
            logs = logs + step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-9))
        normed: Floats = logs - np.log(np.exp(logs - logs.max()).sum()) - logs.max()
        return normed
