"""Noise-aware inference: Bayesian truth discovery under the public law of the noise.

The model: a truth follows a Beta distribution on the public range (with probability 1/10 the uniform one); a
user's errors are normal with one of a few spreads (levels); then the known noise is added. The prior of
truths and the users' levels are estimated from all objects and users (empirical Bayes). An estimate is the
posterior median of a truth, and its error is the posterior standard deviation. So objects with little
information are shrunk towards the others, outlying claims weigh less (under Laplace noise), and truths stay
in the range.

It uses only perturbed claims: it is post-processing and costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByObject, ByUser, Engine, LocalEngine
from crowdveil.errors import InputError
from crowdveil.kernels import beliefs
from crowdveil.kernels.products import product
from crowdveil.noise_law import NoiseLaw
from crowdveil.truth.sweeps import judged_claims
from crowdveil.truths import Truths

FLAT = 0.1  # weight of the uniform distribution in the prior of truths
LEAST_SHARE = 0.01  # of the range: least distance of the prior mean from an end, and least prior deviation
LEAST_CONCENTRATION = 0.05  # least a + b of Beta(a, b): below it, all truths would lie at the ends
PSEUDO_OBJECTS = 5.0  # uniform on the range, added to the objects that the prior is estimated from
PSEUDO_USERS = 10.0  # spread evenly over the levels, added to the users that their shares are estimated from
LEVELS = 20  # of users' errors, from 1/500 of the range upwards
TOLERANCE = 1e-3  # mean change of posterior means, in posterior standard deviations
CAP = 60
MANY = 1e9  # degrees of freedom: posteriors are treated as normal
_UNIT = 2.0**24
_POINTS_TO_LEAST = 8  # points of a table per smallest spread


@dataclass(frozen=True)
class _Levels:
    """Possible spreads of users' errors, and the log-density of a claim's distance under each."""

    spreads: Floats  # (K,)
    tables: Floats  # (K, D)
    spacing: float
    slope: float

    @classmethod
    def of(cls, law: NoiseLaw, farthest: float) -> _Levels:
        length = law.high - law.low
        largest = max(length / 2, 3.0 * math.sqrt(law.user_variance))
        smallest = max(length / 500, law.laplace_scale / 20, math.sqrt(law.user_variance) / 100)
        spreads = np.geomspace(smallest, max(largest, 2 * smallest), LEVELS)
        spacing = smallest / _POINTS_TO_LEAST
        # Farther out the log-density is linear under Laplace noise, and Gaussian noise never gets there.
        tail = 12 * float(spreads[-1]) if law.laplace_scale else 40 * math.sqrt(law.user_variance)
        end = min(farthest, length + tail)
        distances = np.arange(2 + math.ceil(end / spacing), dtype=np.float64) * spacing
        tables = np.array([_log_density(distances, float(spread), law.laplace_scale) for spread in spreads])
        slope = -1.0 / law.laplace_scale if law.laplace_scale else 0.0
        return cls(spreads, tables, spacing, slope)


def _log_density(distances: Floats, spread: float, laplace_scale: float) -> Floats:
    """The log-density of a normal error plus Laplace noise, as a function of the distance from the truth."""
    if not laplace_scale:
        normal: Floats = -0.5 * np.square(distances / spread) - math.log(spread)
        return normal
    from scipy.special import log_ndtr

    ratio = spread / laplace_scale
    tails = [
        sign * distances / laplace_scale + log_ndtr(-sign * distances / spread - ratio) for sign in (-1, 1)
    ]
    mixed: Floats = np.logaddexp(*tails) + ratio * ratio / 2 - math.log(2 * laplace_scale)
    return mixed


def discover(claims: Claims, law: NoiseLaw, *, engine: Engine | None = None) -> Truths:
    """Truths from perturbed claims whose noise follows `law`."""
    engine = engine or LocalEngine()
    if not len(claims):
        raise InputError("there are no claims to infer truths from")
    counts = claims.counts()
    kept = engine.map(
        "summaries", claims, _summaries, None, per=("object",) * 4, operations=float(len(claims))
    )
    least, largest, first_means, squares = map(engine.collect, kept)
    ends = np.nanmin(least), np.nanmax(largest)
    levels = _Levels.of(law, float(max(abs(end - limit) for end in ends for limit in (law.low, law.high))))
    judged = judged_claims(claims, (counts > 1).astype(np.float64), engine)
    middle, length = 0.5 * (law.low + law.high), float(law.high - law.low)
    means, errors = np.full(claims.object_count, middle), np.full(claims.object_count, length)
    user_levels, shares = np.full(claims.user_count, LEVELS / 2), np.full(LEVELS, 1.0 / LEVELS)
    reach, medians = np.full(means.size, beliefs.REACH), np.empty(means.size)
    a, b = _shape(*_moments(first_means, squares, counts, law), means.size)
    sweeps, converged = 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        before = means
        kept = engine.map(
            *("beliefs", claims, _believe, _Model(levels, a, b, law.low, law.high)),
            *(ByUser(user_levels), ByObject(reach), ByObject(means), ByObject(errors)),
            per=("object",) * 4,
            operations=float(beliefs.POINTS * len(claims)),
        )
        reach, means, errors, medians = map(engine.collect, kept)
        places = (means - law.low) / length
        spread = np.square(places - places.mean()) + np.square(errors / length)
        a, b = _shape(float(places.mean()), float(spread.mean()), means.size)
        totals = engine.sum_by_user(
            *("users", claims, LEVELS, _add_fits, levels, ByObject(means), ByObject(errors)),
            operations=float(3 * LEVELS * len(claims)),
        )
        fits = totals.reshape(-1, LEVELS) / _UNIT
        user_levels, shares = _users(fits, judged > 0, shares, levels)
        converged = sweeps > 2 and float(np.mean(np.abs(means - before) / errors)) < TOLERANCE
    log_spreads = np.interp(user_levels, np.arange(LEVELS), np.log(levels.spreads))
    weights = 1.0 / (np.exp(2.0 * log_spreads) + 2.0 * law.laplace_scale**2)
    freedom = np.full(means.size, MANY)
    return Truths(
        *(claims.objects, claims.users, medians, errors, freedom, weights),
        method="noise-aware",
        sweeps=sweeps,
        converged=converged,
        limits=(law.low, law.high),
    )


class _Model(NamedTuple):
    """What all blocks share: the levels, the prior of truths, and the range."""

    levels: _Levels
    a: float
    b: float
    low: float
    high: float


def _believe(
    block: Block, model: _Model, user_levels: Floats, reach: Floats, means: Floats, errors: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Reach, mean, error and median of each object's posterior, from the previous reach, mean and error."""
    levels = model.levels
    reach, means, errors, medians = reach.copy(), means.copy(), errors.copy(), np.empty(block.size)
    beliefs.believe(
        *(block.offsets, block.user_codes, block.values, levels.tables, levels.spacing, levels.slope),
        *(user_levels, model.a, model.b, FLAT, model.low, model.high),
        *(0, block.size, reach, means, errors, medians),
    )
    return reach, means, errors, medians


def _summaries(block: Block, _: None) -> tuple[Floats, Floats, Floats, Floats]:
    """Each object's least and largest claim, mean, and sum of squared residuals; NaN without claims."""
    counts = np.diff(block.offsets)
    claimed = np.flatnonzero(counts)
    out = [np.full(counts.size, np.nan) for _ in range(4)]
    least, largest, means, squares = out
    begins = block.offsets[claimed]
    least[claimed], largest[claimed] = block.values[begins], block.values[block.offsets[claimed + 1] - 1]
    means[claimed] = np.add.reduceat(block.values, begins) / counts[claimed]
    residuals = block.values - np.repeat(means[claimed], counts[claimed])
    squares[claimed] = np.add.reduceat(np.square(residuals), begins)
    return least, largest, means, squares


def _moments(means: Floats, squares: Floats, counts: Ints, law: NoiseLaw) -> tuple[float, float]:
    """Mean and variance of truths in units of the range, by analysis of variance, free of noise.

    EM starts from them, because with much noise it converges slowly.
    """
    claimed = np.flatnonzero(counts)
    means, squares, counts = means[claimed], squares[claimed], counts[claimed]
    within = float(squares.sum()) / max(1, int(counts.sum()) - claimed.size)
    between = float(means.var()) - within * float((1.0 / counts).mean())
    length = law.high - law.low
    return (float(means.mean()) - law.low) / length, between / length**2


def _shape(mean: float, variance: float, objects: int) -> tuple[float, float]:
    """Parameters of the Beta distribution with these moments of truths, regularised by pseudo-objects."""
    share = objects / (objects + PSEUDO_OBJECTS)
    centre = share * mean + (1.0 - share) * 0.5
    spread = share * (max(variance, 0.0) + (mean - centre) ** 2) + (1.0 - share) * (
        1 / 12 + (0.5 - centre) ** 2
    )
    centre = min(max(centre, LEAST_SHARE), 1.0 - LEAST_SHARE)
    concentration = max(centre * (1.0 - centre) / max(spread, LEAST_SHARE**2) - 1.0, LEAST_CONCENTRATION)
    return centre * concentration, (1.0 - centre) * concentration


def _add_fits(block: Block, levels: _Levels, means: Floats, errors: Floats, totals: Ints) -> None:
    """The log-likelihood of each user's claims at each level."""
    beliefs.add_fits(
        *(block.offsets, block.user_codes, block.values, levels.tables, levels.spacing, levels.slope),
        *(_UNIT, means, errors, 0, block.size, totals),
    )


def _users(fits: Floats, judged: NDArray[np.bool_], shares: Floats, levels: _Levels) -> tuple[Floats, Floats]:
    """Each user's level, between 0 and LEVELS - 1, and the share of users at each level."""
    logs = fits + np.log(shares)
    posteriors = np.exp(logs - logs.max(axis=1, keepdims=True))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    totals = posteriors[judged].sum(axis=0) + PSEUDO_USERS / LEVELS
    # The precision is 1 / (mean variance): a mean of precisions would favour users with few claims.
    precisions = 1.0 / product(posteriors, np.square(levels.spreads))
    places = np.arange(LEVELS, dtype=np.float64)
    user_levels = np.interp(precisions, levels.spreads[::-1] ** -2.0, places[::-1])
    return user_levels, totals / totals.sum()
