"""LASSO estimate of a table of two columns that were randomized separately, by coordinate descent."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.compiled import compiled


@compiled
def descend(
    correlations: Floats,
    own_a: float,
    all_a: float,
    own_b: float,
    all_b: float,
    penalty: float,
    sweeps: int,
    close: float,
    shares: Floats,
) -> int:
    """Update `shares` >= 0 cell by cell until no cell moves by more than `close`; returns the sweeps.

    The objective is half the squared distance between predicted and reported shares, plus penalty times the
    sum of shares. Randomized response on a column has the matrix P = (p - q) I + q J, so P'P = own I + all J,
    and for two columns the Gram matrix is a Kronecker product of two such matrices. So the effect of a cell
    on the others needs only the row sums, column sums and total of `shares`, and a step takes constant time.
    `correlations` are the reported shares multiplied by the transposed matrices of both columns.
    """
    size_a, size_b = shares.shape
    row_sums, column_sums = np.zeros(size_a), np.zeros(size_b)
    total = 0.0
    for i in range(size_a):
        for j in range(size_b):
            row_sums[i] += shares[i, j]
            column_sums[j] += shares[i, j]
            total += shares[i, j]
    curvature = (own_a + all_a) * (own_b + all_b)
    for sweep in range(sweeps):
        largest_step = 0.0
        for i in range(size_a):
            for j in range(size_b):
                current = shares[i, j]
                predicted = own_a * own_b * current + own_a * all_b * row_sums[i]
                predicted += all_a * own_b * column_sums[j] + all_a * all_b * total
                step = max(0.0, current + (correlations[i, j] - penalty - predicted) / curvature) - current
                if step != 0.0:
                    shares[i, j] = current + step
                    row_sums[i] += step
                    column_sums[j] += step
                    total += step
                    largest_step = max(largest_step, abs(step))
        if largest_step <= close:
            return sweep + 1
    return sweeps
