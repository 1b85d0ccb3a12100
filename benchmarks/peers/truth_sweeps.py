"""Truth discovery over any library's sums by group: weighted means and users' losses in turn.

Sums by object and by user come from outside, so that it runs on any library. It does as many sweeps as it is
told. Every object must have claims that differ: what a careful library does about the others is left out.

Notation: o = x - median of an object's claims, sd their standard deviation, w users' weights.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.stopwatch import Arrays, Steps

Floats = NDArray[np.float64]
AT_REST = 1e-6  # of an object's spread, on average
CAP = 100


class Sums(Protocol):
    """A library's way to add up claims by group."""

    def prepare(self, power: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Objects' medians and standard deviations, and users' counts; keeps what sweeps need.

        Losses will be sums of (x - truth)^2 / sd^power.
        """

    def means(self, weights: Floats, prior: float) -> Floats:
        """sum w o / (prior + sum w) of each object."""

    def losses(self, means: Floats) -> Floats:
        """sum (o - mean)^2 / sd^power of each user."""


def discover(inputs: Arrays, sums: Sums, method: str) -> Steps:
    """GTM or CRH from equal weights on."""
    sweeps, users = int(inputs[f"{method}_sweeps"]), int(inputs["user_count"])
    prior, power = (1.0, 2) if method == "gtm" else (0.0, 1)
    alpha, beta = float(inputs["gtm_alpha"]), float(inputs["gtm_beta"])
    weigh = partial(gtm_weights, alpha=alpha, beta=beta) if method == "gtm" else crh_weights
    yield
    medians, sd, made = sums.prepare(power)
    before = means = sums.means(np.ones(users), prior)
    for _ in range(sweeps - 1):
        before = means
        means = sums.means(weigh(sums.losses(means), made), prior)
    yield
    # For checking, sweeps go on until truths rest, should as many as ours not be enough for that.
    resting = sweeps
    while np.mean(np.abs(means - before) / sd) >= AT_REST and resting < CAP:
        resting += 1
        before = means
        means = sums.means(weigh(sums.losses(means), made), prior)
    return {"truths": medians + means, "sweeps": np.array(sweeps)}


def gtm_weights(losses: Floats, made: NDArray[np.int64], alpha: float, beta: float) -> Floats:
    """One over a user's variance, the largest a posteriori under an inverse gamma prior."""
    found: Floats = (2.0 * (alpha + 1.0) + made) / (2.0 * beta + losses)
    return found


def crh_weights(losses: Floats, made: NDArray[np.int64]) -> Floats:
    """-log of a user's share in all mean losses."""
    each = losses / made
    found: Floats = -np.log(each / each.sum())
    return found
