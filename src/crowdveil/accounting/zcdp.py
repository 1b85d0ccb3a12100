"""Zero-concentrated differential privacy (zCDP): one parameter, rho, which adds up under composition.

Reference: Bun and Steinke, *Concentrated Differential Privacy: Simplifications, Extensions, and Lower
Bounds*, 2016, doi:10.1007/978-3-662-53641-4_24.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import log, log1p, sqrt

from crowdveil.accounting.parameters import check_delta, check_epsilon, check_positive
from crowdveil.accounting.rounding import exp_up, slack, sum_up, up
from crowdveil.accounting.search import smallest_epsilon


def gaussian_rho(sigma: float, sensitivity: float) -> float:
    """The rho of Gaussian noise, continuous or discrete, on a vector of L2 sensitivity `sensitivity`.

    rho = sensitivity^2 / (2 sigma^2). Reference: Bun and Steinke 2016, proposition 1.6; for discrete noise on
    integer vectors Canonne, Kamath and Steinke 2020, arXiv:2004.00010 (multivariate discrete Gaussian).
    """
    check_positive(sigma, "sigma")
    check_positive(sensitivity, "the sensitivity")
    return up(Fraction(sensitivity) ** 2 / (2 * Fraction(sigma) ** 2))


def add_rhos(rhos: Iterable[float]) -> float:
    """The rho of several mechanisms together: their sum. Reference: Bun and Steinke 2016 (composition)."""
    terms = list(rhos)
    for rho in terms:
        check_epsilon(rho, "rho")
    return sum_up(terms)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """A delta at `epsilon` that holds for every rho-zCDP mechanism.

    It is the minimum over a > 1 of exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a; every a gives a valid
    delta. Reference: Canonne, Kamath and Steinke 2020, section 2.3.
    """
    check_epsilon(rho, "rho")
    check_epsilon(epsilon)
    if rho == 0:
        return 0.0
    # With b = a - 1 there is no cancellation near a = 1. The logarithm of the expression,
    # b ((1 + b) rho - epsilon - log(1 + 1/b)) - log(1 + b), is convex: bisection on its derivative.
    low, high = 1e-12, min((epsilon + 1.0) / (2.0 * rho) + 1.0, 1e12)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if (2 * middle + 1) * rho - epsilon - log1p(1 / middle) < 0:
            low = middle
        else:
            high = middle
    b = high
    terms = (b * (1 + b) * rho, -b * epsilon, -b * log1p(1 / b), -log1p(b))
    return min(1.0, exp_up(sum(terms), sum(map(abs, terms))))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """An epsilon at `delta` > 0 that holds for every rho-zCDP mechanism. Reference: as for `zcdp_delta`."""
    check_epsilon(rho, "rho")
    check_delta(delta, least=0.0)
    most = (rho + 2.0 * sqrt(-rho * log(delta))) * (1.0 + slack(8.0))  # Bun and Steinke, prop. 1.3
    return smallest_epsilon(lambda at: zcdp_delta(rho, at), delta, most=most)
