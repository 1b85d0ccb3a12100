"""What a certified release learns from raw claims: noisy pair distances, and a noisy histogram an object.

Both are counts of claims or pairs with exact noise. Adjacency replace-one: the value of one
claim changes; who claimed what, and so n_i, is public. One value sits in one bin of one object: L1
sensitivity 2. One value sits in at most one pair, which moves between two bins: L1 sensitivity 2. The
matching into pairs is uniformly random in both worlds. Adjacency add-remove: no exact count leaves this file;
numbers of claims and of pairs are sums of noisy counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Flags, Ints
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.guarantee import Adjacency
from crowdveil.kernels import histograms
from crowdveil.kernels.histograms import CELLS
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness
from crowdveil.releases.noise import CountNoise, count_noise

RATIO = 1.6


@dataclass(frozen=True)
class PairDistances:
    """Noisy counts of distances between random pairs: bin 0 up to `smallest`, then by factors of RATIO."""

    counts: Ints
    smallest: float
    pairs: int  # the sum of floor(n_i / 2), or under add-remove that of the noisy counts
    scale: float  # of the noise


@dataclass(frozen=True)
class Histograms:
    """Noisy counts by object in bins of `CELLS` cells; object i's bins start shifts[i] cells early."""

    counts: Ints  # (N, bins + 1)
    shifts: NDArray[np.int8]  # (N,)
    claims: Ints  # (N,) n_i, or under add-remove the sum of the noisy counts
    range: Range
    bins: int  # how many bins cover the range
    noise: CountNoise

    @property
    def cells(self) -> int:
        """How many cells cover the range."""
        return self.bins * CELLS

    @property
    def has_bin(self) -> Flags:
        """(N, bins + 1): which bins an object has; the last one only where the first starts early."""
        last = (self.cells - 1 + self.shifts.astype(np.int64)) // CELLS
        flags: Flags = np.arange(self.bins + 1) <= last[:, None]
        return flags


def pair_distances(
    claims: Claims,
    limits: Range,
    resolution: float,
    epsilon: Fraction,
    sensitivity: int,
    adjacency: Adjacency = "replace-one",
    *,
    rng: Randomness,
    engine: LocalEngine,
) -> PairDistances:
    """Distances of random pairs within objects, as noisy counts on a log scale. Claims lie in the range."""
    scale = count_noise(sensitivity, epsilon).parameter
    bins = ceil(log(limits.length / resolution) / log(RATIO)) + 1
    key, nonces = rng.streams(claims.objects, purpose="pairs")

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        histograms.add_pair_distances(
            claims.offsets, claims.values, resolution, log(RATIO), key, nonces, first, last, totals
        )

    counts = engine.sum("pair distances", claims, bins, add)
    noise = rng.stream("pairs", purpose="pair noise").discrete_laplace(
        bins, num=scale.numerator, den=scale.denominator
    )
    noisy = counts + noise
    fixed = adjacency == "replace-one"
    pairs = int((claims.counts() // 2).sum()) if fixed else max(1, int(noisy.sum()))
    return PairDistances(noisy, resolution, pairs, float(scale))


def noisy_histograms(
    claims: Claims,
    limits: Range,
    bins: int,
    epsilon: Fraction,
    sensitivity: int,
    adjacency: Adjacency = "replace-one",
    delta: float = 0.0,
    *,
    rng: Randomness,
    engine: LocalEngine,
) -> Histograms:
    """One noisy histogram for each object; with a delta the noise is Gaussian."""
    noise = count_noise(sensitivity, epsilon, delta)
    cells = bins * CELLS
    counts = np.zeros((len(claims.objects), bins + 1), dtype=np.int64)
    shifts = np.zeros(len(claims.objects), dtype=np.int8)
    key, nonces = rng.streams(claims.objects, purpose="histograms")
    count = histograms.gaussian_counts if noise.gaussian else histograms.laplace_counts
    engine.run(
        "noisy histograms",
        claims,
        lambda first, last: count(
            claims.offsets,
            claims.values,
            limits.low,
            limits.length / cells,
            cells,
            noise.parameter.numerator,
            noise.parameter.denominator,
            key,
            nonces,
            first,
            last,
            shifts,
            counts,
        ),
    )
    told = claims.counts() if adjacency == "replace-one" else np.maximum(1, counts.sum(axis=1))
    return Histograms(counts, shifts, told, limits, bins, noise)
