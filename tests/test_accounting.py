"""Accounting: the figures of the privacy page, slow twins, and never an answer that is too good."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb, exp, inf, isclose, log, nan, prod, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import kve, ndtr
from scipy.stats import norm

from crowdveil import accounting
from crowdveil.accounting import Noise
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

modest = settings(deadline=None, derandomize=True, max_examples=60)
CLAIM = Guarantee(0.5, 1e-8, "claim", "replace-one", "central", ("the range was declared",))

epsilons = st.floats(1e-3, 5.0)
deltas = st.floats(1e-12, 0.5)
counts = st.integers(1, 60)


def hockey_stick(p: list[float], q: list[float], epsilon: float) -> float:
    return sum(max(0.0, a - exp(epsilon) * b) for a, b in zip(p, q, strict=True))


def falls(function: Callable[[float], float], low: float, high: float) -> bool:
    return function(high) <= function(low) * (1 + 1e-9) + 1e-300


# --- adding up


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
    from fractions import Fraction

    total = accounting.add(*(Guarantee(part, 0.0, "claim", "replace-one", "central") for part in parts))
    assert Fraction(total.epsilon) >= sum(map(Fraction, parts))
    assert total.epsilon <= sum(parts) * (1 + 1e-14)


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


@modest
@given(epsilon=st.floats(0, 100), cap=st.integers(1, 1000))
def test_a_users_epsilon_divided_over_claims_is_never_exceeded(epsilon: float, cap: int) -> None:
    each = accounting.claim_epsilon(epsilon, cap)
    pure = Guarantee(each, 0.0, "claim", "replace-one", "central")
    assert accounting.user_level(pure, cap).epsilon <= epsilon
    assert each == pytest.approx(epsilon / cap, rel=1e-15)


# --- homogeneous composition


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


# --- Gaussian noise


@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 0.1), (0.1, 1.0), (0.5, 3.0), (2.0, 12.0), (1e-4, 1e-3)])
def test_the_delta_of_zcdp_is_the_least_over_orders(rho: float, epsilon: float) -> None:
    a = 1 + np.geomspace(1e-6, 1e5, 400_000)
    logs = (a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a)
    assert accounting.zcdp_delta(rho, epsilon) == pytest.approx(min(1.0, float(np.exp(logs.min()))), rel=1e-6)


@modest
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
    assert accounting.zcdp_delta(1e6, 1.0) == 1.0
    assert 0 <= accounting.zcdp_delta(1e-300, 1.0) < 1e-12


# --- numeric composition


def test_numeric_composition_is_tight_and_pessimistic() -> None:
    delta = 1e-6
    laplace = 1 + 2 * log(1 - delta)  # one Laplace release of epsilon 1: delta = 1 - e^((epsilon - 1)/2)
    assert laplace <= accounting.noise_epsilon([Noise("laplace", 1.0)], delta) <= laplace + 1e-3
    gaussian = accounting.gaussian_epsilon(10.0, sqrt(100), delta)
    assert (
        gaussian <= accounting.noise_epsilon([Noise("gaussian", 10.0, times=100)], delta) <= gaussian + 1e-3
    )
    mixed = accounting.noise_epsilon(
        [Noise("laplace", 10.0, times=10), Noise("gaussian", 10.0, times=10)], delta
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
    found = accounting.noise_epsilon([Noise("discrete_laplace", 1 / rate, sensitivity, times)], delta)
    assert smallest - 1e-9 <= found <= smallest + 2e-2


def test_numeric_composition_is_used_only_where_it_can_be_trusted_and_is_tighter() -> None:
    one = [Noise("laplace", 2.0)]
    assert accounting.noise_epsilon(one, 0.0) == 0.5
    assert 0.499 < accounting.noise_epsilon(one, 1e-15) <= 0.5
    many = [Noise("laplace", 2.0, 1, 20)]
    assert accounting.noise_epsilon(many, 1e-6) < 0.98 * accounting.composed_epsilon(0.5, 0.0, 20, 1e-6)
    # Discrete Laplace noise on a count is randomized response, the worst that epsilon allows.
    counts = [Noise("discrete_laplace", 20.0, 1, 400)]
    worst = accounting.composed_epsilon(0.05, 0.0, 400, 1e-6)
    assert accounting.noise_epsilon(counts, 1e-6) == pytest.approx(worst, rel=1e-6)
    assert accounting.noise_epsilon([Noise("discrete_gaussian", 5.0)], 0.0) == inf
    closed = accounting.noise_epsilon([Noise("discrete_gaussian", 5.0)], 1e-15)
    assert closed == accounting.zcdp_epsilon(0.02, 1e-15)


# --- formulas of single mechanisms


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


@pytest.mark.parametrize(("cells", "epsilon"), [(1, 1.045), (5, 1.586), (30, 1.921), (100, 1.976)])
def test_two_layer_has_the_stated_epsilons(cells: int, epsilon: float) -> None:
    assert accounting.two_layer_epsilon(1.0, 6, cells) == pytest.approx(epsilon, abs=5e-4)


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_two_layer_equals_enumeration_of_what_the_other_cells_show(cells: int) -> None:
    answers, mean = 6, 1.0

    def chance(kept: int) -> float:
        def density(own: float) -> float:
            total = answers - 1 + exp(own)
            return (exp(own) / total) ** kept * total ** (kept - cells)

        return float(quad(density, 0, 2 * mean, epsabs=1e-14)[0]) / (2 * mean)

    ratios = [log(chance(others + 1) / chance(others)) for others in range(cells)]
    assert accounting.two_layer_epsilon(mean, answers, cells) == pytest.approx(max(ratios), rel=1e-9)
    assert max(ratios) == ratios[-1] < 2 * mean
    assert accounting.two_layer_epsilon(mean, answers, 10**6) == pytest.approx(2 * mean, abs=1e-5)


@modest
@given(rate=st.floats(1e-3, 10), shift=st.floats(1e-2, 30), epsilon=st.floats(0, 20))
def test_deltas_of_exponential_variances_are_monotone(rate: float, shift: float, epsilon: float) -> None:
    found = accounting.shared_variance_delta(rate, shift, epsilon)
    assert 0 < found <= 1
    assert found >= accounting.shared_variance_delta(rate, shift, epsilon + 0.1)
    assert found <= accounting.shared_variance_delta(rate, 1.1 * shift, epsilon)
    assert found <= accounting.shared_variance_delta(1.1 * rate, shift, epsilon)


@pytest.mark.parametrize(
    "call",
    [
        *(lambda e=e: accounting.composed_epsilon(e, 0.0, 2, 1e-6) for e in (-1.0, nan, inf)),
        *(lambda d=d: accounting.composed_epsilon(1.0, d, 2, 1e-6) for d in (-1e-9, 1.0, nan)),
        *(lambda d=d: accounting.composed_epsilon(1.0, 0.0, 2, d) for d in (-1e-9, 1.0, nan)),
        *(lambda t=t: accounting.composed_delta(1.0, 0.0, t, 1.0) for t in (0, -1, 1.5, True)),
        lambda: accounting.zcdp_epsilon(1.0, 0.0),
        lambda: accounting.zcdp_delta(-1.0, 1.0),
        lambda: accounting.gaussian_delta(0.0, 1.0, 1.0),
        lambda: accounting.gaussian_delta(1.0, nan, 1.0),
        lambda: accounting.discrete_gaussian_delta(1e7, 1, 1.0),
        lambda: accounting.discrete_gaussian_delta(1.0, 0, 1.0),
        lambda: accounting.noise_epsilon([], 1e-6),
        lambda: Noise("cauchy", 1.0),  # type: ignore[arg-type]
        lambda: Noise("laplace", 0.0),
        lambda: Noise("discrete_laplace", 1.0, 1.5),
        lambda: Noise("laplace", 1.0, 1.0, 0),
        lambda: accounting.user_level(CLAIM, 0),
        lambda: accounting.claim_epsilon(1.0, 0),
        lambda: accounting.claim_epsilon(-1.0, 1),
        lambda: accounting.fresh_variance_epsilon(0.0, 1.0),
        lambda: accounting.shared_variance_delta(1.0, -1.0, 1.0),
        lambda: accounting.floored_variance_delta(1.0, 1.0, 0.0, 1.0),
        lambda: accounting.two_layer_epsilon(1.0, 1, 5),
        lambda: accounting.two_layer_epsilon(1.0, 6, 0),
    ],
)
def test_bad_parameters_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        call()


def test_the_smallest_epsilon_comes_from_above() -> None:
    found = accounting.smallest_epsilon(lambda at: exp(-at), 0.25, most=10.0)
    assert exp(-found) <= 0.25
    assert isclose(found, log(4), rel_tol=1e-12)
    assert accounting.smallest_epsilon(lambda at: 0.0, 0.25, most=10.0) == 0.0
    assert accounting.smallest_epsilon(lambda at: 1.0, 0.25, most=10.0) == 10.0
