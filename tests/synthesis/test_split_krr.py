"""Two values of a record, each with its share of epsilon: unbiased, and what LASSO makes of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import nan

import numpy as np
import pytest
from small_tables import dependent

from crowdveil.arrays import Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.local.krr import KRR
from crowdveil.local.split_epsilon import check_epsilon, share_of, sum_of
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import seeded
from crowdveil.synthesis.lasso import lasso

FIRST, SECOND = KRR(0.7, 3), KRR(0.7, 4)
SPLIT = SplitKRR((0.7, 0.7), (3, 4))


def _matrix(oracle: KRR) -> Floats:
    made = np.full((oracle.cells, oracle.cells), oracle.other)
    np.fill_diagonal(made, oracle.keep)
    return made


def _inverted(counts: Ints) -> Floats:
    return SPLIT.frequencies(counts.ravel(), int(counts.sum())).reshape(3, 4)


def test_inversion_is_the_inverse_of_the_product_of_matrices() -> None:
    counts = np.random.default_rng(0).integers(0, 50, (3, 4))
    whole = np.linalg.inv(np.kron(_matrix(FIRST), _matrix(SECOND)))
    slow = (whole @ (counts / counts.sum()).ravel()).reshape(3, 4)
    np.testing.assert_allclose(_inverted(counts), slow, atol=1e-12)


def test_inversion_is_unbiased_under_the_exact_law() -> None:
    """Summed over all reports of one record, each with its exact chance, the inverse is the record."""
    laws = [oracle.exact_law() for oracle in (FIRST, SECOND)]
    for a, b in product(range(3), range(4)):
        mean = np.zeros((3, 4))
        for i, j in product(range(3), range(4)):
            told = np.zeros((3, 4), dtype=np.int64)
            told[i, j] = 1
            mean += float(laws[0][a][i] * laws[1][b][j]) * _inverted(told)
        expected = np.zeros((3, 4))
        expected[a, b] = 1.0
        np.testing.assert_allclose(mean, expected, atol=1e-12)


def test_inversion_of_drawn_reports_is_right_on_average() -> None:
    records = dependent(4000, (3, 4))
    found = []
    for seed in range(40):
        told = [
            oracle.perturb(records.codes[:, c].astype(np.int64), rng=seeded(seed).part(f"{c}"))
            for c, oracle in enumerate((FIRST, SECOND))
        ]
        counts = np.zeros((3, 4), dtype=np.int64)
        np.add.at(counts, (told[0], told[1]), 1)
        found.append(_inverted(counts))
    real, error = records.pair(0, 1) / 4000, np.std(found, axis=0) / np.sqrt(40)
    assert np.abs((np.mean(found, axis=0) - real) / error).max() < 4.5


def test_variance_is_the_mean_over_evenly_told_cells() -> None:
    inverse = np.kron(np.linalg.inv(_matrix(FIRST)), np.linalg.inv(_matrix(SECOND)))
    slow = np.var(inverse, axis=1).mean() / 100
    assert SPLIT.rare_variance(100) == pytest.approx(slow)


def test_lasso_meets_its_conditions() -> None:
    """At the least value slopes are 0 where shares are above 0, and not below 0 where they are 0."""
    rng = np.random.default_rng(5)
    counts, alpha = rng.multinomial(400, np.full(12, 1 / 12)).reshape(3, 4), 1e-4
    shares = lasso(counts, FIRST, SECOND, alpha=0.0)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1.0)
    design = np.kron(_matrix(FIRST), _matrix(SECOND))
    told, predicted = counts.ravel() / 400, design @ shares.ravel()
    before_scaling = (predicted @ told) / (predicted @ predicted)  # shares are scaled to 1 in the end
    slopes = design @ (before_scaling * predicted - told)
    held = shares.ravel() > 1e-9
    assert 2 <= held.sum() < 12
    assert np.abs(slopes[held]).max() < 1e-5
    assert slopes[~held].min() > -1e-5
    assert np.abs(lasso(counts, FIRST, SECOND, alpha=alpha) - shares).max() < 0.05


def test_lasso_of_exact_counts_is_the_truth() -> None:
    real = np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
    told = _matrix(FIRST) @ real @ _matrix(SECOND)
    counts = np.round(told * 10**9).astype(np.int64)
    np.testing.assert_allclose(lasso(counts, FIRST, SECOND), real, atol=1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7, 10.0])
@pytest.mark.parametrize("parts", [1, 2, 3, 9, 17])
def test_shares_of_epsilon_never_add_up_to_more(epsilon: float, parts: int) -> None:
    share = share_of(epsilon, parts)
    assert Fraction(share) * parts <= Fraction(epsilon)
    assert share == pytest.approx(epsilon / parts, rel=1e-12)
    realised = [KRR(share, size + 2).epsilon for size in range(parts)]
    promised = sum_of(realised)
    assert Fraction(promised) >= sum(map(Fraction, realised))
    assert promised <= epsilon


@pytest.mark.parametrize("epsilon", [0, -1, nan, float("inf"), True, "1"])
def test_no_epsilon(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        check_epsilon(epsilon)
