"""Each noisy statistic takes its noise from the neighbours that must look alike.

The scales below were derived by hand in docs/guarantees/certified.md, and stand here as numbers.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from crowdveil import accounting
from crowdveil.accounting import PrivateEvent, events_epsilon
from crowdveil.audit.transcripts import log_chances
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.certified import Certified, fit, private_part
from crowdveil.releases.histogram import (
    Histograms,
    histogram_noise,
    noisy_histograms,
    pair_distances,
    pair_noise,
)
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import CountNoise
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.second_look import weight_noise, weighted_histograms

CLAIM = Neighbours("claim", "replace-one")
CLAIM_MORE = Neighbours("claim", "add-remove")
USER = Neighbours("user", "replace-one", 7)
USER_MORE = Neighbours("user", "add-remove", 7)
TWELVE = Range(0.0, 12.0)
ONE = Fraction(1)
ENGINE = LocalEngine(1)


# L1 sensitivities, by hand: C = 7; weights of users with at most 7 claims are counted in Q = 170 steps.
BY_HAND = [
    # neighbours, pairs, histograms, weights
    (CLAIM, 2, 2, 3 * 170 + 7 - 1),
    (CLAIM_MORE, 2, 1, None),
    (USER, 14, 14, 2 * 7 * 170),
    (USER_MORE, 14, 7, 7 * 170),
]


@pytest.mark.parametrize(("neighbours", "pairs", "histograms", "weights"), BY_HAND)
def test_scales_are_the_sensitivities_derived_by_hand_over_epsilon(
    neighbours: Neighbours, pairs: int, histograms: int, weights: int | None
) -> None:
    for epsilon in (ONE, Fraction(1, 4), Fraction(5)):
        assert pair_noise(epsilon, neighbours) == CountNoise(False, pairs / epsilon, pairs)
        assert histogram_noise(epsilon, neighbours) == CountNoise(False, histograms / epsilon, histograms)
        if weights is not None:
            assert weight_noise(epsilon, neighbours, 7) == CountNoise(False, weights / epsilon, weights)
    if weights is None:
        with pytest.raises(ParameterError, match="come and go"):
            weight_noise(ONE, neighbours, 7)


def _claims() -> Claims:
    """Seven users, each with a claim about each of seven objects."""
    values = np.linspace(0.5, 11.5, 49)
    return Claims.from_columns(np.repeat(np.arange(7), 7), np.tile(np.arange(7), 7), values)


@pytest.mark.parametrize(("neighbours", "pairs", "histograms", "weights"), BY_HAND)
def test_the_statistics_draw_with_these_scales(
    neighbours: Neighbours, pairs: int, histograms: int, weights: int | None
) -> None:
    claims, rng = _claims(), seeded(1)
    near = pair_distances(claims, TWELVE, 0.01, ONE / 2, neighbours, rng=rng, engine=ENGINE)
    assert near.scale == 2 * pairs
    noisy = noisy_histograms(claims, TWELVE, 4, ONE / 2, neighbours, rng=rng, engine=ENGINE)
    assert noisy.noise.parameter == 2 * histograms
    if weights is not None:
        weighted = weighted_histograms(claims, noisy, ONE / 2, neighbours, rng=rng)
        assert weighted.noise.parameter == 2 * weights


@pytest.mark.parametrize(("neighbours", "changed"), [(USER, 14), (USER_MORE, 7)])
def test_gaussian_noise_hides_every_count_that_a_user_changes(neighbours: Neighbours, changed: int) -> None:
    """A replaced user moves 2 C counts by one: the L2 sensitivity is sqrt(2 C), whatever composes them."""
    noise = histogram_noise(ONE, neighbours, 1e-6)
    assert noise.gaussian
    sigma = sqrt(noise.parameter)
    # An analytic Gaussian mechanism of that L2 sensitivity is the same up to discretization.
    assert accounting.gaussian_epsilon(sigma, sqrt(changed), 1e-6) == pytest.approx(1.0, rel=5e-3)
    assert (noise.event.kind, noise.event.sensitivity, noise.event.times) == ("discrete_gaussian", 1, changed)
    assert float(noise.event.scale) == pytest.approx(sigma)


@pytest.mark.parametrize(
    ("before", "after", "neighbours"),
    [
        # One claim moves; a claim comes; a user's two claims move, each about another object.
        ([[3.5], [3.5]], [[8.5], [3.5]], CLAIM),
        ([[3.5], [3.5]], [[3.5, 8.5], [3.5]], CLAIM_MORE),
        ([[3.5], [3.5]], [[8.5], [8.5]], Neighbours("user", "replace-one", 2)),
        ([[3.5, 3.5], [3.5, 3.5]], [[3.5], [3.5]], Neighbours("user", "add-remove", 2)),
    ],
)
def test_the_largest_log_ratio_of_released_histograms_is_epsilon(
    before: list[list[float]], after: list[list[float]], neighbours: Neighbours
) -> None:
    """The noise that the release code tells, around the exact counts that it finds, of two neighbours."""

    def asked(values: list[list[float]], epsilon: Fraction) -> Histograms:
        rows = [(i, s, x) for i, own in enumerate(values) for s, x in enumerate(own)]
        claims = Claims.from_columns(*(list(column) for column in zip(*rows, strict=True)))
        return noisy_histograms(claims, TWELVE, 4, epsilon, neighbours, rng=seeded(3), engine=ENGINE)

    laws = {asked(values, Fraction(3, 2)).noise for values in (before, after)}
    assert len(laws) == 1
    (noise,) = laws
    exact, other = (asked(values, Fraction(10**6)).counts for values in (before, after))  # no noise at all
    # No output tells the two apart better than the exact counts of one of them.
    ratio = (log_chances(noise, exact - exact) - log_chances(noise, exact - other)).sum()
    assert ratio == pytest.approx(1.5, abs=1e-9)


# --- events -------------------------------------------------------------------------------------------------

PATTERN = Pattern.even(50, 30)
PARAMETERS: list[dict[str, Any]] = [
    {},
    {"epsilon": 0.123},
    {"unit": "user", "cap": 5},
    {"unit": "user", "cap": 5, "adjacency": "add-remove"},
    {"adjacency": "add-remove", "objects": ("a", "b")},
    {"pooled": True},
    {"estimator": "histogram"},
    {"estimator": "histogram", "reliability": 0.5},
    {"estimator": "histogram", "unit": "user", "cap": 5, "adjacency": "add-remove"},
    {"estimator": "histogram", "unit": "user", "cap": 5, "adjacency": "add-remove", "reliability": 0.3},
]


def asked_for(more: dict[str, Any]) -> Certified:
    options: dict[str, Any] = {"epsilon": 2.0, "range": Range(0, 10), "unit": "claim"} | more
    return Certified(**options)


@pytest.mark.parametrize("more", PARAMETERS)
def test_a_pure_promise_is_the_composition_of_its_events(more: dict[str, Any]) -> None:
    parameters = asked_for(more)
    events = parameters.events(PATTERN)
    assert events_epsilon(events, 0.0) == pytest.approx(parameters.epsilon, rel=1e-12)
    assert parameters.promise(PATTERN).epsilon == parameters.epsilon


@pytest.mark.parametrize("more", [{}, {"estimator": "histogram", "reliability": 0.5}])
def test_a_gaussian_promise_is_not_exceeded_by_its_events(more: dict[str, Any]) -> None:
    parameters = Certified(1.0, Range(0, 10), unit="user", cap=15, delta=1e-6, **more)
    assert parameters.promise(PATTERN).epsilon == 1.0
    together = events_epsilon(parameters.events(PATTERN), 1e-6)
    assert 0.5 < together <= 1.0


@pytest.mark.parametrize("more", [each for each in PARAMETERS if each.get("adjacency") == "add-remove"])
def test_where_claims_come_and_go_events_and_promise_hold_no_count(more: dict[str, Any]) -> None:
    parameters = asked_for(more)
    few, many = Pattern.even(1, 2), Pattern(np.array([100_000, 3]), 99)
    assert parameters.events(few) == parameters.events(many)
    assert parameters.promise(few) == parameters.promise(many)


@pytest.mark.parametrize("more", PARAMETERS)
def test_events_are_the_noise_that_is_drawn(more: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    claims = Claims.from_columns(
        np.repeat([f"o{i}" for i in range(50)], 30), np.tile(np.arange(30), 50), rng.uniform(0, 10, 1500)
    )
    if more.get("adjacency") == "add-remove":
        more = more | {"objects": tuple(claims.objects.to_list())}
    parameters = asked_for(more)
    used = parameters.used(claims)
    last = fit(claims, parameters, rng=seeded(1), engine=ENGINE).noisy.noise.event
    events = parameters.events(Pattern.of(used))
    if isinstance(events[-1], PrivateEvent):  # what follows the pair distances depends on them
        assert last.ratio <= Fraction(events[-1].epsilon)
    else:
        assert events[-1] == last


@pytest.mark.parametrize("more", [{"unit": "user", "cap": 5}, {}], ids=["user", "claim"])
def test_each_statistic_is_drawn_with_the_epsilon_of_its_event(more: dict[str, Any]) -> None:
    """A second look at histograms that were drawn with more than their share would look at other grades."""
    claims = Claims.from_columns(
        *(np.repeat(np.arange(50), 30), np.tile(np.arange(30), 50)),
        np.random.default_rng(1).normal(5, 1, 1500).clip(0, 10),
    )
    parameters = asked_for({"estimator": "histogram", "reliability": 0.5} | more)
    claims, around = parameters.used(claims), parameters.neighbours
    pairs, first, second = (event.ratio for event in parameters.events(Pattern.of(claims)))  # type: ignore[union-attr]
    assert pairs + first + second == parameters.budget
    drawn = private_part(claims, parameters, rng=seeded(1), engine=ENGINE).last
    noisy = noisy_histograms(
        claims, parameters.range, drawn.bins, first, around, rng=seeded(1), engine=ENGINE
    )
    weighted = weighted_histograms(claims, noisy, second, around, rng=seeded(1))
    np.testing.assert_array_equal(drawn.counts, weighted.counts)
