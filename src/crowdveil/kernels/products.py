"""Products of matrices in the caller's own thread, each sum in one order.

A BLAS library would start threads for them: their number changes last digits, and on a busy machine they
wait for each other longer than they compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats
from crowdveil.compiled import fused, summed


def product(left: NDArray[Any], right: NDArray[Any]) -> Any:
    """`left @ right` for vectors and matrices; `left` may have more axes before its last two."""
    columns = right.shape[1:]
    kind = np.result_type(left, right)
    rows = np.ascontiguousarray(left, dtype=kind).reshape(-1, left.shape[-1])
    if columns:
        out = np.empty((rows.shape[0], *columns), dtype=kind)
        fill_product(rows, np.ascontiguousarray(right, dtype=kind), out)
    else:
        out = np.empty(rows.shape[0], dtype=kind)
        fill_sums(rows, np.ascontiguousarray(right, dtype=kind), out)
    return out.reshape(left.shape[:-1] + columns)[()]


def product_across(left: NDArray[Any], right: NDArray[Any]) -> Any:
    """`left.T @ right` for matrices, row by row: for sums over many rows."""
    kind = np.result_type(left, right)
    out = np.empty((left.shape[1], right.shape[1]), dtype=kind)
    fill_product_across(np.ascontiguousarray(left, dtype=kind), np.ascontiguousarray(right, dtype=kind), out)
    return out


@summed
def fill_sums(left: Floats, right: Floats, out: Floats) -> None:
    """Fill `out` with left @ right, right a vector."""
    for i in range(left.shape[0]):
        row, found = left[i], out.dtype.type(0)
        for k in range(row.size):
            found += row[k] * right[k]
        out[i] = found


@fused
def fill_product(left: Floats, right: Floats, out: Floats) -> None:
    """Fill `out` with left @ right."""
    out[:] = 0.0
    for i in range(left.shape[0]):
        row = out[i]
        for k in range(left.shape[1]):
            factor, source = left[i, k], right[k]
            for j in range(row.size):
                row[j] += factor * source[j]


@fused
def fill_product_across(left: Floats, right: Floats, out: Floats) -> None:
    """Fill `out` with left.T @ right."""
    out[:] = 0.0
    for i in range(left.shape[0]):
        source = right[i]
        for k in range(left.shape[1]):
            factor, row = left[i, k], out[k]
            for j in range(row.size):
                row[j] += factor * source[j]
