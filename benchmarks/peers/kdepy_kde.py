"""KDEpy's exact `NaiveKDE` with weights, object by object (its TreeKDE leaves far claims out)."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from KDEpy import NaiveKDE  # type: ignore[import-not-found, import-untyped, unused-ignore]

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"KDEpy {version('KDEpy')}"
DRAWS = 30


def fit_and_sample(inputs: Arrays) -> Steps:
    """Fit with the given weights and bandwidth, the density at the claims; it has no draws, so NumPy's."""
    offsets, x, c = inputs["offsets"].tolist(), inputs["values"], inputs["combined"]
    bandwidths = inputs["bandwidths"].tolist()
    densities, draws = np.empty(x.size), np.empty((len(bandwidths), DRAWS))
    rng = np.random.default_rng()
    yield
    for i, h in enumerate(bandwidths):
        a, b = offsets[i], offsets[i + 1]
        densities[a:b] = NaiveKDE(kernel="gaussian", bw=h).fit(x[a:b], weights=c[a:b]).evaluate(x[a:b])
        sums = c[a:b].cumsum()
        seeds = sums[:-1].searchsorted(rng.random(DRAWS) * sums[-1], side="right")
        draws[i] = x[a:b][seeds] + h * rng.standard_normal(DRAWS)
    yield
    return {"densities": densities, "draws": draws}
