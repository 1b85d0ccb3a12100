"""The loops of factorization equal slow twins, however their work is cut."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.kernels import factors


@pytest.mark.parametrize("dimensions", [1, 3, 20])
def test_means_and_losses_are_those_of_a_table_of_predictions(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    users, profiles = rng.normal(0, 6, (50, dimensions)), rng.random((31, dimensions))
    weights, truths = rng.random(50), rng.uniform(-3, 4, 31)
    table = np.clip(0.5 + users @ profiles.T, -3, 4)
    kept = (users, np.ascontiguousarray(profiles.T), 0.5, -3.0, 4.0)
    means, squares = np.empty(31), np.empty(50)
    factors.weighted_means(*kept, weights, 0, 31, means)
    factors.mean_squares(*kept, truths, 0, 50, squares)
    assert means == pytest.approx(weights @ table / weights.sum(), abs=1e-12)
    assert squares == pytest.approx(np.square(table - truths).mean(axis=1), abs=1e-12)
    parts, losses = np.empty(31), np.empty(50)
    for first, last in ((0, 7), (7, 8), (8, 31)):
        factors.weighted_means(*kept, weights, first, last, parts)
    for first, last in ((0, 49), (49, 50)):
        factors.mean_squares(*kept, truths, first, last, losses)
    assert parts.tolist() == means.tolist()
    assert losses.tolist() == squares.tolist()


@pytest.mark.parametrize("dimensions", [1, 2, 7, 20])
def test_products_are_those_of_a_matrix(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    profiles = rng.integers(-1024, 1025, (40, dimensions))
    answered = np.array([0, 3, 4, 17, 39], dtype=np.int32)
    before = rng.integers(-(2**60), 2**60, dimensions * (dimensions + 1) // 2)
    triangle = before.copy()
    factors.add_products(answered, profiles, triangle)
    some = profiles[answered]
    assert (triangle - before).tolist() == (some.T @ some)[np.triu_indices(dimensions)].tolist()
