"""Noise of several kinds together: numeric composition is tight, pessimistic and not trusted too far."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np
import pytest

from crowdveil import accounting
from crowdveil.accounting import NoiseEvent


def test_numeric_composition_is_tight_and_pessimistic() -> None:
    delta = 1e-6
    laplace = 1 + 2 * log(1 - delta)  # one Laplace release of epsilon 1: delta = 1 - e^((epsilon - 1)/2)
    assert laplace <= accounting.events_epsilon([NoiseEvent("laplace", 1.0)], delta) <= laplace + 1e-3
    gaussian = accounting.gaussian_epsilon(10.0, sqrt(100), delta)
    assert (
        gaussian
        <= accounting.events_epsilon([NoiseEvent("gaussian", 10.0, times=100)], delta)
        <= gaussian + 1e-3
    )
    mixed = accounting.events_epsilon(
        [NoiseEvent("laplace", 10.0, times=10), NoiseEvent("gaussian", 10.0, times=10)], delta
    )
    assert accounting.gaussian_epsilon(10.0, sqrt(10), delta) < mixed < 2.0


@pytest.mark.parametrize("times", [1, 2])
def test_numeric_composition_of_discrete_laplace_noise_equals_enumeration(times: int) -> None:
    rate, sensitivity, delta = 0.5, 2, 0.05
    y = np.arange(-60, 61)
    p, q = (np.exp(-rate * np.abs(y - shift)) for shift in (0, sensitivity))
    p, q = p / p.sum(), q / p.sum()
    if times == 2:
        p, q = np.outer(p, p).ravel(), np.outer(q, q).ravel()

    def exact(epsilon: float) -> float:
        return float(np.maximum(p - exp(epsilon) * q, 0).sum())

    smallest = accounting.smallest_epsilon(exact, delta, most=times * 1.0)
    found = accounting.events_epsilon([NoiseEvent("discrete_laplace", 1 / rate, sensitivity, times)], delta)
    assert smallest - 1e-9 <= found <= smallest + 2e-2


def test_numeric_composition_is_used_only_where_it_can_be_trusted_and_is_tighter() -> None:
    one = [NoiseEvent("laplace", 2.0)]
    assert accounting.events_epsilon(one, 0.0) == 0.5
    assert 0.499 < accounting.events_epsilon(one, 1e-15) <= 0.5
    many = [NoiseEvent("laplace", 2.0, 1, 20)]
    assert accounting.events_epsilon(many, 1e-6) < 0.98 * accounting.composed_epsilon(0.5, 0.0, 20, 1e-6)
    # Discrete Laplace noise on a count is randomized response, the worst that epsilon allows.
    counts = [NoiseEvent("discrete_laplace", 20.0, 1, 400)]
    worst = accounting.composed_epsilon(0.05, 0.0, 400, 1e-6)
    assert accounting.events_epsilon(counts, 1e-6) == pytest.approx(worst, rel=1e-6)
    assert accounting.events_epsilon([NoiseEvent("discrete_gaussian", 5.0)], 0.0) == inf
    closed = accounting.events_epsilon([NoiseEvent("discrete_gaussian", 5.0)], 1e-15)
    assert closed == accounting.zcdp_epsilon(0.02, 1e-15)


@pytest.mark.parametrize(
    ("noise", "most"),
    [
        (NoiseEvent("laplace", 1e-9), 1e9),
        (NoiseEvent("gaussian", 1e-3), accounting.zcdp_epsilon(5e5, 1e-6)),
        (NoiseEvent("discrete_gaussian", 1.0, 100), accounting.zcdp_epsilon(5000, 1e-6)),
        (NoiseEvent("discrete_gaussian", 1e20), accounting.zcdp_epsilon(5e-41, 1e-6)),
        (NoiseEvent("laplace", 1e12, 1, 10**9), accounting.zcdp_epsilon(5e-16, 1e-6)),
    ],
)
def test_noise_too_small_large_or_frequent_for_tables_has_its_closed_form(
    noise: NoiseEvent, most: float
) -> None:
    assert 0 <= accounting.events_epsilon([noise], 1e-6) <= most * (1 + 1e-9)
