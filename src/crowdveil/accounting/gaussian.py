"""The exact delta of Gaussian noise, continuous and discrete."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, floor, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from crowdveil.accounting.parameters import check_delta, check_epsilon, check_positive, check_whole
from crowdveil.accounting.rounding import TINY, exp_up, slack
from crowdveil.accounting.search import smallest_epsilon
from crowdveil.accounting.zcdp import gaussian_rho, zcdp_epsilon
from crowdveil.errors import ParameterError

_LARGEST_SIGMA = 1e6


def gaussian_delta(sigma: float, sensitivity: float, epsilon: float) -> float:
    """The exact delta at `epsilon` of continuous Gaussian noise on a vector of L2 sensitivity `sensitivity`.

    It is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). T releases cost as much as one with
    sqrt(T) times the sensitivity. Reference: Balle and Wang, *Improving the Gaussian Mechanism for
    Differential Privacy*, ICML 2018, arXiv:1805.06530, theorem 8.
    """
    check_positive(sigma, "sigma")
    check_positive(sensitivity, "the sensitivity")
    check_epsilon(epsilon)
    return float(gaussian_deltas(np.array([sensitivity / sigma]), epsilon)[0])


def gaussian_epsilon(sigma: float, sensitivity: float, delta: float) -> float:
    """The smallest epsilon at `delta` > 0 of continuous Gaussian noise: the inverse of `gaussian_delta`."""
    check_delta(delta, least=0.0)
    most = zcdp_epsilon(gaussian_rho(sigma, sensitivity), delta)
    return smallest_epsilon(lambda at: gaussian_delta(sigma, sensitivity, at), delta, most=most)


def gaussian_deltas(mu: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """As `gaussian_delta`, for each mu = sensitivity / sigma of an array."""
    log_first = np.maximum(log_ndtr(mu / 2 - epsilon / mu), -1e4)
    log_second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    rounding = np.minimum(slack(1.0) * (4.0 + np.abs(log_first) + np.abs(log_second) + 2 * epsilon), 1e300)
    deltas: NDArray[np.float64] = np.exp(log_first) * (
        -np.expm1(np.minimum(log_second - log_first, 0.0)) + rounding
    )
    return np.minimum(deltas + TINY, 1.0)


def discrete_gaussian_delta(sigma: float, sensitivity: int, epsilon: float) -> float:
    """The exact delta at `epsilon` of discrete Gaussian noise on *one* integer of sensitivity `sensitivity`.

    It is the sum of Pr[y] (1 - e^(epsilon - loss(y))) over the y with loss(y) > epsilon, where
    loss(y) = (2 y s + s^2) / (2 sigma^2) and s is the sensitivity. For vectors use `gaussian_rho`. Reference:
    Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, arXiv:2004.00010,
    theorem 7.
    """
    check_positive(sigma, "sigma")
    check_whole(sensitivity, "the sensitivity")
    check_epsilon(epsilon)
    if not 1e-2 <= sigma <= _LARGEST_SIGMA:
        raise ParameterError(f"sigma must lie between 0.01 and {_LARGEST_SIGMA:g}, not {sigma:g}")
    # Losses exceed epsilon for y >= least; the excess at y = least is computed exactly.
    edge = Fraction(epsilon) * Fraction(sigma) ** 2 / sensitivity - Fraction(sensitivity, 2)
    least = floor(edge) + 1
    if least > 2**50:
        return TINY
    overshoot = float(least - edge)
    variance = sigma * sigma
    # Beyond `far` the masses sum to less than e^-60 (1 + 1.3 sigma) times the largest mass of the sum.
    nearest = max(least, 0)
    far = ceil(sqrt(nearest**2 + 120.0 * variance)) + 1
    total = 0.0
    for start in range(max(least, -far), far + 1, 1_000_000):
        y = np.arange(start, min(start + 1_000_000, far + 1), dtype=np.float64)
        excess = sensitivity / variance * ((y - start) + (float(start - least) + overshoot))
        total += float((np.exp((nearest**2 - y * y) / (2 * variance)) * -np.expm1(-excess)).sum())
    total = total * (1.0 + slack(16.0)) + exp(-60.0) * (sigma + 1.0) * 3.0
    log_largest = -(nearest**2) / (2 * variance) - log(_theta(sigma))
    return min(1.0, exp_up(log_largest + log(total), 8.0 + 2 * abs(log_largest)))


def _theta(sigma: float) -> float:
    """The sum over all integers y of exp(-y^2 / 2 sigma^2), directly or by Poisson's summation formula."""
    y = np.arange(1, 40)
    if sigma < 1:
        return 1.0 + 2.0 * float(np.exp(-(y**2) / (2 * sigma * sigma)).sum())
    return sqrt(2 * pi) * sigma * (1.0 + 2.0 * float(np.exp(-2 * (pi * y * sigma) ** 2).sum()))
