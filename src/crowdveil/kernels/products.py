"""Products of small matrices in the caller's thread.

A BLAS library would start threads for them; on a busy machine these threads wait for each other longer than
they compute.
"""

from __future__ import annotations

from crowdveil.arrays import Floats
from crowdveil.compiled import fused


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
