"""A second look at raw claims: the histograms again, each claim weighted by how reliable its user is.

A user's reliability is the mean *grade* of its claims: how high the first, noisy histogram is where they lie.
Grades are whole numbers up to GRADES and weights whole numbers up to Q, so that every sum is exact; the
weighted counts get discrete Laplace noise and are divided by Q.

Sensitivity (L1). The value of one claim replaced: its user's reliability moves by at most 1/N, and with it
the weights of its N - 1 other claims, by at most Q/N each and, being rounded down, less than one step more;
the claim itself leaves one bin and enters another with at most Q each. In all less than 3 Q + C - 1 for users
of at most C claims. A user replaced: at most 2 C Q; a user added or removed: at most C Q. No other user's
reliability changes: grades come from the noisy histogram, which is public by then. A claim added or removed
is not covered: there is no public bound on its user's claims.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.kernels.histograms import CELLS
from crowdveil.randomness import Randomness
from crowdveil.releases.histogram import Histograms
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import CountNoise, count_noise
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.plain import bin_shares

GRADES = 1000
MOST_STEPS = 2**20  # with users of fewer than 2^22 claims every product stays below 2^63


def weight_steps(most: int) -> int:
    """Q for users of at most that many claims: so many that rounding costs little noise."""
    return min(10 * most + 100, MOST_STEPS)


def weight_noise(epsilon: Fraction, neighbours: Neighbours, most: int) -> CountNoise:
    """The noise of weighted counts, in steps, where users have at most `most` claims (a user's cap)."""
    steps = weight_steps(most)
    if neighbours.unit == "user":
        return count_noise((2 if neighbours.replaced else 1) * neighbours.claims * steps, epsilon)
    if not neighbours.replaced:
        raise ParameterError("reliability is not protected when claims come and go: unit user, or 0")
    return count_noise(3 * steps + most - 1, epsilon)


def most_claims(pattern: Pattern, neighbours: Neighbours) -> int:
    """The public bound on a user's claims: the cap, or else the largest number where that is public."""
    return pattern.most if neighbours.cap is None else neighbours.cap


def weighted_histograms(
    claims: Claims, noisy: Histograms, epsilon: Fraction, neighbours: Neighbours, *, rng: Randomness
) -> Histograms:
    """Noisy weighted counts in the bins of the first look. Claims lie in the range."""
    most = most_claims(Pattern.of(claims), neighbours)
    noise, steps = weight_noise(epsilon, neighbours, most), weight_steps(most)
    counts = weighted_counts(claims, noisy, steps)
    drawn = rng.stream("noise", purpose="second look").discrete_laplace(
        counts.size, num=noise.parameter.numerator, den=noise.parameter.denominator
    )
    counts += drawn.reshape(counts.shape)
    counts[~noisy.has_bin] = 0
    # Weights, in steps: their noisy sum stands for the number of claims.
    return replace(noisy, counts=counts, claims=np.maximum(steps, counts.sum(axis=1)), noise=noise)


def weighted_counts(claims: Claims, noisy: Histograms, steps: int) -> Ints:
    """By object and bin: the weights of its claims, in whole steps, without noise."""
    owners = np.repeat(np.arange(len(claims.objects)), claims.counts())
    bins = _bins_of(claims, noisy, owners)
    counts = np.zeros_like(noisy.counts)
    np.add.at(counts, (owners, bins), _weights(claims, _grades(noisy)[owners, bins], steps))
    return counts


def _grades(noisy: Histograms) -> Ints:
    """By object and bin: how high the noisy histogram is around a bin, of GRADES."""
    shares = np.pad(bin_shares(noisy), ((0, 0), (1, 1)))
    smooth = shares[:, :-2] + 2 * shares[:, 1:-1] + shares[:, 2:]
    grades: Ints = np.floor(GRADES * smooth / smooth.max(axis=1, keepdims=True)).astype(np.int64)
    return grades


def _weights(claims: Claims, grades: Ints, steps: int) -> Ints:
    """floor(Q times the mean grade of its user), for every claim."""
    users = claims.user_codes
    claims_of = np.bincount(users)
    total = np.zeros(claims_of.size, dtype=np.int64)
    np.add.at(total, users, grades)
    reliability = steps * total // (GRADES * np.maximum(claims_of, 1))
    weights: Ints = reliability[users]
    return weights


def _bins_of(claims: Claims, noisy: Histograms, owners: Ints) -> Ints:
    width = noisy.range.length / noisy.cells
    cells = np.minimum(((claims.values - noisy.range.low) / width).astype(np.int64), noisy.cells - 1)
    bins: Ints = (cells + noisy.shifts[owners].astype(np.int64)) // CELLS
    return bins
