"""All that a certified release learns from raw claims: noisy pair distances, a noisy histogram an object.

Both are counts of claims or pairs with exact discrete Laplace noise. Adjacency replace-one: the value of one
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

from crowdveil.arrays import Ints
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency
from crowdveil.kernels import histograms
from crowdveil.kernels.histograms import CELLS
from crowdveil.randomness import Randomness
from crowdveil.randomness.samplers import INTEGER_LIMIT
from crowdveil.release.result import Range

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
    scale: float  # of the noise

    @property
    def cells(self) -> int:
        """How many cells cover the range."""
        return self.bins * CELLS


def noise_scale(sensitivity: int, epsilon: Fraction) -> Fraction:
    """sensitivity / epsilon, for the exact sampler."""
    scale = sensitivity / epsilon
    if max(scale.numerator, scale.denominator) >= INTEGER_LIMIT:
        raise ParameterError("epsilon is too small or has too many digits")
    return scale


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
    scale = noise_scale(sensitivity, epsilon)
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
    *,
    rng: Randomness,
    engine: LocalEngine,
) -> Histograms:
    """One noisy histogram for each object: the last look at raw values."""
    scale = noise_scale(sensitivity, epsilon)
    cells = bins * CELLS
    counts = np.zeros((len(claims.objects), bins + 1), dtype=np.int64)
    shifts = np.zeros(len(claims.objects), dtype=np.int8)
    key, nonces = rng.streams(claims.objects, purpose="histograms")
    engine.run(
        "noisy histograms",
        claims,
        lambda first, last: histograms.noisy_counts(
            claims.offsets,
            claims.values,
            limits.low,
            limits.length / cells,
            cells,
            scale.numerator,
            scale.denominator,
            key,
            nonces,
            first,
            last,
            shifts,
            counts,
        ),
    )
    told = claims.counts() if adjacency == "replace-one" else np.maximum(1, counts.sum(axis=1))
    return Histograms(counts, shifts, told, limits, bins, float(scale))
