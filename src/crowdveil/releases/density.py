"""Kernel density estimates of an object's claims, their support, slope and bandwidth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.kernels.bandwidths import weighted_spread
from crowdveil.releases.weights import SILVERMAN, WIDEN

_AT_ONCE = 1_000_000  # pairs (point, claim) held in memory at a time


def _kernel_sum(
    points: Floats, claims: Floats, weights: Floats | None, kernel: Callable[[Floats], Floats], width: float
) -> Floats:
    """sum_s w_s kernel((point - x_s) / width) at each point; None stands for equal weights."""
    out = np.empty(points.size)
    step = max(1, _AT_ONCE // claims.size)
    for first in range(0, points.size, step):
        heights = kernel((points[first : first + step, None] - claims[None, :]) / width)
        out[first : first + step] = heights.mean(axis=1) if weights is None else heights @ weights
    return out


def curve(points: Floats, claims: Floats, weights: Floats | None, bandwidth: float) -> Floats:
    """The Gaussian kernel density estimate at `points`; None stands for equal weights."""
    peak = 1.0 / (np.sqrt(2 * np.pi) * bandwidth)
    return _kernel_sum(points, claims, weights, lambda z: peak * np.exp(-0.5 * z * z), bandwidth)


def support(claims: Floats, bandwidth: float) -> tuple[float, float]:
    """The interval outside which the density is negligible: four bandwidths around all claims."""
    return float(claims.min() - 4 * bandwidth), float(claims.max() + 4 * bandwidth)


def steepest_slope(claims: Floats, weights: Floats, bandwidth: float) -> float:
    """sup |f'| of the density f, to about 1 %, on a grid within four bandwidths of every claim."""
    low, high = support(claims, bandwidth)
    steps = np.linspace(-4.0, 4.0, 161)
    if (high - low) / bandwidth * 20 < steps.size * claims.size:
        points = np.linspace(low, high, int((high - low) / bandwidth * 20) + 1)
    else:
        points = (np.unique(claims)[:, None] + bandwidth * steps[None, :]).ravel()
    peak = 1.0 / (np.sqrt(2 * np.pi) * bandwidth**2)
    slopes = _kernel_sum(points, claims, weights, lambda z: -peak * z * np.exp(-0.5 * z * z), bandwidth)
    return float(np.abs(slopes).max())


def weighted_bandwidth(claims: Floats, weights: Floats) -> float:
    """h = 1.15 * 1.06 s_w n_eff^(-1/5) for ascending claims and weights that sum to one."""
    return float(WIDEN * SILVERMAN * weighted_spread(claims, weights))
