"""scikit-learn's `KernelDensity` with sample weights, object by object."""

from __future__ import annotations

import numpy as np
import sklearn  # type: ignore[import-not-found, import-untyped, unused-ignore]
from sklearn.neighbors import KernelDensity  # type: ignore[import-not-found, import-untyped, unused-ignore]

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"scikit-learn {sklearn.__version__}"
DRAWS = 30


def fit_and_sample(inputs: Arrays) -> Steps:
    """Fit with the given weights and bandwidth, the density at the claims, thirty draws."""
    offsets, x, c = inputs["offsets"].tolist(), inputs["values"][:, None], inputs["combined"]
    bandwidths = inputs["bandwidths"].tolist()
    densities, draws = np.empty(c.size), np.empty((len(bandwidths), DRAWS))
    state = np.random.RandomState()  # what its sampler takes
    yield
    for i, h in enumerate(bandwidths):
        a, b = offsets[i], offsets[i + 1]
        kde = KernelDensity(bandwidth=h).fit(x[a:b], sample_weight=c[a:b])
        densities[a:b] = np.exp(kde.score_samples(x[a:b]))
        draws[i] = kde.sample(DRAWS, random_state=state)[:, 0]
    yield
    return {"densities": densities, "draws": draws}
