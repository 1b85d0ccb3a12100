"""The fused pass against NumPy's own sums."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from crowdveil.kernels.residuals import add_squared_residuals

UNIT = 2.0**40
Floats = NDArray[np.float64]


def passed(
    values: Floats, counts: list[int], weights: Floats, scales: Floats, ranges: list[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """Truths and losses from a pass over the ranges in their order."""
    offsets = np.concatenate([[0], np.cumsum(counts)])
    users = (np.arange(values.size) * 7 % weights.size).astype(np.int32)
    truths, totals = np.full(len(counts), -1.0), np.zeros(weights.size, dtype=np.int64)
    for first, last in ranges:
        add_squared_residuals(offsets, users, values, weights, 0.0, scales, UNIT, first, last, truths, totals)
    return truths, totals / UNIT


def twin(values: Floats, counts: list[int], weights: Floats, scales: Floats) -> tuple[Floats, Floats]:
    owners, users = np.repeat(np.arange(len(counts)), counts), np.arange(values.size) * 7 % weights.size
    whole = np.bincount(owners, weights[users], len(counts))
    shift = values.mean()
    with np.errstate(invalid="ignore"):
        truths = shift + np.bincount(owners, weights[users] * (values - shift), len(counts)) / whole
    squares = (values - truths[owners]) ** 2 / scales[owners]
    losses: Floats = np.zeros(weights.size)
    np.add.at(losses, users, np.where(scales[owners] > 0, squares, 0.0))
    return truths, losses


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_truths_and_losses_equal_their_twins(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    counts = [*rng.integers(1, 40, 60), 1, 3000]
    values = offset + np.concatenate([np.sort(rng.normal(rng.normal(0, 5), 1, n)) for n in counts])
    weights, scales = rng.uniform(0.1, 3, 50), rng.uniform(0.5, 2, len(counts))
    truths, losses = passed(values, counts, weights, scales, [(0, len(counts))])
    expected_truths, expected_losses = twin(values, counts, weights, scales)
    np.testing.assert_allclose(truths, expected_truths, rtol=1e-12)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)


def test_losses_do_not_depend_on_the_order_of_ranges_to_the_bit() -> None:
    rng = np.random.default_rng(9)
    counts = [5] * 20
    values, weights, scales = rng.normal(size=100), rng.uniform(0.5, 2, 9), rng.uniform(0.5, 2, 20)
    whole = passed(values, counts, weights, scales, [(0, 20)])
    parts = passed(values, counts, weights, scales, [(11, 20), (0, 3), (3, 11)])
    assert whole[0].tolist() == parts[0].tolist()
    assert whole[1].tolist() == parts[1].tolist()


def test_objects_without_claims_scale_or_weight_have_a_defined_truth() -> None:
    values = np.array([1.0, 2.0, 6.0, 4.0, 4.0])
    truths, losses = passed(values, [3, 0, 2], np.zeros(5), np.array([0.0, 1.0, 1.0]), [(0, 3)])
    assert truths[0] == 3.0
    assert np.isnan(truths[1])
    assert truths[2] == 4.0
    assert not losses.any()
