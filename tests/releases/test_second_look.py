"""The second look of the histogram estimator: how far one claim or user reaches, and its noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.histogram import Histograms, noisy_histograms
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.second_look import (
    weight_noise,
    weight_steps,
    weighted_counts,
    weighted_histograms,
)

LIMITS = Range(0.0, 12.0)
ONE = LocalEngine(1)
A_CLAIM = Neighbours()


def claim_sensitivity(most: int) -> int:
    return weight_noise(Fraction(1), A_CLAIM, most).changed


def crowd(values: Any) -> Claims:
    """Users in columns, objects in rows; NaN where there is no claim."""
    objects, users = np.nonzero(~np.isnan(values))
    return Claims.from_columns(objects, users, values[objects, users])


def first_look(claims: Claims, seed: int, bins: int = 4) -> Histograms:
    return noisy_histograms(claims, LIMITS, bins, Fraction(20), A_CLAIM, rng=seeded(seed), engine=ONE)


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(40))
def test_one_value_changes_the_weighted_counts_by_less_than_the_sensitivity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([0.5, 4.0, 4.1, 9.0, 11.5], size=(6, 3))
    values[rng.random((6, 3)) < 0.2] = np.nan
    values[0] = 4.0
    claims = crowd(values)
    noisy = first_look(claims, seed)  # fixed: the first look is public
    most = int((~np.isnan(values)).sum(axis=0).max())
    steps = weight_steps(most)
    before = weighted_counts(claims, noisy, steps)
    largest = 0
    for i, s in np.argwhere(~np.isnan(values)):
        for other in (0.5, 4.0, 9.0, 11.5):
            changed = values.copy()
            changed[i, s] = other
            largest = max(largest, np.abs(weighted_counts(crowd(changed), noisy, steps) - before).sum())
    assert 0 < largest <= claim_sensitivity(most)


def test_the_sensitivity_is_nearly_reached() -> None:
    # A user with full grades everywhere but for one claim that moves from a low to a high bin.
    objects = 30
    values = np.full((objects, 6), 4.0)
    values[:, 1:] = 4.0
    claims = crowd(values)
    noisy = first_look(claims, 1)
    steps = weight_steps(objects)
    before = weighted_counts(claims, noisy, steps)
    changed = values.copy()
    changed[0, 0] = 11.5
    moved = np.abs(weighted_counts(crowd(changed), noisy, steps) - before).sum()
    assert 2.8 * steps < moved <= claim_sensitivity(objects)


@pytest.mark.parametrize("seed", range(10))
def test_a_user_changes_the_weighted_counts_by_at_most_two_weights_a_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([0.5, 4.0, 9.0], size=(5, 4))
    claims = crowd(values)
    noisy = first_look(claims, seed)
    steps = weight_steps(5)
    before = weighted_counts(claims, noisy, steps)
    changed = values.copy()
    changed[:, 2] = rng.choice([0.5, 4.0, 9.0, 11.5], size=5)
    assert np.abs(weighted_counts(crowd(changed), noisy, steps) - before).sum() <= 2 * 5 * steps
    gone = values.copy()
    gone[:, 2] = np.nan
    assert np.abs(weighted_counts(crowd(gone), noisy, steps) - before).sum() <= 5 * steps


def test_the_noise_follows_its_law_and_missing_bins_stay_empty() -> None:
    claims = crowd(np.full((20_000, 2), 4.0))
    noisy = first_look(claims, 3)
    steps = weight_steps(20_000)
    epsilon = Fraction(3 * steps + 20_000 - 1, 4)  # so large that the noise can be told apart from others
    weighted = weighted_histograms(claims, noisy, epsilon, A_CLAIM, rng=seeded(4))
    assert weighted.noise.parameter == 4
    assert (weighted.counts[~noisy.has_bin] == 0).all()
    noise = (weighted.counts - weighted_counts(claims, noisy, steps))[noisy.has_bin]
    edge = 24
    seen = np.bincount(np.clip(noise, -edge, edge) + edge, minlength=2 * edge + 1)
    ratio = np.exp(-1 / 4)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-edge, edge + 1))
    law[[0, -1]] += (1 - law.sum()) / 2
    assert ((seen - noise.size * law) ** 2 / (noise.size * law)).sum() < chi2.isf(1e-6, 2 * edge)


def test_liars_weigh_less() -> None:
    rng = np.random.default_rng(5)
    values = np.clip(6 + 0.3 * rng.standard_normal((200, 40)), 0, 12)
    values[:, :10] = rng.uniform(0, 12, size=(200, 10))
    claims = crowd(values)
    noisy = first_look(claims, 6, bins=12)
    steps = weight_steps(200)
    alone = [
        weighted_counts(crowd(np.where(np.arange(40) == s, values, np.nan)), noisy, steps).sum()
        for s in (0, 39)
    ]
    assert alone[0] < 0.5 * alone[1]
    made = weighted_histograms(claims, noisy, Fraction(8), A_CLAIM, rng=seeded(7))
    plain, weighted = noisy.counts / noisy.claims[:, None], made.counts / made.claims[:, None]
    middle = slice(4, 8)
    assert weighted[:, middle].sum() > plain[:, middle].sum()
    assert replace(made, counts=noisy.counts, claims=noisy.claims, noise=noisy.noise).bins == noisy.bins
