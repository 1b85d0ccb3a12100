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

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
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


def discover(claims: Claims, law: NoiseLaw, *, engine: LocalEngine | None = None) -> Truths:
    """Truths from perturbed claims whose noise follows `law`."""
    engine = engine or LocalEngine()
    if not len(claims):
        raise InputError("there are no claims to infer truths from")
    farthest = max(abs(claims.values - law.low).max(), abs(claims.values - law.high).max())
    levels = _Levels.of(law, float(farthest))
    judged = judged_claims(claims, (claims.counts() > 1).astype(np.float64), engine)
    middle, length = 0.5 * (law.low + law.high), float(law.high - law.low)
    means, errors = np.full(len(claims.objects), middle), np.full(len(claims.objects), length)
    user_levels, shares = np.full(len(claims.users), LEVELS / 2), np.full(LEVELS, 1.0 / LEVELS)
    reach, medians = np.full(means.size, beliefs.REACH), np.empty(means.size)
    a, b = _shape(*_moments(claims, law), means.size)
    sweeps, converged = 0, False
    while not converged and sweeps < CAP:
        sweeps += 1
        before = means.copy()
        _believe(claims, law, levels, user_levels, a, b, reach, means, errors, medians, engine)
        places = (means - law.low) / length
        spread = np.square(places - places.mean()) + np.square(errors / length)
        a, b = _shape(float(places.mean()), float(spread.mean()), means.size)
        fits = _fits(claims, levels, means, errors, engine)
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


def _believe(
    claims: Claims,
    law: NoiseLaw,
    levels: _Levels,
    user_levels: Floats,
    a: float,
    b: float,
    reach: Floats,
    means: Floats,
    errors: Floats,
    medians: Floats,
    engine: LocalEngine,
) -> None:
    engine.run(
        "beliefs",
        claims,
        lambda first, last: beliefs.believe(
            *(claims.offsets, claims.user_codes, claims.values, levels.tables, levels.spacing, levels.slope),
            *(user_levels, a, b, FLAT, law.low, law.high, first, last, reach, means, errors, medians),
        ),
        operations=float(beliefs.POINTS * len(claims)),
    )


def _moments(claims: Claims, law: NoiseLaw) -> tuple[float, float]:
    """Mean and variance of truths in units of the range, by analysis of variance, free of noise.

    EM starts from them, because with much noise it converges slowly.
    """
    counts = claims.counts()
    claimed = np.flatnonzero(counts)
    means = np.add.reduceat(claims.values, claims.offsets[claimed]) / counts[claimed]
    residuals = claims.values - np.repeat(means, counts[claimed])
    within = float(np.square(residuals).sum()) / max(1, len(claims) - claimed.size)
    between = float(means.var()) - within * float((1.0 / counts[claimed]).mean())
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


def _fits(claims: Claims, levels: _Levels, means: Floats, errors: Floats, engine: LocalEngine) -> Floats:
    """The log-likelihood of each user's claims at each level, of shape (M, K)."""

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        beliefs.add_fits(
            *(claims.offsets, claims.user_codes, claims.values, levels.tables, levels.spacing, levels.slope),
            *(_UNIT, means, errors, first, last, totals),
        )

    size = len(claims.users) * LEVELS
    totals = engine.sum("users", claims, size, add, operations=float(3 * LEVELS * len(claims)))
    return totals.reshape(-1, LEVELS) / _UNIT


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
