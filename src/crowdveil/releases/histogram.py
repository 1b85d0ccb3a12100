"""The noisy statistics of a certified release: pair distances, and one histogram per object.

Both are counts with exact noise, and each computes its own sensitivity from the definition of neighbouring
datasets (derivations: docs/guarantees/certified.md).

L1 sensitivity of the histograms. One value replaced leaves one bin of one object and enters another: 2. One
claim added or removed: 1. A user of at most C claims, at most one about an object: C times that.

L1 sensitivity of the pair distances, under a matching that is uniformly random in both worlds. One value
replaced sits in at most one pair, which moves between two bins: 2. One claim added or removed: at most one
pair appears, disappears or is rematched: 2. A user: C times that.

Adjacency add-remove: no exact count leaves this file; numbers of claims and pairs are sums of noisy counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Flags, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, Engine, Kept
from crowdveil.kernels import histograms
from crowdveil.kernels.histograms import CELLS
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, Streams
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import CountNoise, count_noise
from crowdveil.releases.pattern import Pattern

RATIO = 1.6


@dataclass(frozen=True)
class PairDistances:
    """Noisy counts of distances between random pairs: bin 0 up to `smallest`, then by factors of RATIO."""

    counts: Ints
    smallest: float
    pairs: int  # the sum of floor(n_i / 2), or under add-remove that of the noisy counts
    noise: CountNoise

    @property
    def scale(self) -> float:
        """The scale of the noise, which is Laplace."""
        return float(self.noise.parameter)


@dataclass(frozen=True)
class Histograms:
    """Noisy counts by object in bins of `CELLS` cells; object i's bins start shifts[i] cells early."""

    counts: Kept  # (N, bins + 1) integers
    shifts: Kept  # (N,)
    claims: Ints  # (N,) n_i, or under add-remove the sum of the noisy counts
    range: Range
    bins: int  # how many bins cover the range
    noise: CountNoise

    @property
    def cells(self) -> int:
        """The number of cells that cover the range."""
        return self.bins * CELLS

    @property
    def shape(self) -> tuple[Range, int, CountNoise]:
        """What the histograms of all objects have in common."""
        return self.range, self.bins, self.noise

    @property
    def has_bin(self) -> Flags:
        """(N, bins + 1): the bins that an object has; it has the last one only if its first starts early."""
        last = (self.cells - 1 + self.shifts.astype(np.int64)) // CELLS
        flags: Flags = np.arange(self.bins + 1) <= last[:, None]
        return flags


def pair_noise(epsilon: Fraction, neighbours: Neighbours) -> CountNoise:
    """The noise of the pair distances. A user can move C pairs into one bin, so it is always Laplace."""
    return count_noise(2 * neighbours.claims, epsilon)


def histogram_noise(epsilon: Fraction, neighbours: Neighbours, delta: float = 0.0) -> CountNoise:
    """The noise of the histograms; with a delta it is Gaussian."""
    changed = 2 if neighbours.replaced else 1
    return count_noise(changed * neighbours.claims, epsilon, delta)


def pair_distances(
    claims: Claims,
    limits: Range,
    resolution: float,
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    rng: Randomness,
    engine: Engine,
) -> PairDistances:
    """Noisy counts of the distances of random pairs within objects, in logarithmic bins.

    Claims must lie in the range.
    """
    law = pair_noise(epsilon, neighbours)
    bins = ceil(log(limits.length / resolution) / log(RATIO)) + 1
    shared = resolution, rng.all_streams(purpose="pairs")
    counts = engine.sum("pair distances", claims, bins, _add_pair_distances, shared)
    noise = rng.stream("pairs", purpose="pair noise").discrete_laplace(
        bins, num=law.parameter.numerator, den=law.parameter.denominator
    )
    noisy = counts + noise
    pairs = Pattern.of(claims).pairs if neighbours.replaced else max(1, int(noisy.sum()))
    return PairDistances(noisy, resolution, pairs, law)


def _add_pair_distances(block: Block, shared: tuple[float, Streams], totals: Ints) -> None:
    resolution, streams = shared
    histograms.add_pair_distances(
        *(block.offsets, block.values, resolution, log(RATIO)),
        *(streams.key, streams.nonces(block.names, block.first), 0, block.size, totals),
    )


def noisy_histograms(
    claims: Claims,
    limits: Range,
    bins: int,
    epsilon: Fraction,
    neighbours: Neighbours,
    delta: float = 0.0,
    *,
    rng: Randomness,
    engine: Engine,
) -> Histograms:
    """One noisy histogram for each object; with a delta the noise is Gaussian."""
    noise = histogram_noise(epsilon, neighbours, delta)
    shared = _Counting(limits, bins, noise, rng.all_streams(purpose="histograms"))
    counts, shifts, sums = engine.map("noisy histograms", claims, _counted, shared, per=("object",) * 3)
    sizes = claims.counts() if neighbours.replaced else np.maximum(1, engine.collect(sums))
    return Histograms(counts, shifts, sizes, limits, bins, noise)


class _Counting(NamedTuple):
    """What all blocks share: the bins, the noise, and the streams of shifts and noise."""

    limits: Range
    bins: int
    noise: CountNoise
    streams: Streams


def _counted(block: Block, shared: _Counting) -> tuple[Ints, NDArray[np.int8], Ints]:
    """Noisy counts, shifts, and the sums of the noisy counts."""
    limits, bins, noise, streams = shared
    cells, parameter = bins * CELLS, noise.parameter
    counts = np.zeros((block.size, bins + 1), dtype=np.int64)
    shifts = np.zeros(block.size, dtype=np.int8)
    count = histograms.gaussian_counts if noise.gaussian else histograms.laplace_counts
    count(
        *(block.offsets, block.values, limits.low, limits.length / cells, cells),
        *(parameter.numerator, parameter.denominator),
        *(streams.key, streams.nonces(block.names, block.first), 0, block.size, shifts, counts),
    )
    return counts, shifts, counts.sum(axis=1)
