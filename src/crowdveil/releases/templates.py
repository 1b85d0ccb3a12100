"""The templates of the empirical Bayes estimate: candidate densities of an object's claims.

A template is a mixture of two normal components (a shape) at one of thirteen scales around the bin width. A
location and a share of uniform background complete the density. All of it is fixed before data are seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from crowdveil.arrays import Floats, Ints, frozen
from crowdveil.kernels.histograms import CELLS

SCALES = 0.2 * 1.27 ** np.arange(13)  # in bins
SHARES = np.array([0.01, 0.05, 0.15, 0.3, 0.5, 0.8])
# (weight, offset, scale) of two normals each, in units of the template's scale.
SHAPES = {
    "normal": ((1.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    "heavy": ((0.75, 0.0, 0.7), (0.25, 0.0, 1.9)),
    "flat": ((0.5, -0.85, 0.55), (0.5, 0.85, 0.55)),
    "skewed right": ((0.65, -0.45, 0.6), (0.35, 0.85, 1.1)),
    "skewed left": ((0.65, 0.45, 0.6), (0.35, -0.85, 1.1)),
    "bimodal": ((0.5, -1.6, 0.55), (0.5, 1.6, 0.55)),
    "spike and slab": ((0.5, 0.0, 0.25), (0.5, 0.0, 1.5)),
}
PARTS_PER_CELL = 4  # of the released density
LARGEST_REACH = 12  # in bins; mass beyond it is added to the outermost bins


@dataclass(frozen=True)
class Templates:
    """All shapes at all scales in flat arrays: probabilities of bins, and curves on a finer grid."""

    reach: Ints  # (C,) bins to either side
    begin: Ints  # (C,) where a template's bin probabilities begin: CELLS rows of 2 reach + 1
    masses: Floats
    curve_reach: Ints  # (C,) parts to either side
    curve_begin: Ints
    curves: Floats


def _cumulative(edges: Floats, shape: tuple[tuple[float, float, float], ...], scale: float) -> Floats:
    """The cumulative distribution function of a template at `edges`."""
    total = np.zeros(edges.size)
    for weight, offset, width in shape:
        if weight:
            total += weight * ndtr((edges - offset * scale) / (width * scale))
    return total


def _lumped(edges: Floats, shape: tuple[tuple[float, float, float], ...], scale: float) -> Floats:
    """The masses between `edges`; mass outside is added to the first and the last."""
    cumulative = _cumulative(edges, shape, scale)
    masses = np.diff(cumulative)
    masses[0] += cumulative[0]
    masses[-1] += 1.0 - cumulative[-1]
    return masses


@lru_cache(maxsize=1)
def templates() -> Templates:
    """The templates in units of the bin width; a location is the centre of one of a bin's three cells."""
    reach, masses, curve_reach, curves = [], [], [], []
    parts = CELLS * PARTS_PER_CELL
    for shape in SHAPES.values():
        extent = max(abs(offset) + 3.2 * width for weight, offset, width in shape if weight)
        for scale in SCALES.tolist():
            bins = min(LARGEST_REACH, int(np.ceil(extent * scale)) + 1)
            reach.append(bins)
            for phase in range(CELLS):
                edges = np.arange(-bins, bins + 2, dtype=np.float64) - (phase + 0.5) / CELLS
                masses.append(_lumped(edges, shape, scale))
            fine = int(np.ceil((extent + 1.5) * scale * parts)) + 1
            curve_reach.append(fine)
            curves.append(np.diff(_cumulative(np.arange(-fine, fine + 1) / parts, shape, scale)))
    sizes = np.array([CELLS * (2 * bins + 1) for bins in reach])
    lengths = np.array([2 * fine for fine in curve_reach])
    return Templates(
        reach=frozen(np.array(reach)),
        begin=frozen(np.concatenate([[0], np.cumsum(sizes)[:-1]])),
        masses=frozen(np.concatenate(masses)),
        curve_reach=frozen(np.array(curve_reach)),
        curve_begin=frozen(np.concatenate([[0], np.cumsum(lengths)[:-1]])),
        curves=frozen(np.concatenate(curves)),
    )
