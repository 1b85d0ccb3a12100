"""How much each user answers, from randomized reports: the rates of all users together tell that of each.

Where users differ no more than chance makes them differ, all have one rate. Else rates follow a law that
begins as the Beta law with their mean and variance and is then learned on a grid (empirical Bayes); a user's
rate is the posterior mean. Users with like rates form a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.kernels.products import product

# Rates differ a lot, so groups do by ratios: on real data a tenth of the users gives most of the answers.
ENDS = np.array([0.003, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7])
POINTS = 40  # of the grid of rates
LEAST_RATE = 1e-6
CLEARLY = 3.0  # standard errors: users differ in their rates
_SWEEPS = 30
_ANSWER_SWEEPS = 1000
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class RateGroups:
    """Groups of users with like rates."""

    groups: Ints  # (M,)
    rates: Floats  # (G,) the mean rate of a group's users
    of_users: Floats  # (M,)
    answers: Floats  # (domain.size,) how often each answer is given


def rate_groups(counts: Floats, law: Floats, *, alike: bool = False) -> RateGroups:
    """Groups from `counts[user, symbol]` of reports that the law made (NULL is its last row).

    Users who are taken for `alike` form one.
    """
    shares = common_answers(counts.sum(axis=0), law)
    mean = min(max(float(shares[:-1].sum()), LEAST_RATE), 1.0 - LEAST_RATE)
    variance = 0.0 if alike else _variance(counts, law, mean)
    if variance <= 0.0:
        rates = np.full(counts.shape[0], mean)
    else:
        rates = _posterior_means(counts, law, product(shares[:-1], law[:-1]) / mean, mean, variance)
    _, groups = np.unique(np.digitize(rates, ENDS), return_inverse=True)
    means = np.bincount(groups, weights=rates) / np.bincount(groups)
    return RateGroups(groups.astype(np.int64), means, rates, _given(shares[:-1]))


def _given(shares: Floats) -> Floats:
    """How often each answer is given, of those that are; all alike if there are none."""
    whole = float(shares.sum())
    given: Floats = shares / whole if whole > LEAST_RATE else np.full(shares.size, 1.0 / shares.size)
    return given


def stated_rate(counts: Floats, law: Floats, rate: float) -> RateGroups:
    """One group of users with a rate that is known from elsewhere."""
    users = counts.shape[0]
    answers = common_answers(counts.sum(axis=0), rate * law[:-1] + (1.0 - rate) * law[-1])
    return RateGroups(np.zeros(users, dtype=np.int64), np.array([rate]), np.full(users, rate), answers)


def common_answers(totals: Floats, law: Floats) -> Floats:
    """The shares of answers, NULL last, that explain totals of symbols best; of equals the most even.

    Symbols with much noise allow long steps along the gradient, where expectation and maximization would
    creep; with little noise those would overshoot, and expectation and maximization does not.
    """
    seen = totals / totals.sum()
    shares = np.full(law.shape[0], 1.0 / law.shape[0])
    for _ in range(_ANSWER_SWEEPS):
        chances = np.maximum(product(shares, law), _TINY)
        # Twice the farthest from the middle is at least as far as any two are apart.
        steepest = 4.0 * float(product(np.square(law - chances), seen / np.square(chances)).max())
        gradient = product(law, seen / chances)
        if steepest < 1.0:
            shares = shares * np.exp((gradient - gradient.max()) / max(steepest, _TINY))
        else:
            shares = shares * gradient
        shares = shares / shares.sum()
    return shares


def _variance(counts: Floats, law: Floats, mean: float) -> float:
    """The variance of users' rates beyond what chance gives; 0 where that is not clear."""
    objects, nulls = float(counts[0].sum()), counts[:, -1]
    # How much likelier an answer makes another symbol than NULL, the same for all answers but for rounding.
    slope = float(law[-1, -1] - law[:-1, -1].mean())
    chance = float(law[-1, -1]) - mean * slope
    noise = objects * chance * (1.0 - chance)
    users = nulls.size
    excess = float(np.square(nulls - nulls.mean()).sum()) / max(1, users - 1) - noise
    if slope <= 0.0 or users < 3 or excess < CLEARLY * noise * np.sqrt(2.0 / (users - 1)):
        return 0.0
    return excess / (objects * slope) ** 2


def _posterior_means(counts: Floats, law: Floats, answered: Floats, mean: float, variance: float) -> Floats:
    """Users' rates; `answered` has the chances of symbols where somebody answered."""
    objects = float(counts[0].sum())
    grid = np.geomspace(min(0.5 / objects, 0.01), 1.0 - LEAST_RATE, POINTS)
    whole = max(mean * (1.0 - mean) / variance - 1.0, 0.05)
    logs = mean * whole * np.log(grid) + ((1.0 - mean) * whole - 1.0) * np.log1p(-grid)  # even in log-rates
    shares = np.exp(np.minimum(logs - logs[:-1].max(), 0.0)) + 1e-6
    chances = (1.0 - grid)[:, None] * law[-1] + grid[:, None] * answered
    fits = product(counts, np.log(np.maximum(chances, _TINY)).T)
    likelihoods = np.exp(fits - fits.max(axis=1, keepdims=True))
    shares /= shares.sum()
    for _ in range(_SWEEPS):
        shares = shares * (likelihoods / product(likelihoods, shares)[:, None]).mean(axis=0)
    means: Floats = product(likelihoods * shares, grid) / product(likelihoods, shares)
    return means
