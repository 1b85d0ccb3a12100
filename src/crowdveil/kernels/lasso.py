"""LASSO for a table of two columns that were randomized one by one, by coordinate descent."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.compiled import compiled


@compiled
def descend(
    told: Floats,
    own_a: float,
    all_a: float,
    own_b: float,
    all_b: float,
    penalty: float,
    sweeps: int,
    close: float,
    shares: Floats,
) -> int:
    """Improve `shares` >= 0 (a, b) cell by cell until no cell moves by more than `close`; says the sweeps.

    Least is half the squared distance of what shares predict from what was told, plus penalty times their
    sum. Randomized response has the matrix (p - q) I + q J, so products of its columns with each other are
    own I + all J, and those of a pair of columns are products of the two: what a cell does to all others
    is seen in sums along rows and columns alone, and a step takes no longer in a large table. `told` is
    what was told, multiplied with the matrices once more.
    """
    many_a, many_b = shares.shape
    of_row, of_column = np.zeros(many_a), np.zeros(many_b)
    whole = 0.0
    for i in range(many_a):
        for j in range(many_b):
            of_row[i] += shares[i, j]
            of_column[j] += shares[i, j]
            whole += shares[i, j]
    bend = (own_a + all_a) * (own_b + all_b)
    for sweep in range(sweeps):
        moved = 0.0
        for i in range(many_a):
            for j in range(many_b):
                now = shares[i, j]
                predicted = own_a * own_b * now + own_a * all_b * of_row[i]
                predicted += all_a * own_b * of_column[j] + all_a * all_b * whole
                step = max(0.0, now + (told[i, j] - penalty - predicted) / bend) - now
                if step != 0.0:
                    shares[i, j] = now + step
                    of_row[i] += step
                    of_column[j] += step
                    whole += step
                    moved = max(moved, abs(step))
        if moved <= close:
            return sweep + 1
    return sweeps
