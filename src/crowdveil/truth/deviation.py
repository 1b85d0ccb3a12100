"""Inverse deviation: a user's weight is 1 / (root mean squared residual)."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.truth import sweeps
from crowdveil.truth.catd import floored
from crowdveil.truths import Truths


def discover(claims: Claims, *, start: Truths | None = None, engine: Engine | None = None) -> Truths:
    """Truths by inverse deviation."""

    def weigh(losses: Floats, counts: Ints) -> Floats:
        weights: Floats = 1.0 / np.sqrt(floored(losses, counts) / counts)
        return weights

    return sweeps.discover(claims, weigh, method="inverse-deviation", start=start, engine=engine)
