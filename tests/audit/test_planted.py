"""The audit can fail: every mechanism that was broken on purpose is refuted, every time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from few_draws import ALPHA, few_draws, seeds

from crowdveil.audit.case import Audit, Event, Outputs
from crowdveil.audit.certified import CERTIFIED_USER, USER, user_rows
from crowdveil.audit.noise import laplace_noise
from crowdveil.audit.planted import PLANTED, float_laplace, occurs_around_zero
from crowdveil.audit.releases import BASIC_WITH_NEIGHBOURS, repeated, row_events
from crowdveil.audit.run import run_audit
from crowdveil.randomness import Randomness, seeded


@pytest.mark.parametrize("audit", PLANTED.values(), ids=PLANTED)
@pytest.mark.parametrize("seed", seeds(20))
def test_every_planted_bug_is_refuted(audit: Audit, seed: int) -> None:
    assert run_audit(audit, draws=few_draws(audit), alpha=ALPHA, seed=seed).verdict == "refuted"


def test_a_planted_bug_is_refuted_without_a_seed() -> None:
    """One whose refutation cannot fail by chance: half the noise, with four times the draws that it takes."""
    audit = PLANTED["half the noise"]
    assert run_audit(audit, draws=4 * audit.usual).refuted


def test_at_least_fifteen_kinds_of_bugs_are_planted() -> None:
    assert len(PLANTED) >= 15


@pytest.mark.no_cover
def test_claims_beyond_the_cap_are_noticed_with_more_draws() -> None:
    """Three claims of a user under noise for two: 2 * 3 / 1.5 = 2 * 2 / 1."""
    draws = user_rows(replace(USER, epsilon=1.5, cap=3))
    audit = replace(CERTIFIED_USER, name="no cap", draws=draws)
    assert run_audit(audit, draws=200_000, seed=1).refuted


def test_four_of_five_floating_point_draws_around_one_cannot_occur_around_zero() -> None:
    uniforms = seeded(1).stream("floats", purpose="test").uniforms(100_000)
    assert occurs_around_zero(float_laplace(uniforms, 0.0)).all()
    assert np.mean(~occurs_around_zero(float_laplace(uniforms, 1.0))) == pytest.approx(0.80, abs=0.01)


def test_noise_that_is_a_little_too_small_needs_more_draws() -> None:
    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        return 10 * world + laplace_noise(rng, count, Fraction(98, 10))

    claimed = PLANTED["half the noise"]
    two_percent = replace(claimed, name="2 % too little noise", draws=draws)
    assert not run_audit(two_percent, draws=20_000, seed=1).refuted
    assert run_audit(two_percent, draws=3_000_000, seed=1).refuted


def test_noisy_values_in_raw_order_without_names_are_not_refuted() -> None:
    """Ranks alone cost nothing: sorted rows of neighbours differ by no more in all than the claim itself.

    So it takes names beside the values to make the order of raw values a leak ("rows in the order of raw
    values" above).
    """

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        claims = repeated((0.0, 10.0)[world], (0.0, 5.0), count)
        return (claims.values + laplace_noise(rng, len(claims), Fraction(10))).reshape(count, 3)

    def above(first: float, second: float) -> Event:
        return Event(f"{first} and {second}", lambda out: (out[:, 1] >= first) & (out[:, 2] >= second))

    events = (*row_events(3), above(5, 10), above(0, 10), above(5, 5))
    audit = replace(BASIC_WITH_NEIGHBOURS, name="raw order", draws=draws, events=events)
    found = run_audit(audit, draws=400_000, alpha=ALPHA, seed=1)
    assert not found.refuted
    assert found.bounds.epsilon is not None
    assert found.bounds.epsilon > 0.85  # and that is all there is to find
