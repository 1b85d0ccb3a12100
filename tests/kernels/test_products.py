"""Products of small matrices equal those of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdveil.kernels.products import fill_product, fill_product_across, product, product_across


@pytest.mark.parametrize(("rows", "middle", "columns"), [(1, 1, 1), (7, 3, 20), (40, 66, 61)])
def test_products_are_those_of_numpy(rows: int, middle: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    left, right = rng.normal(size=(rows, middle)), rng.normal(size=(middle, columns))
    out, across = np.full((rows, columns), np.nan), np.full((rows, columns), np.nan)
    fill_product(left, right, out)
    fill_product_across(np.ascontiguousarray(left.T), right, across)
    assert out == pytest.approx(left @ right, abs=1e-12)
    assert across == pytest.approx(left @ right, abs=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("left", "right"),
    [((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((4, 5), (5, 3)), ((2, 4, 5), (5, 3)), ((2, 4, 5), (5,))],
)
def test_products_of_any_shape_are_those_of_numpy(
    left: tuple[int, ...], right: tuple[int, ...], kind: type[np.floating[Any]]
) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=left).astype(kind), rng.normal(size=right).astype(kind)
    expected, found = a @ b, product(a, b)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found == pytest.approx(expected, abs=1e-5)
    assert product(a.astype(np.float64), b) == pytest.approx(a.astype(np.float64) @ b, abs=1e-12)
    if a.ndim == b.ndim == 2:
        assert product_across(np.asfortranarray(a.T), b) == pytest.approx(expected, abs=1e-5)
