"""Our own sorts against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdveil.kernels.sorting import ascending, first_above, sort

SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 1000, 4097]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kinds", [3, 10**6])
def test_the_order_is_numpys_stable_one(n: int, kinds: int) -> None:
    x = np.random.default_rng(n).integers(0, kinds, n).astype(np.float64)
    for numbers in (x, np.sort(x), np.sort(x)[::-1].copy()):
        order, spare = np.full(n, -1), np.full(n, -1)
        ascending(numbers, order, spare)
        assert order.tolist() == np.argsort(numbers, kind="stable").tolist()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_sorted_numbers_ascend(n: int, dtype: Any) -> None:
    x = np.random.default_rng(n).integers(-50, 50, n).astype(dtype)
    for numbers in (x.copy(), np.sort(x), np.sort(x)[::-1].copy()):
        expected = np.sort(numbers)
        sort(numbers)
        assert numbers.tolist() == expected.tolist()


@pytest.mark.parametrize("n", SIZES)
def test_the_first_above_is_numpys_search_from_the_right(n: int) -> None:
    x = np.sort(np.random.default_rng(n).integers(0, 20, n)).astype(np.float64)
    for value in np.arange(-1, 21, 0.5):
        assert first_above(x, value) == np.searchsorted(x, value, side="right")
