"""Swaps of a column's values between rows, accepted if they bring two-way tables closer to their targets."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.randomness.chacha import Words, next32


@compiled
def swap(
    state: Words,
    codes: Codes,
    column: int,
    tries: int,
    bases: Ints,
    strides: Ints,
    excess: Floats,
) -> int:
    """Try `tries` swaps of the column's values between two random rows; returns the number accepted.

    `excess` holds counts minus targets of the cells of all two-way tables. The cell of columns j and k with
    values u and x is at bases[j, k] + u strides[j, k] + x strides[k, j]; a base below 0 means that the pair
    has no target. A swap is accepted if it reduces the sum of squares of `excess`.
    """
    rows, columns = np.uint64(codes.shape[0]), codes.shape[1]
    accepted = 0
    for _ in range(tries):
        r = (np.uint64(next32(state)) * rows) >> np.uint64(32)
        s = (np.uint64(next32(state)) * rows) >> np.uint64(32)
        u, v = codes[r, column], codes[s, column]
        if u == v:
            continue
        change = 0.0
        for k in range(columns):
            x, y = codes[r, k], codes[s, k]
            if k == column or x == y or bases[column, k] < 0:
                continue
            base, own, other = bases[column, k], strides[column, k], strides[k, column]
            at_u, at_v = base + u * own, base + v * own
            change += 2.0 + excess[at_v + x * other] + excess[at_u + y * other]
            change -= excess[at_u + x * other] + excess[at_v + y * other]
        if change >= 0.0:
            continue
        for k in range(columns):
            x, y = codes[r, k], codes[s, k]
            if k == column or x == y or bases[column, k] < 0:
                continue
            base, own, other = bases[column, k], strides[column, k], strides[k, column]
            at_u, at_v = base + u * own, base + v * own
            excess[at_u + x * other] -= 1.0
            excess[at_v + y * other] -= 1.0
            excess[at_v + x * other] += 1.0
            excess[at_u + y * other] += 1.0
        codes[r, column], codes[s, column] = v, u
        accepted += 1
    return accepted
