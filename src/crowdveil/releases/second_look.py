"""A second look at raw claims: histograms in which each claim has its user's reliability as weight.

A user's reliability is the mean *grade* of their claims; the grade of a claim is the height of the first,
noisy histogram at its bin. Grades are integers up to GRADES and weights are integers up to Q, so every sum is
exact. The weighted counts get discrete Laplace noise and are divided by Q.

Sensitivity (L1). If the value of one claim is replaced, the reliability of its user changes by at most 1/N.
The weights of the user's N - 1 other claims change by at most Q/N each, and by less than one more step due to
rounding down; the claim itself leaves one bin and enters another with weight at most Q each. The total is
less than 3 Q + C - 1 for users with at most C claims. A replaced user changes at most 2 C Q, an added or
removed user at most C Q. The reliability of other users does not change, because grades come from the noisy
histogram, which is already public. Adding or removing a claim is not covered: there is no public bound on the
number of its user's claims.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByObject, ByUser, Engine, Kept, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels.histograms import CELLS, add_laplace_noise
from crowdveil.randomness import Randomness, Streams
from crowdveil.releases.histogram import Histograms
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import CountNoise, count_noise
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.plain import bin_shares

GRADES = 1000
MOST_STEPS = 2**20  # with users of fewer than 2^22 claims every product stays below 2^63


def weight_steps(most: int) -> int:
    """Q for users with at most `most` claims: large enough that rounding adds little noise."""
    return min(10 * most + 100, MOST_STEPS)


def weight_noise(epsilon: Fraction, neighbours: Neighbours, most: int) -> CountNoise:
    """The noise of weighted counts, in steps of 1/Q, if users have at most `most` claims."""
    steps = weight_steps(most)
    if neighbours.unit == "user":
        return count_noise((2 if neighbours.replaced else 1) * neighbours.claims * steps, epsilon)
    if not neighbours.replaced:
        raise ParameterError("reliability is not protected when claims come and go: unit user, or 0")
    return count_noise(3 * steps + most - 1, epsilon)


def most_claims(pattern: Pattern, neighbours: Neighbours) -> int:
    """The public bound on the number of a user's claims: the cap or, without one, the largest number."""
    return pattern.most if neighbours.cap is None else neighbours.cap


def weighted_histograms(
    claims: Claims,
    noisy: Histograms,
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    rng: Randomness,
    engine: Engine | None = None,
) -> Histograms:
    """Noisy weighted counts in the bins of the first look. Claims lie in the range."""
    engine = engine or LocalEngine()
    most = most_claims(Pattern.of(claims), neighbours)
    noise, steps = weight_noise(epsilon, neighbours, most), weight_steps(most)
    counts = weighted_counts(claims, noisy, steps, engine=engine)
    counts, sums = engine.map(
        *("noisy weights", claims.without_claims(), _with_noise),
        (noisy.bins, noise, rng.all_streams(purpose="second look")),
        *(ByObject(counts), ByObject(noisy.shifts)),
        per=("object", "object"),
    )
    # The noisy sum of weights, in steps, takes the place of the number of claims.
    return replace(noisy, counts=counts, claims=np.maximum(steps, engine.collect(sums)), noise=noise)


def _with_noise(
    block: Block, shared: tuple[int, CountNoise, Streams], counts: Ints, shifts: NDArray[np.int8]
) -> tuple[Ints, Ints]:
    """Noisy counts and their sums."""
    bins, noise, streams = shared
    counts, parameter = counts.copy(), noise.parameter
    add_laplace_noise(
        *(bins * CELLS, shifts, parameter.numerator, parameter.denominator),
        *(streams.key, streams.nonces(block.names, block.first), counts),
    )
    return counts, counts.sum(axis=1)


def weighted_counts(claims: Claims, noisy: Histograms, steps: int, *, engine: Engine | None = None) -> Kept:
    """By object and bin: the sum of the weights of the claims in it, in steps, without noise.

    A claim's weight is floor(Q times the mean grade of its user, over GRADES).
    """
    engine = engine or LocalEngine()
    looks = ByObject(noisy.counts), ByObject(noisy.shifts), ByObject(noisy.claims)
    grades = engine.sum_by_user("grades", claims, 1, _add_grades, noisy.shape, *looks)
    reliability = steps * grades // (GRADES * np.maximum(claims.claims_per_user(), 1))
    (counts,) = engine.map("weights", claims, _weighted, noisy.shape, ByUser(reliability), *looks[1:])
    return counts


def _add_grades(
    block: Block, shape: Any, counts: Ints, shifts: NDArray[np.int8], claims: Ints, totals: Ints
) -> None:
    """Add the grades of all claims to their users' totals."""
    noisy = Histograms(counts, shifts, claims, *shape)
    owners, bins = _bins_of(block, noisy)
    np.add.at(totals, block.user_codes, _grades(noisy)[owners, bins])


def _weighted(
    block: Block, shape: Any, reliability: Ints, shifts: NDArray[np.int8], claims: Ints
) -> tuple[Ints]:
    noisy = Histograms(np.zeros((block.size, shape[1] + 1), dtype=np.int64), shifts, claims, *shape)
    np.add.at(noisy.counts, _bins_of(block, noisy), reliability[block.user_codes])
    return (noisy.counts,)


def _grades(noisy: Histograms) -> Ints:
    """By object and bin: the smoothed height of the noisy histogram, in 0 ... GRADES."""
    shares = np.pad(bin_shares(noisy), ((0, 0), (1, 1)))
    smooth = shares[:, :-2] + 2 * shares[:, 1:-1] + shares[:, 2:]
    grades: Ints = np.floor(GRADES * smooth / smooth.max(axis=1, keepdims=True)).astype(np.int64)
    return grades


def _bins_of(block: Block, noisy: Histograms) -> tuple[Ints, Ints]:
    """The object of each claim in the block, and its bin."""
    owners = np.repeat(np.arange(block.size), np.diff(block.offsets))
    width = noisy.range.length / noisy.cells
    cells = np.minimum(((block.values - noisy.range.low) / width).astype(np.int64), noisy.cells - 1)
    return owners, (cells + noisy.shifts[owners].astype(np.int64)) // CELLS
