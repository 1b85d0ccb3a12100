"""Noise-aware inference: the law of the noise is public, so truths are inferred under it, not around it.

The model: truths come from a Beta law over the public range (a tenth of them from anywhere in it), a user's
errors from a normal one whose spread is one of some levels, and then comes the noise that is known. The law
of truths and the users' levels are learned from all objects and users together (empirical Bayes). An estimate
is the median of a truth's posterior, its error the posterior's deviation. So objects with little information
are pulled towards the others, claims far off count for less (Laplace noise), and truths stay in the range.

Whatever it computes, it computes from noisy claims alone: it costs nothing.
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

FLAT = 0.1  # share of truths that may lie anywhere in the range
LEAST_SHARE = 0.01  # of the range: as near to an end as the mean of truths may lie, and their least deviation
LEAST_WHOLE = 0.05  # a + b of Beta(a, b): below, all truths would lie at the ends
PSEUDO_OBJECTS = 5.0  # that lie anywhere in the range: few objects do not tell the law of all
PSEUDO_USERS = 10.0  # of any level: few users do not tell the law of all
LEVELS = 20  # of users' errors, from a five-hundredth of the range up
TOLERANCE = 1e-3  # of a belief's deviation, on average
CAP = 60
MANY = 1e9  # degrees of freedom: beliefs are taken for normal
_UNIT = 2.0**24
_POINTS_TO_LEAST = 8  # of a table, to the smallest spread


@dataclass(frozen=True)
class _Levels:
    """Possible spreads of users' errors and the log-densities that go with them."""

    spreads: Floats  # (K,)
    tables: Floats  # (K, D)
    spacing: float
    slope: float

    @classmethod
    def of(cls, law: NoiseLaw, farthest: float) -> _Levels:
        length = law.high - law.low
        most = max(length / 2, 3.0 * math.sqrt(law.user_variance))
        least = max(length / 500, law.laplace_scale / 20, math.sqrt(law.user_variance) / 100)
        spreads = np.geomspace(least, max(most, 2 * least), LEVELS)
        spacing = least / _POINTS_TO_LEAST
        # Farther off, Laplace noise leaves a line; the chance that Gaussian noise gets there is nil.
        tail = 12 * float(spreads[-1]) if law.laplace_scale else 40 * math.sqrt(law.user_variance)
        end = min(farthest, length + tail)
        distances = np.arange(2 + math.ceil(end / spacing), dtype=np.float64) * spacing
        tables = np.array([_log_density(distances, float(spread), law.laplace_scale) for spread in spreads])
        slope = -1.0 / law.laplace_scale if law.laplace_scale else 0.0
        return cls(spreads, tables, spacing, slope)


def _log_density(distances: Floats, spread: float, laplace_scale: float) -> Floats:
    """The log-density of a normal error plus Laplace noise, at distances from the truth."""
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
    """Truths from noisy claims whose noise follows that law."""
    engine = engine or LocalEngine()
    if not len(claims):
        raise InputError("there are no claims to infer truths from")
    farthest = max(abs(claims.values - law.low).max(), abs(claims.values - law.high).max())
    levels = _Levels.of(law, float(farthest))
    made = judged_claims(claims, (claims.counts() > 1).astype(np.float64), engine)
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
        user_levels, shares = _users(fits, made > 0, shares, levels)
        converged = sweeps > 2 and float(np.mean(np.abs(means - before) / errors)) < TOLERANCE
    own = np.interp(user_levels, np.arange(LEVELS), np.log(levels.spreads))
    weights = 1.0 / (np.exp(2.0 * own) + 2.0 * law.laplace_scale**2)
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
    """Mean and variance of truths as shares of the range, by analysis of variance: noise adds to neither.

    They are where expectation and maximization start: with much noise those creep.
    """
    counts = claims.counts()
    some = np.flatnonzero(counts)
    means = np.add.reduceat(claims.values, claims.offsets[some]) / counts[some]
    residuals = claims.values - np.repeat(means, counts[some])
    within = float(np.square(residuals).sum()) / max(1, len(claims) - some.size)
    between = float(means.var()) - within * float((1.0 / counts[some]).mean())
    length = law.high - law.low
    return (float(means.mean()) - law.low) / length, between / length**2


def _shape(mean: float, variance: float, objects: int) -> tuple[float, float]:
    """The Beta law on [0, 1] with that mean and variance of so many objects and of some that lie anywhere."""
    share = objects / (objects + PSEUDO_OBJECTS)
    centre = share * mean + (1.0 - share) * 0.5
    spread = share * (max(variance, 0.0) + (mean - centre) ** 2) + (1.0 - share) * (
        1 / 12 + (0.5 - centre) ** 2
    )
    centre = min(max(centre, LEAST_SHARE), 1.0 - LEAST_SHARE)
    whole = max(centre * (1.0 - centre) / max(spread, LEAST_SHARE**2) - 1.0, LEAST_WHOLE)
    return centre * whole, (1.0 - centre) * whole


def _fits(claims: Claims, levels: _Levels, means: Floats, errors: Floats, engine: LocalEngine) -> Floats:
    """(M, K): how well each level explains each user's claims, in logs."""

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        beliefs.add_fits(
            *(claims.offsets, claims.user_codes, claims.values, levels.tables, levels.spacing, levels.slope),
            *(_UNIT, means, errors, first, last, totals),
        )

    size = len(claims.users) * LEVELS
    totals = engine.sum("users", claims, size, add, operations=float(3 * LEVELS * len(claims)))
    return totals.reshape(-1, LEVELS) / _UNIT


def _users(fits: Floats, judged: NDArray[np.bool_], shares: Floats, levels: _Levels) -> tuple[Floats, Floats]:
    """Each user's level, and what share of users has each; some more users have any."""
    logs = fits + np.log(shares)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    seen = chances[judged].sum(axis=0) + PSEUDO_USERS / LEVELS
    # The mean variance: a mean precision would trust those most of whom little is known.
    precisions = 1.0 / product(chances, np.square(levels.spreads))
    places = np.arange(LEVELS, dtype=np.float64)
    between = np.interp(precisions, levels.spreads[::-1] ** -2.0, places[::-1])
    return between, seen / seen.sum()
