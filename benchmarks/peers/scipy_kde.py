"""SciPy's `gaussian_kde` with weights, object by object."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from scipy.stats import gaussian_kde

from benchmarks.peers.object_loop import Floats, release
from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"scipy {scipy.__version__}"
DRAWS = 30


def fit_and_sample(inputs: Arrays) -> Steps:
    """Fit with the given weights and bandwidth, the density at the claims, thirty draws."""
    offsets, x, c = inputs["offsets"].tolist(), inputs["values"], inputs["combined"]
    objects = list(pairwise(offsets))
    # SciPy takes a bandwidth as a factor on the weighted standard deviation; that one is not timed.
    factors = [
        float(h) / _weighted_deviation(x[a:b], c[a:b])
        for h, (a, b) in zip(inputs["bandwidths"], objects, strict=True)
    ]
    densities, draws = np.empty(x.size), np.empty((len(objects), DRAWS))
    rng = np.random.default_rng()
    yield
    for i, (a, b) in enumerate(objects):
        kde = gaussian_kde(x[a:b], bw_method=factors[i], weights=c[a:b])
        densities[a:b] = kde(x[a:b])
        draws[i] = kde.resample(DRAWS, seed=rng)
    yield
    return {"densities": densities, "draws": draws}


def whole_release(inputs: Arrays) -> Steps:
    """The whole method, with SciPy for every sum over an object's claims."""
    return release(inputs, _Sums)


class _Sums:
    """Kernel sums of one object."""

    def __init__(self, x: Floats, h: float) -> None:
        self._x, self._h = x, h

    def __call__(self, w: Floats) -> Floats:
        factor = self._h / _weighted_deviation(self._x, w)
        kde = gaussian_kde(self._x, bw_method=factor, weights=w)
        heights: Any = kde(self._x) * (self._h * math.sqrt(2 * math.pi))
        return np.asarray(heights)


def _weighted_deviation(x: Floats, w: Floats) -> float:
    apart = x - w @ x
    return math.sqrt((w @ (apart * apart)) / (1.0 - w @ w))
