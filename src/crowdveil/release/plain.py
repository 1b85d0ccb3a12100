"""The plain estimate from a noisy histogram: what it says, made a density, and nothing more.

Counts are projected onto the simplex (the shift that makes their positive parts sum to n is taken away), and
a bin's mass is spread over its parts and smoothed over one bin. Post-processing.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.kernels.histograms import CELLS
from crowdveil.release.histogram import Histograms
from crowdveil.release.templates import PARTS_PER_CELL


def on_simplex(counts: Floats) -> Floats:
    """Each row's nearest point among probabilities (scaled to 1): negative counts go, the rest is shifted."""
    ordered = -np.sort(-counts, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    place = np.arange(1, counts.shape[1] + 1)
    last = np.count_nonzero(ordered - excess / place > 0, axis=1)
    shift = np.take_along_axis(excess / place, last[:, None] - 1, axis=1)
    projected: Floats = np.maximum(counts - shift, 0.0)
    return projected


def plain_densities(noisy: Histograms) -> Floats:
    """A row for each object: masses of equal parts of the range, as `Estimate.draw` gives them."""
    shares = on_simplex(noisy.counts / noisy.claims[:, None])
    cells = np.arange(noisy.cells)
    bins = (cells[None, :] + noisy.shifts[:, None]) // CELLS
    sizes = np.zeros_like(shares)
    np.add.at(sizes, (np.arange(len(sizes))[:, None], bins), 1.0)
    by_cell = np.take_along_axis(shares / np.maximum(sizes, 1.0), bins, axis=1)
    fine = np.repeat(by_cell / PARTS_PER_CELL, PARTS_PER_CELL, axis=1)
    window = CELLS * PARTS_PER_CELL
    kernel = np.bartlett(2 * window + 1)[1:-1]
    smooth = np.apply_along_axis(lambda row: np.convolve(row, kernel, "same"), 1, fine)
    densities: Floats = smooth / smooth.sum(axis=1, keepdims=True)
    return densities
