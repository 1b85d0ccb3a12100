"""Claims and users: what a guarantee for the one means for the other."""

from __future__ import annotations

from itertools import product
from math import exp

import pytest
from curves import hockey_stick
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil import accounting
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

CLAIM = Guarantee(0.5, 1e-8, "claim", "replace-one", "central", ("the range was declared",))


def test_users_with_several_claims_pay_for_each() -> None:
    users = accounting.user_level(CLAIM, 3)
    assert (users.unit, users.epsilon) == ("user", 1.5)
    assert users.delta == pytest.approx(1e-8 * (1 + exp(0.5) + exp(1.0)), rel=1e-12)
    assert any("at most 3 claims" in text for text in users.assumptions)
    pure = Guarantee(0.1, 0.0, "claim", "replace-one", "central")
    assert accounting.user_level(pure, 10).delta == 0
    one = accounting.user_level(CLAIM, 1)
    assert one.epsilon == 0.5
    assert 1e-8 <= one.delta <= 1e-8 * (1 + 1e-9)
    with pytest.raises(ParameterError, match="lower the cap"):
        accounting.user_level(CLAIM, 100)


def test_group_privacy_bounds_any_chain_of_neighbours() -> None:
    # Randomized response on two bits, each with a failure: moving both costs what groups pay, at most.
    epsilon, delta = 0.7, 0.01
    keep = (1 - delta) * exp(epsilon) / (1 + exp(epsilon))
    same, moved = [delta, keep, 1 - delta - keep, 0.0], [0.0, 1 - delta - keep, keep, delta]
    both = [[a * b for a, b in product(one, one)] for one in (same, moved)]
    users = accounting.user_level(Guarantee(epsilon, delta, "claim", "replace-one", "central"), 2)
    assert hockey_stick(both[0], both[1], users.epsilon) <= users.delta


def test_users_whose_claims_lie_in_different_parts_pay_by_composition() -> None:
    parts = accounting.user_level_by_parts(CLAIM, 30, 1e-6)
    assert parts.epsilon == accounting.composed_epsilon(0.5, 1e-8, 30, 1e-6)
    assert parts.epsilon < 15.0
    assert (parts.unit, parts.delta) == ("user", 1e-6)
    with pytest.raises(ParameterError, match="exceed"):
        accounting.user_level_by_parts(CLAIM, 30, 1e-7)


def test_a_guarantee_for_users_holds_for_their_claims() -> None:
    users = Guarantee(1.0, 1e-6, "user", "replace-one", "central")
    assert accounting.claim_level(users) == Guarantee(1.0, 1e-6, "claim", "replace-one", "central")
    # A user who comes back with one claim more: two steps of add-remove.
    coming = Guarantee(1.0, 1e-6, "user", "add-remove", "central")
    assert accounting.claim_level(coming).epsilon == 2.0
    assert accounting.claim_level(coming).delta == pytest.approx(1e-6 * (1 + exp(1.0)), rel=1e-9)
    with pytest.raises(ParameterError, match="nothing is promised"):
        accounting.claim_level(Guarantee(1.0, 0.5, "user", "add-remove", "central"))
    with pytest.raises(ParameterError, match="protects a claim"):
        accounting.claim_level(CLAIM)
    with pytest.raises(ParameterError, match="protects a user"):
        accounting.user_level(users, 2)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(epsilon=st.floats(0, 100), cap=st.integers(1, 1000))
def test_a_users_epsilon_divided_over_claims_is_never_exceeded(epsilon: float, cap: int) -> None:
    each = accounting.claim_epsilon(epsilon, cap)
    pure = Guarantee(each, 0.0, "claim", "replace-one", "central")
    assert accounting.user_level(pure, cap).epsilon <= epsilon
    assert each == pytest.approx(epsilon / cap, rel=1e-15)


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-3, 2.0])
@pytest.mark.parametrize("cap", [1, 2, 10, 300])
def test_the_delta_of_a_group_is_the_sum_of_its_steps(epsilon: float, cap: int) -> None:
    delta = 1e-270
    exact = sum(delta * exp(step * epsilon) for step in range(cap))
    found = accounting.user_level(Guarantee(epsilon, delta, "claim", "replace-one", "central"), cap).delta
    assert exact * (1 - 1e-14) <= found <= exact * (1 + 1e-11)


def test_a_group_may_be_larger_than_memory() -> None:
    none = Guarantee(0.0, 1e-30, "claim", "replace-one", "central")
    assert accounting.user_level(none, 10**15).delta == pytest.approx(1e-15)
