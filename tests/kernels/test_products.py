"""Products of small matrices equal those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.kernels.products import fill_product, fill_product_across


@pytest.mark.parametrize(("rows", "middle", "columns"), [(1, 1, 1), (7, 3, 20), (40, 66, 61)])
def test_products_are_those_of_numpy(rows: int, middle: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    left, right = rng.normal(size=(rows, middle)), rng.normal(size=(middle, columns))
    out, across = np.full((rows, columns), np.nan), np.full((rows, columns), np.nan)
    fill_product(left, right, out)
    fill_product_across(np.ascontiguousarray(left.T), right, across)
    assert out == pytest.approx(left @ right, abs=1e-12)
    assert across == pytest.approx(left @ right, abs=1e-12)
