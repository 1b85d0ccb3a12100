"""Several columns of a record, each by randomized response with its share of epsilon; and pairs of them.

The matrix of a pair is the product of the two columns' matrices, and so is its inverse. That of all columns
likewise: what the inverse of all columns says about a pair is what the pair's own inverse says, so there is
no need of the matrix of all columns, which would have a row for every possible record.

Notation: p = keep, q = other, k cells of a column; its matrix is (p - q) I + q J.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.kernels.lasso import descend
from crowdveil.local.krr import KRR
from crowdveil.synthesis.marginals import norm_sub

ALPHA = 1e-5  # the paper names none; the usual 1 leaves nothing of a table
SWEEPS = 1000
CLOSE = 1e-7


def inverted(counts: Ints, first: KRR, second: KRR) -> Floats:
    """Unbiased shares of a pair's cells from counts of reported pairs; can be below 0, and sum to 1."""
    told: Floats = counts / counts.sum()
    for axis, oracle in enumerate((first, second)):
        sums = told.sum(axis=axis, keepdims=True)
        told = (told - oracle.other * sums) / (oracle.keep - oracle.other)
    return told


def lasso(counts: Ints, first: KRR, second: KRR, *, alpha: float = ALPHA) -> Floats:
    """Shares of a pair's cells, none below 0 and of sum 1, whose reports would be nearest to these.

    Least is the squared distance over cells, halved, plus alpha times the sum of shares. It begins with the
    inverted table, made proper.
    """
    start = norm_sub(inverted(counts, first, second))
    told = counts / counts.sum()
    sides = []
    for axis, oracle in enumerate((first, second)):
        signal, other = oracle.keep - oracle.other, oracle.other
        told = signal * told + other * told.sum(axis=axis, keepdims=True)
        sides += [signal**2, 2 * other * signal + oracle.cells * other**2]
    descend(told, *sides, alpha, SWEEPS, CLOSE, start)
    whole = start.sum()
    found: Floats = start / whole if whole > 0 else np.full(counts.shape, 1.0 / counts.size)
    return found


def pair_variance(first: KRR, second: KRR, reports: int) -> float:
    """Of the inverted share of a rare cell, for cells that are told about evenly: the mean over cells.

    A column's inverse has (1 - q)/(p - q) for the cell that was told and -q/(p - q) for each other one.
    """
    product = 1.0
    for oracle in (first, second):
        k, q, signal = oracle.cells, oracle.other, oracle.keep - oracle.other
        product *= ((1 - q) ** 2 + (k - 1) * q**2) / (k * signal**2)
    return (product - (1.0 / (first.cells * second.cells)) ** 2) / reports
