"""An object's claims as a curve, and how steep and wide that curve is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.kernels.reliability import weighted_spread
from crowdveil.release.weights import SILVERMAN, WIDEN

Floats = NDArray[np.float64]


def curve(points: Floats, claims: Floats, weights: Floats | None, bandwidth: float) -> Floats:
    """The Gaussian kernel density of weighted claims at `points`; weights None: all equal."""
    z = (points[:, None] - claims[None, :]) / bandwidth
    kernels = np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * bandwidth)
    heights: Floats = kernels.mean(axis=1) if weights is None else kernels @ weights
    return heights


def support(claims: Floats, bandwidth: float) -> tuple[float, float]:
    """Where the curve is not negligible: four bandwidths around all claims."""
    return float(claims.min() - 4 * bandwidth), float(claims.max() + 4 * bandwidth)


def steepest_slope(claims: Floats, weights: Floats, bandwidth: float) -> float:
    """sup |f'|, on a grid fine enough to be exact to about 1 %."""
    low, high = support(claims, bandwidth)
    count = int(min(20_000, max(400, 20 * (high - low) / bandwidth)))
    points = np.linspace(low, high, count)
    z = (points[:, None] - claims[None, :]) / bandwidth
    slopes = (-z * np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * bandwidth**2)) @ weights
    return float(np.abs(slopes).max())


def weighted_bandwidth(claims: Floats, weights: Floats) -> float:
    """h = 1.15 * 1.06 s_w n_eff^(-1/5) for claims that ascend and weights that sum to one."""
    return float(WIDEN * SILVERMAN * weighted_spread(claims, weights))
