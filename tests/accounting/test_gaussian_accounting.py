"""Gaussian noise: zCDP, the exact deltas by integration and enumeration, and what one says of the other."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from curves import falls
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from crowdveil import accounting


@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 0.1), (0.1, 1.0), (0.5, 3.0), (2.0, 12.0), (1e-4, 1e-3)])
def test_the_delta_of_zcdp_is_the_least_over_orders(rho: float, epsilon: float) -> None:
    a = 1 + np.geomspace(1e-6, 1e5, 400_000)
    logs = (a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a)
    assert accounting.zcdp_delta(rho, epsilon) == pytest.approx(min(1.0, float(np.exp(logs.min()))), rel=1e-6)


@pytest.mark.parametrize(
    ("rho", "epsilon", "exact"),
    [
        (0.5, 3.0, "0.005143184063862149291181124"),
        (8.0, 1.0, "0.9990946808894461058536613"),
        (19.2, 0.5, "0.9999999924370169799501423"),
        (19.7, 1.0, "0.9999999924370170085494901"),
    ],
)
def test_the_delta_of_zcdp_is_never_below_its_formula(rho: float, epsilon: float, exact: str) -> None:
    # The least over orders to 60 digits, computed once with mpmath.
    found = Fraction(accounting.zcdp_delta(rho, epsilon))
    assert Fraction(exact) <= found <= Fraction(exact) * (1 + Fraction(1, 10**13))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(sigma=st.floats(0.3, 50), epsilon=st.floats(0.01, 10))
def test_exact_gaussian_noise_is_never_worse_than_its_zcdp(sigma: float, epsilon: float) -> None:
    rho = accounting.gaussian_rho(sigma, 1.0)
    exact, bound = accounting.gaussian_delta(sigma, 1.0, epsilon), accounting.zcdp_delta(rho, epsilon)
    assert exact <= bound * (1 + 1e-9)
    assert falls(lambda at: accounting.gaussian_delta(sigma, 1.0, at), epsilon, 1.1 * epsilon)
    assert falls(lambda at: accounting.zcdp_delta(rho, at), epsilon, 1.1 * epsilon)
    assert accounting.gaussian_delta(sigma, 1.1, epsilon) >= exact * (1 - 1e-9)


@pytest.mark.parametrize(("sigma", "epsilon"), [(1.0, 1.0), (4.0, 0.5), (0.5, 0.0), (10.0, 0.01)])
def test_the_gaussian_delta_equals_the_integral(sigma: float, epsilon: float) -> None:
    def excess(y: float) -> float:
        return max(0.0, float(norm.pdf(y, 1, sigma) - exp(epsilon) * norm.pdf(y, 0, sigma)))

    edge = 0.5 + epsilon * sigma**2
    integral = quad(excess, edge, edge + 12 * sigma, epsabs=1e-14, limit=200)[0]
    assert accounting.gaussian_delta(sigma, 1.0, epsilon) == pytest.approx(integral, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 30.0, 700.0])
def test_gaussian_deltas_survive_extremes(epsilon: float) -> None:
    for sigma in (1e-3, 1.0, 1e6):
        assert 0 <= accounting.gaussian_delta(sigma, 1.0, epsilon) <= 1
    assert accounting.gaussian_delta(1e-3, 1.0, 1.0) == pytest.approx(1.0)
    tiny = accounting.gaussian_delta(10.0, 1.0, 5.0)
    assert 0 < tiny < 1e-100


@pytest.mark.parametrize("sigma", [0.05, 0.4, 0.7, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("sensitivity", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_the_discrete_gaussian_delta_equals_enumeration(
    sigma: float, sensitivity: int, epsilon: float
) -> None:
    y = np.arange(-800, 801)
    mass = np.exp(-(y**2) / (2 * sigma**2))
    mass /= mass.sum()
    there = np.exp(-((y + sensitivity) ** 2) / (2 * sigma**2)) / np.exp(-(y**2) / (2 * sigma**2)).sum()
    expected = float(np.maximum(mass - exp(epsilon) * there, 0).sum())
    found = accounting.discrete_gaussian_delta(sigma, sensitivity, epsilon)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_a_loss_barely_beyond_epsilon_counts() -> None:
    # The loss of y = 1 is above this epsilon by less than a rounding; computed once to 60 digits with mpmath.
    found = Fraction(accounting.discrete_gaussian_delta(0.173, 2, 133.64963747535833))
    exact = Fraction("1.9712742748527002197e-21")
    assert exact <= found <= exact * (1 + Fraction(1, 10**11))


def test_much_discrete_gaussian_noise_is_like_continuous_noise() -> None:
    for sigma, epsilon in ((300.0, 0.01), (1e5, 1e-5)):
        discrete = accounting.discrete_gaussian_delta(sigma, 1, epsilon)
        assert discrete == pytest.approx(accounting.gaussian_delta(sigma, 1.0, epsilon), rel=1e-2)
    assert accounting.discrete_gaussian_delta(1.0, 10**9, 1.0) == 1.0
    assert accounting.discrete_gaussian_delta(1e6, 1, 100.0) < 1e-300


def test_epsilons_of_gaussian_noise_are_enough_and_the_smallest() -> None:
    for delta in (1e-10, 1e-6, 1e-2):
        exact, bound = accounting.gaussian_epsilon(2.0, 1.0, delta), accounting.zcdp_epsilon(1 / 8, delta)
        assert exact < bound
        assert accounting.gaussian_delta(2.0, 1.0, exact) <= delta
        assert accounting.gaussian_delta(2.0, 1.0, exact * (1 - 1e-9)) > delta * (1 - 1e-6)
        assert accounting.zcdp_delta(1 / 8, bound) <= delta
    assert accounting.add_rhos([0.125, 0.25]) == 0.375
    assert accounting.zcdp_epsilon(0.0, 1e-6) == 0.0
    assert accounting.zcdp_epsilon(1.0, 5e-324) < 60
    assert accounting.zcdp_delta(1e6, 1.0) == 1.0
    assert 0 <= accounting.zcdp_delta(1e-300, 1.0) < 1e-12
