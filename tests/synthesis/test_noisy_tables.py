"""Norm-sub, consistency, IPF and rounding: what they keep, and slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_tables import dependent, pairs_of

from crowdveil.arrays import Floats
from crowdveil.synthesis.marginals import Marginal, consistent, ipf, mutual_information, norm_sub, rounded


def _slow_norm_sub(shares: Floats, total: float) -> Floats:
    """Cut off what is below 0, spread what is missing over the rest, again and again."""
    found = shares.copy()
    alive = np.ones(found.shape, dtype=bool)
    while True:
        found[alive] += (total - found[alive].sum()) / alive.sum()
        if (found[alive] >= 0).all():
            return found
        alive &= found > 0
        found[~alive] = 0.0


@given(arrays(float, st.integers(1, 30), elements=st.floats(-2, 2)), st.floats(0.1, 3))
def test_norm_sub_is_its_slow_twin(shares: Floats, total: float) -> None:
    found = norm_sub(shares, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    np.testing.assert_allclose(found, _slow_norm_sub(shares, total), atol=1e-9)


def test_norm_sub_keeps_a_proper_table() -> None:
    table = np.array([[0.5, 0.0], [0.2, 0.3]])
    np.testing.assert_allclose(norm_sub(table), table, atol=1e-15)


def _noisy(columns: tuple[int, ...], sizes: tuple[int, ...], seed: int, variance: float) -> Marginal:
    rng = np.random.default_rng(seed)
    return Marginal(columns, rng.normal(size=sizes), variance)


def test_consistent_tables_agree_and_sum_to_one() -> None:
    sizes = (2, 3, 4, 2)
    sets = [(0, 1, 2), (1, 2, 3), (0, 2, 3), (0, 3)]
    told = [_noisy(s, tuple(sizes[c] for c in s), seed, 1.0 + seed) for seed, s in enumerate(sets)]
    made = consistent(told)
    for table in made:
        assert table.shares.sum() == pytest.approx(1.0)
    for overlap in [(0,), (1,), (2,), (3,), (1, 2), (0, 2), (2, 3), (0, 3)]:
        holding = [table.onto(overlap) for table in made if set(overlap) <= set(table.columns)]
        assert len(holding) > 1
        for other in holding[1:]:
            np.testing.assert_allclose(other, holding[0], atol=1e-12)


def test_consistent_tables_stay_as_they_are() -> None:
    pairs = pairs_of(dependent(500))
    made = consistent([Marginal(pair, shares) for pair, shares in pairs.items()])
    for table in made:
        np.testing.assert_allclose(table.shares, pairs[table.columns[0], table.columns[1]], atol=1e-12)


def test_the_more_exact_table_counts_more() -> None:
    exact = Marginal((0, 1), np.array([[0.4, 0.1], [0.2, 0.3]]), 1e-9)
    noisy = Marginal((0, 2), np.full((2, 2), 0.25), 1.0)
    made = consistent([exact, noisy])
    np.testing.assert_allclose(made[1].onto((0,)), [0.5, 0.5], atol=1e-6)
    skewed = Marginal((0, 1), np.array([[0.8, 0.1], [0.05, 0.05]]), 1e-9)
    made = consistent([skewed, noisy])
    np.testing.assert_allclose(made[1].onto((0,)), [0.9, 0.1], atol=1e-6)


def test_ipf_meets_margins_and_keeps_odds() -> None:
    table = np.array([[0.2, 0.3], [0.4, 0.1]])
    margins = (np.array([0.7, 0.3]), np.array([0.4, 0.6]))
    made = ipf(table, margins)
    np.testing.assert_allclose(made.sum(axis=1), margins[0], atol=1e-8)
    np.testing.assert_allclose(made.sum(axis=0), margins[1], atol=1e-8)
    odds = [each[0, 0] * each[1, 1] / (each[0, 1] * each[1, 0]) for each in (made, table)]
    assert odds[0] == pytest.approx(odds[1])


def test_ipf_of_empty_cells_is_finite() -> None:
    made = ipf(np.zeros((2, 3)), (np.array([1.0, 0.0]), np.array([0.5, 0.5, 0.0])))
    np.testing.assert_allclose(made, [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]], atol=1e-12)


def test_mutual_information_by_hand() -> None:
    assert mutual_information(np.outer([0.3, 0.7], [0.5, 0.5])) == pytest.approx(0.0, abs=1e-12)
    assert mutual_information(np.diag([0.5, 0.5])) == pytest.approx(np.log(2))


@given(arrays(float, st.integers(1, 12), elements=st.floats(0, 1)), st.integers(0, 1000), st.floats(0, 0.999))
def test_rounded_numbers_are_within_one(shares: Floats, whole: int, start: float) -> None:
    expected = whole * (shares + 1e-3) / (shares + 1e-3).sum()
    counts = rounded(expected, whole, start)
    assert counts.sum() == whole
    assert counts.min() >= 0
    assert np.abs(counts - expected).max() < 1 + 1e-6


def test_rounding_has_no_bias() -> None:
    expected = np.array([0.3, 1.5, 2.2])
    starts = (np.arange(1000) + 0.5) / 1000
    np.testing.assert_allclose(
        np.mean([rounded(expected, 4, start) for start in starts], axis=0), expected, atol=2e-3
    )


def test_noise_that_drowns_the_total_leaves_even_shares() -> None:
    lost = np.full((2, 2), 1e17)
    assert norm_sub(-lost) == pytest.approx(np.full((2, 2), 0.25))
