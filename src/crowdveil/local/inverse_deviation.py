"""Inverse deviation where every user has a number for every object, as reports of all cells are.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018,
algorithm 1. Truths are means by users' weights; a user weighs one over the root of their mean squared
distance to the truths. Whoever holds the numbers passes the two steps, so that no table is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats

TOLERANCE = 1e-5  # of the scale of numbers
CAP = 100
LEAST_LOSS = 1e-3  # of the mean loss: nobody is trusted beyond that


@dataclass(frozen=True, eq=False)
class Inferred:
    """A truth for each object and a weight for each user."""

    truths: Floats  # (N,)
    weights: Floats  # (M,) only ratios matter
    sweeps: int
    converged: bool


def infer(
    users: int, means: Callable[[Floats], Floats], losses: Callable[[Floats], Floats], *, scale: float
) -> Inferred:
    """Sweep until no truth moves by more than a hundred-thousandth of `scale`, from equal weights.

    `means` gives truths from weights, `losses` users' mean squared distances from truths.
    """
    weights = np.full(users, 1.0 / users)
    truths = means(weights)
    for sweep in range(1, CAP + 1):
        loss = losses(truths)
        mean = float(loss.mean())
        weights = 1.0 / np.sqrt(np.maximum(loss, LEAST_LOSS * mean if mean > 0 else 1.0))
        weights /= weights.sum()
        before, truths = truths, means(weights)
        if float(np.abs(truths - before).max()) <= TOLERANCE * scale:
            return Inferred(truths, weights, sweep, converged=True)
    return Inferred(truths, weights, CAP, converged=False)
