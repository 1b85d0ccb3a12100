"""The rate at which each user answers, estimated from randomized reports by empirical Bayes.

If users differ no more than by chance, all have one rate. Otherwise the prior of rates starts as the Beta
distribution with their mean and variance and is then estimated on a grid; a user's rate is the posterior
mean. Users with similar rates form a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.kernels.products import product

# Rates vary widely (on real data a tenth of the users gives most answers), so groups grow geometrically.
ENDS = np.array([0.003, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7])
POINTS = 40  # grid points for rates
LEAST_RATE = 1e-6
CLEARLY = 3.0  # excess variance of rates, in standard errors, from which users differ
_SWEEPS = 30
_ANSWER_SWEEPS = 1000
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class RateGroups:
    """Groups of users with similar rates of answering."""

    groups: Ints  # (M,)
    rates: Floats  # (G,) the mean rate of a group's users
    of_users: Floats  # (M,)
    answers: Floats  # (domain.size,) distribution of answers


def rate_groups(counts: Floats, law: Floats, *, alike: bool = False) -> RateGroups:
    """Groups from counts[user, symbol] of reports drawn from `law`, whose last row is that of NULL.

    With `alike`, all users form one group.
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
    return RateGroups(groups.astype(np.int64), means, rates, _normalised(shares[:-1]))


def _normalised(shares: Floats) -> Floats:
    """The shares of answers other than NULL, normalised; uniform if there are none."""
    total = float(shares.sum())
    distribution: Floats = shares / total if total > LEAST_RATE else np.full(shares.size, 1.0 / shares.size)
    return distribution


def stated_rate(counts: Floats, law: Floats, rate: float) -> RateGroups:
    """One group of all users, with a rate that is given."""
    users = counts.shape[0]
    answers = common_answers(counts.sum(axis=0), rate * law[:-1] + (1.0 - rate) * law[-1])
    return RateGroups(np.zeros(users, dtype=np.int64), np.array([rate]), np.full(users, rate), answers)


def common_answers(totals: Floats, law: Floats) -> Floats:
    """Maximum likelihood shares of answers, NULL last, from totals of symbols; the most even if not unique.

    With much noise the steps are exponentiated-gradient steps, because EM would be slow; with little noise
    these would overshoot and the steps are those of EM.
    """
    frequencies = totals / totals.sum()
    shares = np.full(law.shape[0], 1.0 / law.shape[0])
    for _ in range(_ANSWER_SWEEPS):
        chances = np.maximum(product(shares, law), _TINY)
        # Twice the largest distance from the mean bounds the distance of any two rows of the law.
        steepest = 4.0 * float(product(np.square(law - chances), frequencies / np.square(chances)).max())
        gradient = product(law, frequencies / chances)
        if steepest < 1.0:
            shares = shares * np.exp((gradient - gradient.max()) / max(steepest, _TINY))
        else:
            shares = shares * gradient
        shares = shares / shares.sum()
    return shares


def _variance(counts: Floats, law: Floats, mean: float) -> float:
    """The excess variance of users' rates over chance; 0 if it is not significant."""
    objects, nulls = float(counts[0].sum()), counts[:, -1]
    # An answer lowers the probability of the symbol NULL by `drop`, the same for all answers up to rounding.
    drop = float(law[-1, -1] - law[:-1, -1].mean())
    chance = float(law[-1, -1]) - mean * drop
    noise = objects * chance * (1.0 - chance)
    users = nulls.size
    excess = float(np.square(nulls - nulls.mean()).sum()) / max(1, users - 1) - noise
    if drop <= 0.0 or users < 3 or excess < CLEARLY * noise * np.sqrt(2.0 / (users - 1)):
        return 0.0
    return excess / (objects * drop) ** 2


def _posterior_means(counts: Floats, law: Floats, answered: Floats, mean: float, variance: float) -> Floats:
    """Posterior means of users' rates; `answered` holds the probabilities of symbols given an answer."""
    objects = float(counts[0].sum())
    grid = np.geomspace(min(0.5 / objects, 0.01), 1.0 - LEAST_RATE, POINTS)
    concentration = max(mean * (1.0 - mean) / variance - 1.0, 0.05)
    logs = mean * concentration * np.log(grid) + ((1.0 - mean) * concentration - 1.0) * np.log1p(
        -grid
    )  # with the Jacobian of a grid in log-rates
    shares = np.exp(np.minimum(logs - logs[:-1].max(), 0.0)) + 1e-6
    chances = (1.0 - grid)[:, None] * law[-1] + grid[:, None] * answered
    fits = product(counts, np.log(np.maximum(chances, _TINY)).T)
    likelihoods = np.exp(fits - fits.max(axis=1, keepdims=True))
    shares /= shares.sum()
    for _ in range(_SWEEPS):
        shares = shares * (likelihoods / product(likelihoods, shares)[:, None]).mean(axis=0)
    means: Floats = product(likelihoods * shares, grid) / product(likelihoods, shares)
    return means
