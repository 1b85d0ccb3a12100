"""Gaussian noise of a drawn variance: the figures of the privacy page, and integrals."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import kve, ndtr
from scipy.stats import norm

from crowdveil import accounting
from crowdveil.arrays import Floats


def test_a_variance_shared_by_a_users_claims_has_the_stated_deltas() -> None:
    assert accounting.shared_variance_delta(0.5, 1.0, 1.0) == pytest.approx(0.187067, abs=5e-7)
    assert accounting.shared_variance_delta(0.5, sqrt(30), 1.0) == pytest.approx(0.898112, abs=5e-7)
    # delta = 1e-6 at epsilon 1 needs a mean variance of 5e5.
    assert accounting.shared_variance_delta(1 / 5e5, 1.0, 1.0) == pytest.approx(1e-6, rel=1e-4)


@pytest.mark.parametrize(("rate", "shift", "epsilon"), [(0.5, 1.0, 1.0), (0.02, 5.0, 0.1), (3.0, 1.0, 0.0)])
def test_the_shared_variance_delta_equals_the_mean_over_variances(
    rate: float, shift: float, epsilon: float
) -> None:
    def weighted(v: float) -> float:
        mu = shift / sqrt(v)
        return (
            rate
            * exp(-rate * v)
            * float(ndtr(mu / 2 - epsilon / mu) - exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))
        )

    mean = quad(weighted, 0, 1 / rate, epsabs=1e-12)[0] + quad(weighted, 1 / rate, 60 / rate, epsabs=1e-12)[0]
    assert accounting.shared_variance_delta(rate, shift, epsilon) == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize(("claims", "exact"), [(2, 0.082), (5, 0.141), (30, 0.179)])
def test_the_shared_variance_bound_holds_for_every_number_of_claims(claims: int, exact: float) -> None:
    # The noise of N claims has density r^(1 - N/2) K_(N/2 - 1)(r) (lambda2 = 1/2), r its length; one claim
    # moves along x, and z is the length of the others' noise.
    x: Floats = np.arange(-300.0, 311.0) * 0.1
    z = (np.arange(1, 700) - 0.5) * 0.1
    order = claims / 2 - 1

    def log_density(along: Floats) -> Floats:
        r = np.hypot(along[:, None], z[None, :])
        found: Floats = np.log(kve(order, r)) - r - order * np.log(r) + (claims - 2) * np.log(z)
        return found

    here, there = log_density(x), log_density(x - 1.0)
    total = np.exp(here).sum()
    delta = float(np.maximum(np.exp(here) - np.exp(1.0 + there), 0).sum() / total)
    assert delta == pytest.approx(exact, abs=1.5e-3)
    assert delta <= accounting.shared_variance_delta(0.5, 1.0, 1.0)


def test_a_fresh_variance_for_each_claim_is_laplace_noise() -> None:
    rate, width = 0.5, 3.0
    assert accounting.fresh_variance_epsilon(rate, width) == pytest.approx(3.0, rel=1e-12)
    for y in (0.3, 1.0, 4.0):
        density = quad(lambda v: rate * exp(-rate * v) * norm.pdf(y, 0, sqrt(v)), 0, 200, limit=400)[0]  # noqa: B023
        laplace = sqrt(2 * rate) / 2 * exp(-sqrt(2 * rate) * y)
        assert density == pytest.approx(laplace, rel=1e-6)


def test_a_floor_under_the_variance_makes_small_deltas_possible() -> None:
    assert accounting.floored_variance_delta(1.0, 1.0, 17.0, 1.0) > 1e-6
    assert accounting.floored_variance_delta(1.0, 1.0, 17.1, 1.0) < 1e-6
    for smallest in (0.01, 1.0, 17.0):
        found = accounting.floored_variance_delta(2.0, 1.5, smallest, 0.5)
        integral = quad(
            lambda v: 2.0 * exp(-2.0 * v) * accounting.gaussian_delta(sqrt(smallest + v), 1.5, 0.5),  # noqa: B023
            0,
            30,
            epsabs=1e-14,
            limit=400,
        )[0]
        assert integral * (1 - 1e-7) <= found <= integral * (1 + 1e-3)
    nearly = accounting.floored_variance_delta(0.5, 1.0, 1e-9, 1.0)
    assert nearly == pytest.approx(accounting.shared_variance_delta(0.5, 1.0, 1.0), rel=1e-3)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(rate=st.floats(1e-3, 10), shift=st.floats(1e-2, 30), epsilon=st.floats(0, 20))
def test_deltas_of_exponential_variances_are_monotone(rate: float, shift: float, epsilon: float) -> None:
    found = accounting.shared_variance_delta(rate, shift, epsilon)
    assert 0 < found <= 1
    assert found >= accounting.shared_variance_delta(rate, shift, epsilon + 0.1)
    assert found <= accounting.shared_variance_delta(rate, 1.1 * shift, epsilon)
    assert found <= accounting.shared_variance_delta(1.1 * rate, shift, epsilon)
