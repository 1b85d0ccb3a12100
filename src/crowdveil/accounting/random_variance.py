"""The cost of Gaussian noise whose variance is drawn from an exponential distribution."""

from __future__ import annotations

from math import expm1, inf, sqrt

import numpy as np

from crowdveil.accounting.gaussian import gaussian_deltas
from crowdveil.accounting.parameters import check_epsilon, check_positive
from crowdveil.accounting.rounding import TINY, slack


def fresh_variance_epsilon(rate: float, width: float) -> float:
    """The pure epsilon of Gaussian noise with a fresh Exp(rate) variance on a value in a range of `width`.

    Such noise *is* Laplace noise of scale 1/sqrt(2 rate), so epsilon = width sqrt(2 rate).
    """
    check_positive(rate, "the rate")
    check_positive(width, "the width")
    return width * sqrt(2.0 * rate) * (1.0 + slack(1.0))


def shared_variance_delta(rate: float, shift: float, epsilon: float) -> float:
    """The delta at `epsilon` of Gaussian noise whose variance v ~ Exp(rate) is shared by a user's claims.

    It is 1 - exp(-(sqrt(epsilon^2 + 2 rate s^2) - epsilon)/2), where s = `shift` is the L2 sensitivity: the
    width of the range for one claim, sqrt(N) times that for a user with N claims. This is exact if v is
    revealed, the limit for many claims, and an upper bound for any number of claims.
    """
    check_positive(rate, "the rate")
    check_positive(shift, "the shift")
    check_epsilon(epsilon)
    square = 2.0 * rate * shift * shift
    exponent = 0.5 * square / (sqrt(epsilon * epsilon + square) + epsilon)
    return min(1.0, -expm1(-exponent) * (1.0 + slack(4.0)) + TINY)


def floored_variance_delta(rate: float, shift: float, smallest: float, epsilon: float) -> float:
    """As `shared_variance_delta`, for a variance v = smallest + Exp(rate).

    It is the mean of `gaussian_delta` over v. That delta decreases in v, so a sum over small intervals with v
    at their lower ends is an upper bound; it is too large by less than one part in a thousand.
    """
    check_positive(rate, "the rate")
    check_positive(shift, "the shift")
    check_positive(smallest, "the smallest variance")
    check_epsilon(epsilon)
    extra = np.concatenate([[0.0], np.geomspace(1e-12, 60.0, 200_000)])  # in units of 1 / rate
    mass = -np.exp(-extra) * np.expm1(-np.diff(extra, append=inf))
    deltas = gaussian_deltas(shift / np.sqrt(smallest + extra / rate), epsilon)
    return min(1.0, float((mass * deltas).sum()) * (1.0 + slack(64.0)))
