"""What Gaussian noise costs whose variance is itself drawn, from an exponential law."""

from __future__ import annotations

from math import expm1, inf, sqrt

import numpy as np

from crowdveil.accounting.gaussian import gaussian_deltas
from crowdveil.accounting.parameters import check_epsilon, check_positive
from crowdveil.accounting.rounding import TINY, slack


def fresh_variance_epsilon(rate: float, width: float) -> float:
    """The pure epsilon of Gaussian noise with a fresh Exp(rate) variance, on values in a range of that width.

    Such noise *is* Laplace noise of scale 1/sqrt(2 rate): width sqrt(2 rate).
    """
    check_positive(rate, "the rate")
    check_positive(width, "the width")
    return width * sqrt(2.0 * rate) * (1.0 + slack(1.0))


def shared_variance_delta(rate: float, shift: float, epsilon: float) -> float:
    """The delta of Gaussian noise whose variance v ~ Exp(rate) is shared by all claims of a user.

    1 - exp(-(sqrt(epsilon^2 + 2 rate s^2) - epsilon)/2), s = `shift` the L2 distance that the claims can
    move: the width of the range for one claim, sqrt(N) widths for a user with N claims. Exact if v is
    revealed, the limit for many claims, an upper bound for every number of claims.
    """
    check_positive(rate, "the rate")
    check_positive(shift, "the shift")
    check_epsilon(epsilon)
    square = 2.0 * rate * shift * shift
    exponent = 0.5 * square / (sqrt(epsilon * epsilon + square) + epsilon)
    return min(1.0, -expm1(-exponent) * (1.0 + slack(4.0)) + TINY)


def floored_variance_delta(rate: float, shift: float, smallest: float, epsilon: float) -> float:
    """The delta as `shared_variance_delta` has it, for a variance v = smallest + Exp(rate).

    The mean of `gaussian_delta` over v. It falls in v, so that a sum with v at the lower end of each of many
    small steps is an upper bound, high by less than one part in a thousand.
    """
    check_positive(rate, "the rate")
    check_positive(shift, "the shift")
    check_positive(smallest, "the smallest variance")
    check_epsilon(epsilon)
    extra = np.concatenate([[0.0], np.geomspace(1e-12, 60.0, 200_000)])  # in units of 1 / rate
    mass = -np.exp(-extra) * np.expm1(-np.diff(extra, append=inf))
    deltas = gaussian_deltas(shift / np.sqrt(smallest + extra / rate), epsilon)
    return min(1.0, float((mass * deltas).sum()) * (1.0 + slack(64.0)))
