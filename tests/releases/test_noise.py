"""The noise of released counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from crowdveil.accounting import zcdp_epsilon
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.histogram import noisy_histograms
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import CountNoise, count_noise, gaussian_cost


def test_without_a_delta_it_is_laplace_of_the_sensitivity_over_epsilon() -> None:
    assert count_noise(6, Fraction(3, 2)) == CountNoise(gaussian=False, parameter=Fraction(4), changed=6)
    with pytest.raises(ParameterError, match="too small"):
        count_noise(2, Fraction(1, 2**41))
    # Too many digits for the sampler: slightly more noise, never less.
    awkward = Fraction(12347 * 1021 + 1, 10**11)
    assert 3000 / awkward <= count_noise(3000, awkward).parameter <= 3000 / awkward * Fraction(1001, 1000)


def test_laplace_variance_is_that_of_its_law() -> None:
    z = np.arange(-2000, 2001)
    mass = np.exp(-np.abs(z) / 4.0)
    expected = (z**2 * mass).sum() / mass.sum()
    assert count_noise(2, Fraction(1, 2)).variance == pytest.approx(expected, rel=1e-12)


@pytest.mark.no_cover
@pytest.mark.parametrize("changed", [1, 2, 30, 400])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_gaussian_noise_costs_what_was_asked_and_hardly_less(
    changed: int, epsilon: Fraction, delta: float
) -> None:
    noise = count_noise(changed, epsilon, delta)
    assert noise.gaussian
    assert gaussian_cost(changed, noise.parameter, delta) <= epsilon
    less = noise.parameter * Fraction(99, 100) - Fraction(2, 1000)
    assert gaussian_cost(changed, less, delta) > epsilon
    # Never more noise than zero-concentrated differential privacy alone would need.
    assert zcdp_epsilon(changed / (2 * float(noise.parameter)), delta) >= 0.99 * epsilon


def test_gaussian_noise_is_less_than_laplace_for_users_of_many_claims() -> None:
    assert count_noise(30, Fraction(1), 1e-6).variance < 0.35 * count_noise(30, Fraction(1)).variance
    assert count_noise(2, Fraction(1), 1e-6).variance > count_noise(2, Fraction(1)).variance


def test_gaussian_counts_follow_their_exact_law() -> None:
    copies = 40_000
    claims = Claims.from_columns(np.arange(copies), np.zeros(copies, np.int64), np.full(copies, 5.0))
    noisy = noisy_histograms(
        *(claims, Range(0.0, 12.0), 4, Fraction(2), Neighbours("user", "replace-one", 2), 1e-3),
        rng=seeded(1),
        engine=LocalEngine(1),
    )
    variance = float(noisy.noise.parameter)
    cell = 5  # of 12; bins of three cells start `shift` cells early
    true = np.arange(5) == ((cell + noisy.shifts.astype(int)) // 3)[:, None]
    noise = (noisy.counts - true)[noisy.has_bin]
    edge = int(4 * np.sqrt(variance))
    z = np.arange(-30 * edge, 30 * edge + 1)
    mass = np.exp(-(z**2) / (2 * variance))
    mass /= mass.sum()
    law = mass[np.abs(z) <= edge]
    law[[0, -1]] += (1 - law.sum()) / 2
    seen = np.bincount(np.clip(noise, -edge, edge) + edge, minlength=2 * edge + 1)
    assert ((seen - noise.size * law) ** 2 / (noise.size * law)).sum() < chi2.isf(1e-6, 2 * edge)
    assert abs(noise.mean()) < 5.2 * np.sqrt(variance / noise.size)  # unbiased
