"""The table of a pair of columns from split reports: least squares with an L1 penalty, no cell below 0.

Notation: p = keep and q = other of a column with k cells; its matrix is (p - q) I + q J.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.kernels.lasso import descend
from crowdveil.local.krr import KRR
from crowdveil.local.split_krr import inverted
from crowdveil.synthesis.marginals import norm_sub

ALPHA = 1e-5  # the paper names none; the usual 1 leaves nothing of a table
SWEEPS = 1000
CLOSE = 1e-7


def lasso(counts: Ints, first: KRR, second: KRR, *, alpha: float = ALPHA) -> Floats:
    """Shares of a pair's cells, none below 0 and of sum 1, whose expected reports fit these counts best.

    Minimises half the squared distance over cells plus alpha times the sum of the shares, by coordinate
    descent from the inverted table after norm-sub.
    """
    start = norm_sub(inverted(counts / counts.sum(), (first, second)))
    product: Floats = counts / counts.sum()  # becomes the matrix's transpose times the reports
    sides = []
    for axis, oracle in enumerate((first, second)):
        signal, other = oracle.keep - oracle.other, oracle.other
        product = signal * product + other * product.sum(axis=axis, keepdims=True)
        sides += [signal**2, 2 * other * signal + oracle.cells * other**2]
    descend(product, *sides, alpha, SWEEPS, CLOSE, start)
    total = start.sum()
    shares: Floats = start / total if total > 0 else np.full(counts.shape, 1.0 / counts.size)
    return shares
