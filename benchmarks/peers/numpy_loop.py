"""NumPy alone, object by object: whole kernel matrices."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.peers.object_loop import Floats, release
from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"numpy {np.__version__}"
DRAWS = 30


def fit_and_sample(inputs: Arrays) -> Steps:
    """The density at the claims with the given weights and bandwidth, thirty draws."""
    offsets, x, c = inputs["offsets"].tolist(), inputs["values"], inputs["combined"]
    bandwidths = inputs["bandwidths"].tolist()
    densities, draws = np.empty(x.size), np.empty((len(bandwidths), DRAWS))
    rng = np.random.default_rng()
    yield
    for i, h in enumerate(bandwidths):
        a, b = offsets[i], offsets[i + 1]
        claims, weights = x[a:b], c[a:b]
        z = (claims[:, None] - claims) / h
        densities[a:b] = np.exp(-0.5 * z * z) @ weights / (h * math.sqrt(2 * math.pi))
        sums = weights.cumsum()
        seeds = sums[:-1].searchsorted(rng.random(DRAWS) * sums[-1], side="right")
        draws[i] = claims[seeds] + h * rng.standard_normal(DRAWS)
    yield
    return {"densities": densities, "draws": draws}


def whole_release(inputs: Arrays) -> Steps:
    """The whole method; an object's kernel matrix is computed once and kept."""
    return release(inputs, _Sums)


class _Sums:
    """Kernel sums of one object."""

    def __init__(self, x: Floats, h: float) -> None:
        z = (x[:, None] - x) / h
        self._matrix = np.exp(-0.5 * z * z)

    def __call__(self, w: Floats) -> Floats:
        sums: Floats = self._matrix @ w
        return sums
