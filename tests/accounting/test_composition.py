"""Several mechanisms together: sums, the worst case enumerated, the theorem as printed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp, expm1, inf, isclose, log, prod

import numpy as np
import pytest
from curves import falls, hockey_stick
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil import accounting
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

modest = settings(deadline=None, derandomize=True, max_examples=60)
CLAIM = Guarantee(0.5, 1e-8, "claim", "replace-one", "central", ("the range was declared",))
epsilons = st.floats(1e-3, 5.0)
deltas = st.floats(1e-12, 0.5)
counts = st.integers(1, 60)


def test_guarantees_add_up_and_unite_their_assumptions() -> None:
    other = Guarantee(1.0, 1e-6, "claim", "replace-one", "central", ("the range was declared", "n is public"))
    total = accounting.add(CLAIM, other, CLAIM)
    assert (total.epsilon, total.unit, total.adjacency, total.trust) == (
        2.0,
        "claim",
        "replace-one",
        "central",
    )
    assert total.delta == pytest.approx(1.02e-6, rel=1e-12)
    assert total.assumptions == ("the range was declared", "n is public")


def test_one_guarantee_adds_up_to_itself() -> None:
    assert accounting.add(CLAIM) == CLAIM


@pytest.mark.parametrize(
    "other",
    [
        Guarantee(0.5, 0.0, "user", "replace-one", "central"),
        Guarantee(0.5, 0.0, "claim", "add-remove", "central"),
        Guarantee(0.5, 0.0, "claim", "replace-one", "local"),
    ],
    ids=["unit", "adjacency", "trust"],
)
def test_guarantees_of_different_scope_do_not_add_up(other: Guarantee) -> None:
    with pytest.raises(ParameterError, match="do not add up"):
        accounting.add(CLAIM, other)


def test_nothing_and_too_much_do_not_add_up() -> None:
    with pytest.raises(ParameterError):
        accounting.add()
    half = Guarantee(0.1, 0.5, "claim", "replace-one", "central")
    with pytest.raises(ParameterError, match="promise nothing"):
        accounting.add(half, half)


@modest
@given(parts=st.lists(st.floats(0, 10), min_size=1, max_size=20))
def test_sums_are_never_rounded_down(parts: list[float]) -> None:
    total = accounting.add(*(Guarantee(part, 0.0, "claim", "replace-one", "central") for part in parts))
    assert Fraction(total.epsilon) >= sum(map(Fraction, parts))
    assert total.epsilon <= sum(parts) * (1 + 1e-14)


def worst_mechanism(epsilon: float, delta: float) -> tuple[list[float], list[float]]:
    keep = (1 - delta) * exp(epsilon) / (1 + exp(epsilon))
    p = [delta, keep, 1 - delta - keep, 0.0]
    return p, p[::-1]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (0.3, 0.01), (2.0, 1e-6), (1e-3, 0.2)])
@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_composition_equals_enumeration_of_the_worst_mechanism(
    epsilon: float, delta: float, times: int
) -> None:
    p, q = ([prod(parts) for parts in product(one, repeat=times)] for one in worst_mechanism(epsilon, delta))
    for total in np.linspace(0, times * epsilon, 7):
        found = accounting.composed_delta(epsilon, delta, times, float(total))
        assert found == pytest.approx(hockey_stick(p, q, float(total)), abs=1e-13)
    # The worst mechanism is symmetric, so the other direction is the same.
    assert hockey_stick(q, p, epsilon) == pytest.approx(hockey_stick(p, q, epsilon), abs=1e-13)


@pytest.mark.parametrize(("epsilon", "delta", "times"), [(0.1, 1e-3, 10), (0.5, 0.0, 7), (1.0, 1e-5, 4)])
def test_composition_equals_the_theorem_as_printed(epsilon: float, delta: float, times: int) -> None:
    for i in range(times // 2 + 1):
        terms = [
            comb(times, m) * (exp((times - m) * epsilon) - exp((times - 2 * i + m) * epsilon))
            for m in range(i)
        ]
        printed = 1 - (1 - delta) ** times * (1 - sum(terms) / (1 + exp(epsilon)) ** times)
        assert accounting.composed_delta(epsilon, delta, times, (times - 2 * i) * epsilon) == pytest.approx(
            printed, abs=1e-12
        )


@modest
@given(epsilon=epsilons, delta=deltas, times=counts, low=st.floats(0, 1), high=st.floats(0, 1))
def test_composed_delta_is_monotone(
    epsilon: float, delta: float, times: int, low: float, high: float
) -> None:
    low, high = sorted((low * times * epsilon, high * times * epsilon))
    assert falls(lambda at: accounting.composed_delta(epsilon, delta, times, at), low, high)
    once = accounting.composed_delta(epsilon, delta, times, low)
    assert once <= accounting.composed_delta(epsilon, delta, times + 1, low) * (1 + 1e-9)
    assert once <= accounting.composed_delta(epsilon, min(0.9, 2 * delta), times, low) * (1 + 1e-9)
    assert once <= accounting.composed_delta(1.1 * epsilon, delta, times, low) * (1 + 1e-9)


@modest
@given(epsilon=epsilons, delta=st.floats(0, 1e-7), times=counts, total=st.floats(1e-5, 0.5))
def test_the_composed_epsilon_is_enough_the_smallest_and_the_best(
    epsilon: float, delta: float, times: int, total: float
) -> None:
    found = accounting.composed_epsilon(epsilon, delta, times, total)
    assert found <= times * epsilon * (1 + 1e-12)
    assert found <= accounting.advanced_epsilon(epsilon, delta, times, total) * (1 + 1e-9)
    assert found <= accounting.composed_epsilon(epsilon, delta, times + 1, total) * (1 + 1e-9)
    if 0 < found < times * epsilon:
        assert accounting.composed_delta(epsilon, delta, times, found) <= total
        assert accounting.composed_delta(epsilon, delta, times, found * (1 - 1e-9)) > total * (1 - 1e-6)


def test_one_mechanism_composes_to_itself_and_too_many_failures_to_nothing() -> None:
    assert accounting.composed_epsilon(1.0, 1e-6, 1, 1e-6) == 1.0
    assert accounting.composed_epsilon(1.0, 0.0, 4, 0.0) == 4.0
    assert accounting.composed_epsilon(1.0, 1e-6, 2, 1e-6) == inf
    assert accounting.advanced_epsilon(1.0, 1e-6, 2, 1e-6) == inf


def test_the_smallest_epsilon_comes_from_above() -> None:
    found = accounting.smallest_epsilon(lambda at: exp(-at), 0.25, most=10.0)
    assert exp(-found) <= 0.25
    assert isclose(found, log(4), rel_tol=1e-12)
    assert accounting.smallest_epsilon(lambda at: 0.0, 0.25, most=10.0) == 0.0
    assert accounting.smallest_epsilon(lambda at: 1.0, 0.25, most=10.0) == 10.0


@modest
@given(epsilon=epsilons, times=counts)
def test_a_loss_beyond_the_total_by_less_than_a_rounding_counts(epsilon: float, times: int) -> None:
    """Only if all responses are true is the loss above times epsilon, rounded to nearest."""
    total = times * epsilon
    beyond = float(times * Fraction(epsilon) - Fraction(total))
    found = accounting.composed_delta(epsilon, 0.0, times, total)
    if beyond <= 0:
        assert found == 0
    else:
        exact = (1 + exp(-epsilon)) ** -times * -expm1(-beyond)
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-9)


def test_a_huge_epsilon_composes_without_losing_all_digits() -> None:
    assert accounting.composed_delta(1e20, 0.0, 2, 2e20 - 2**20) == pytest.approx(1.0, rel=1e-12)
    assert accounting.composed_delta(1e20, 0.0, 2, 2e20) == 0
