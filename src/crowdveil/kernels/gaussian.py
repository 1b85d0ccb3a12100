"""Sums of Gaussian kernels between the claims of one object.

Notation: x are the object's claims, h0 its bandwidth, k(x, y) = exp(-(x - y)^2 / 2 h0^2), K the kernel
matrix, w weights that sum to one, f = sum_s w_s phi(x_s) in the kernel's Hilbert space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled, fused
from crowdveil.kernels.boxes import TERMS, boxes_times, inner, lay_boxes
from crowdveil.kernels.exponential import exponentials

# With more claims than this, boxes are faster than a matrix that is used for one sweep, or for many. (They
# are NumPy integers: numba would compile a loop again for each plain constant argument.)
ONE_SWEEP = np.int64(40)
MANY_SWEEPS = np.int64(96)


class Room(NamedTuple):
    """Scratch memory, reused for one object after another."""

    store: Floats  # the matrix, or the features of boxes
    scratch: Floats
    first: Ints
    place: Ints


@compiled
def room_for(n: int) -> Room:
    """Scratch memory for objects of up to n claims."""
    matrix = int(n if n < MANY_SWEEPS else MANY_SWEEPS) ** 2
    return Room(
        np.empty(matrix if matrix > n * TERMS else n * TERMS),
        np.empty(matrix),
        np.empty(n + 1, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )


@compiled
def prepare(x: Floats, h0: float, largest_matrix: int, room: Room) -> int:
    """Prepare `room` for products K w; returns the number of boxes to pass to `times`, 0 for a matrix."""
    if x.size > largest_matrix:
        return lay_boxes(x, h0, room.first, room.place, room.store)
    fill_matrix(x, h0, room.store, room.scratch)
    return 0


@compiled
def times(room: Room, boxes: int, w: Floats, out: Floats) -> None:
    """Fill `out` with K w of the object that `room` was prepared for."""
    if boxes > 0:
        boxes_times(room.store, room.first, room.place, boxes, w, out)
    else:
        matrix_times(room.store, w, out)


@compiled
def fill_matrix(x: Floats, h0: float, matrix: Floats, scratch: Floats) -> None:
    """Fill the first n^2 entries of `matrix` with K; the kernel of each pair is computed once."""
    n = x.size
    pairs = n * (n - 1) // 2
    scale = -0.5 / (h0 * h0)
    kernels = scratch[:pairs]
    begin = 0
    for s in range(1, n):
        row = kernels[begin : begin + s]
        for t in range(s):
            distance = x[t] - x[s]
            row[t] = scale * distance * distance
        begin += s
    exponentials(kernels, scratch[pairs:])
    begin = 0
    for s in range(n):
        for t in range(s):
            matrix[s * n + t] = kernels[begin + t]
            matrix[t * n + s] = kernels[begin + t]
        matrix[s * n + s] = 1.0
        begin += s


@fused
def matrix_times(matrix: Floats, w: Floats, out: Floats) -> None:
    """Fill `out` with K w for a stored matrix, four rows at a time, in vector instructions."""
    n = w.size
    fours = n // 4 * 4
    for s in range(n):
        out[s] = 0.0
    for t in range(0, fours, 4):
        a, b, c, d = w[t], w[t + 1], w[t + 2], w[t + 3]
        rows = matrix[t * n : (t + 4) * n]
        for s in range(n):
            out[s] += (a * rows[s] + b * rows[n + s]) + (c * rows[2 * n + s] + d * rows[3 * n + s])
    for t in range(fours, n):
        row = matrix[t * n : t * n + n]
        for s in range(n):
            out[s] += w[t] * row[s]


@compiled
def squared_distances(w: Floats, kw: Floats) -> None:
    """Turn K w into d_s = |phi(x_s) - f|^2 = 1 - 2 (K w)_s + w'Kw, in place."""
    energy = inner(w, kw)
    for s in range(w.size):
        kw[s] = max(0.0, 1.0 - 2.0 * kw[s] + energy)
