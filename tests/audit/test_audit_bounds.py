"""Bounds from below: right on paper, and as tight as they are said to be."""

from math import e, exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from crowdveil.audit.bounds import Counts, lower_bounds, lower_chance, lower_mean, upper_chance
from crowdveil.errors import ParameterError

modest = settings(deadline=None, derandomize=True, max_examples=300)


def expected(p: float, q: float, draws: int) -> Counts:
    """The counts that chances p and q give on average."""
    return Counts(round(p * draws), round(q * draws), draws)


def laplace_tail(threshold: int, rate: float) -> float:
    """Pr[discrete Laplace noise >= threshold] for a threshold above 0."""
    return exp(-threshold * rate) / (1 + exp(-rate))


AT_LEAST_NONE, AT_LEAST_ONE = 1 - laplace_tail(1, 0.5), laplace_tail(1, 0.5)
KEPT = e / (5 + e)
FIGURES = {
    "Laplace, 1e4": (0.5, 0.5 / e, 10**4, 0.939),
    "Laplace, 1e5": (0.5, 0.5 / e, 10**5, 0.981),
    "histogram, both bins, 1e4": (AT_LEAST_NONE**2, AT_LEAST_ONE**2, 10**4, 0.927),
    "histogram, both bins, 1e5": (AT_LEAST_NONE**2, AT_LEAST_ONE**2, 10**5, 0.977),
    "histogram, one bin, 1e5": (AT_LEAST_NONE, AT_LEAST_ONE, 10**5, 0.49),
    "randomized response of 6, 1e5": (KEPT, KEPT / e, 10**5, 0.975),
}


@pytest.mark.parametrize(("p", "q", "draws", "figure"), FIGURES.values(), ids=FIGURES)
def test_the_epsilon_that_can_be_shown(p: float, q: float, draws: int, figure: float) -> None:
    found = lower_bounds(expected(p, q, draws), epsilon=1.0, delta=0.0, alpha=0.05)
    # Figures were taken from runs: the last of three digits may differ a little.
    assert found.epsilon == pytest.approx(figure, abs=0.006)


def test_the_delta_that_can_be_shown_of_priscrowd() -> None:
    found = lower_bounds(expected(0.299, 0.0, 1000), epsilon=0.1 + 1.6094, delta=0.001, alpha=0.05)
    assert found.delta == pytest.approx(0.25, abs=0.005)


@modest
@given(st.data(), st.integers(1, 3000), st.sampled_from([1e-6, 5e-4, 0.025, 0.3]))
def test_chances_are_bounded_as_clopper_and_pearson_did(
    data: st.DataObject, draws: int, error: float
) -> None:
    hits = data.draw(st.integers(0, draws))
    low, high = lower_chance(hits, draws, error), upper_chance(hits, draws, error)
    assert 0 <= low <= hits / draws <= high <= 1
    # At the bound itself, a count as far off as this one has just the chance `error`.
    if hits > 0:
        assert binom.sf(hits - 1, draws, low) == pytest.approx(error, rel=1e-6)
    if hits < draws:
        assert binom.cdf(hits, draws, high) == pytest.approx(error, rel=1e-6)


@modest
@given(
    st.integers(0, 1000), st.integers(0, 1000), st.sampled_from([0.1, 1.0, 3.0]), st.sampled_from([0, 0.1])
)
def test_epsilon_and_delta_refute_together(hits: int, other: int, epsilon: float, delta: float) -> None:
    found = lower_bounds(Counts(hits, other, 1000), epsilon=epsilon, delta=delta, alpha=0.05)
    by_epsilon = found.epsilon is not None and found.epsilon > epsilon
    assert by_epsilon == (found.delta > delta)


def test_without_hits_nothing_is_shown() -> None:
    found = lower_bounds(Counts(0, 0, 1000), epsilon=1.0, delta=0.0, alpha=0.05)
    assert found.epsilon is None
    assert found.delta < 0


def test_a_delta_above_the_chance_leaves_no_epsilon() -> None:
    assert lower_bounds(Counts(100, 0, 1000), epsilon=1.0, delta=0.2, alpha=0.05).epsilon is None


def test_more_comparisons_show_less() -> None:
    counts = Counts(500, 180, 1000)
    shown = [
        lower_bounds(counts, epsilon=1.0, delta=0.0, alpha=0.05, comparisons=many).delta
        for many in (1, 2, 50)
    ]
    assert shown[0] > shown[1] > shown[2]
    share = lower_bounds(counts, epsilon=1.0, delta=0.0, alpha=0.001).delta
    assert shown[2] == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5 / e), (0.352, 0.352 / e), (0.02, 0.02 / e), (0.3, 0.3)])
def test_a_claim_that_is_just_true_is_refuted_with_a_chance_below_alpha(p: float, q: float) -> None:
    draws, alpha = 300, 0.05
    refuted = 0.0
    for hits in range(draws + 1):
        low = lower_chance(hits, draws, alpha / 2)
        # The largest other count that still refutes, by bisection: the bound grows with the count.
        first, last = -1, draws
        while first < last:
            middle = (first + last + 1) // 2
            if low > p / q * upper_chance(middle, draws, alpha / 2):
                first = middle
            else:
                last = middle - 1
        refuted += float(binom.pmf(hits, draws, p) * binom.cdf(first, draws, q))
    assert refuted < alpha


@pytest.mark.parametrize("chance", [0.001, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("draws", [50, 800])
def test_a_mean_is_bounded_from_below(chance: float, draws: int) -> None:
    """Coins stray most among numbers in [0, 1]: the exact chance of a wrong bound, and how far off it is."""
    error = 0.01
    wrong = [hits for hits in range(draws + 1) if lower_mean(hits / draws, draws, error) > chance]
    assert sum(binom.pmf(hits, draws, chance) for hits in wrong) <= error
    usual = lower_mean(chance, draws, error)
    assert chance - 3.1 * (chance * (1 - chance) / draws) ** 0.5 - 5 / draws < usual < chance
    assert lower_mean(0.0, draws, error) == 0.0
    assert 0.9 < lower_mean(1.0, draws, error) < 1.0


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2.0])
def test_an_alpha_out_of_bounds_is_refused(alpha: float) -> None:
    with pytest.raises(ParameterError, match="alpha"):
        lower_bounds(Counts(1, 1, 10), epsilon=1.0, delta=0.0, alpha=alpha)
