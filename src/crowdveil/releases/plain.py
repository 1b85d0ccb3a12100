"""Plain density estimates from noisy histograms, without a model of the claims.

Noisy shares are projected onto the probability simplex; then the mass of each bin is spread evenly over the
bin and smoothed with a triangular kernel of one bin's width. All of it is post-processing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Objects
from crowdveil.engines import Block, ByObject, Engine, Kept
from crowdveil.kernels import curves
from crowdveil.kernels.histograms import CELLS
from crowdveil.randomness import Randomness
from crowdveil.releases.histogram import Histograms
from crowdveil.releases.templates import PARTS_PER_CELL


def on_simplex(shares: Floats) -> Floats:
    """The Euclidean projection of each row onto the probability simplex: max(shares - shift, 0)."""
    ordered = -np.sort(-shares, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    ranks = np.arange(1, shares.shape[1] + 1)
    last = np.count_nonzero(ordered - excess / ranks > 0, axis=1)
    shift = np.take_along_axis(excess / ranks, last[:, None] - 1, axis=1)
    projected: Floats = np.maximum(shares - shift, 0.0)
    return projected


def bin_shares(noisy: Histograms) -> Floats:
    """The estimated share of each bin, by object; 0 for bins that an object does not have."""
    shares = noisy.counts / noisy.claims[:, None]
    shares[~noisy.has_bin] = -1e9
    return on_simplex(shares)


def plain_densities(noisy: Histograms) -> Floats:
    """One row per object: masses of equal parts of the range, as in `DensityPosterior.draw`."""
    shares = bin_shares(noisy)
    cells = np.arange(noisy.cells)
    bins = (cells[None, :] + noisy.shifts[:, None]) // CELLS
    sizes = np.zeros_like(shares)
    np.add.at(sizes, (np.arange(len(sizes))[:, None], bins), 1.0)
    by_cell = np.take_along_axis(shares / np.maximum(sizes, 1.0), bins, axis=1)
    fine = np.repeat(by_cell / PARTS_PER_CELL, PARTS_PER_CELL, axis=1)
    window = CELLS * PARTS_PER_CELL
    kernel = np.bartlett(2 * window + 1)[1:-1]
    # Reflection at both ends of the range keeps mass near them inside.
    mirrored = np.pad(fine, ((0, 0), (window - 1, window - 1)), mode="symmetric")
    smooth = np.empty_like(fine)
    curves.smoothed_rows(mirrored, kernel, smooth)
    densities: Floats = smooth / smooth.sum(axis=1, keepdims=True)
    return densities


def draw(
    noisy: Histograms,
    per_object: int,
    *,
    rng: Randomness,
    engine: Engine,
    objects: Objects,
    keep: bool,
) -> tuple[Kept, Kept]:
    """`per_object` values drawn from the density of each object, in ascending order, and the densities.

    Without `keep` there are no densities.
    """
    values, *densities = engine.map(
        *("synthetic claims", objects, _drawn),
        (noisy.shape, per_object, rng.all_streams(purpose="certified"), keep),
        *(ByObject(noisy.counts), ByObject(noisy.shifts), ByObject(noisy.claims)),
        per=("object", "object") if keep else ("object",),
    )
    return values, densities[0] if keep else None


def _drawn(
    block: Block, shared: Any, counts: Ints, shifts: NDArray[np.int8], claims: Ints
) -> tuple[Floats, ...]:
    shape, per_object, streams, keep = shared
    noisy = Histograms(counts, shifts, claims, *shape)
    densities = plain_densities(noisy)
    out = np.empty((block.size, per_object))
    curves.draw_all_strata(
        densities, streams.key, streams.nonces(block.names, block.first), 0, block.size, out
    )
    values = noisy.range.low + noisy.range.length * out
    return (values, densities) if keep else (values,)
