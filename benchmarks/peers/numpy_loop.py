"""NumPy alone, object by object: whole kernel matrices."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.peers.object_loop import Floats, release
from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"numpy {np.__version__}"
DRAWS = 30
AT_ONCE = 1000  # objects


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


def fit_and_sample_at_once(inputs: Arrays) -> Steps:
    """The same for a thousand objects at a time: possible where all have the same number of claims."""
    count = inputs["bandwidths"].size
    x, c = inputs["values"].reshape(count, -1), inputs["combined"].reshape(count, -1)
    h = inputs["bandwidths"][:, None]
    densities, draws = np.empty(x.shape), np.empty((count, DRAWS))
    rng = np.random.default_rng()
    yield
    for first in range(0, count, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        claims, weights, width = x[part], c[part], h[part]
        z = (claims[:, :, None] - claims[:, None, :]) / width[:, :, None]
        kernels = np.exp(-0.5 * z * z)
        densities[part] = (kernels @ weights[:, :, None])[:, :, 0] / (width * math.sqrt(2 * math.pi))
        sums = weights.cumsum(axis=1)
        places = rng.random((claims.shape[0], DRAWS)) * sums[:, -1:]
        seeds = (places[:, :, None] >= sums[:, None, :-1]).sum(axis=2)
        draws[part] = np.take_along_axis(claims, seeds, axis=1) + width * rng.standard_normal(seeds.shape)
    yield
    return {"densities": densities.ravel(), "draws": draws}


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
