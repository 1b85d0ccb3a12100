"""Sums of Gaussian kernels between the claims of one object.

Notation: x the object's claims, h0 its bandwidth, k(x, y) = exp(-(x - y)^2 / 2 h0^2), K its matrix,
w weights that sum to one, f = sum_s w_s phi(x_s) in the kernel's Hilbert space.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdveil.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Up to this many claims the kernel matrix is kept while an object is worked on (2 MiB).
MATRIX_LIMIT = 512


@compiled
def spread(x: Floats) -> float:
    """The sample standard deviation, in two passes around the median (x ascends); 0 for one claim."""
    n = x.size
    if n < 2 or x[0] == x[n - 1]:
        return 0.0
    centre = x[n // 2]
    mean = 0.0
    for i in range(n):
        mean += x[i] - centre
    mean /= n
    total = 0.0
    for i in range(n):
        total += (x[i] - centre - mean) ** 2
    return math.sqrt(total / (n - 1))


@compiled
def bandwidths(
    offsets: Ints, values: Floats, factor: float, floor: float, first: int, last: int, out: Floats
) -> None:
    """h = max(factor sd n^(-1/5), floor) for each object; 0 where all its claims are equal."""
    for i in range(first, last):
        x = values[offsets[i] : offsets[i + 1]]
        sd = spread(x)
        out[i] = max(factor * sd * x.size**-0.2, floor) if sd > 0.0 else 0.0


@compiled
def spreads(offsets: Ints, values: Floats, first: int, last: int, out: Floats) -> None:
    """The standard deviation of each object's claims."""
    for i in range(first, last):
        out[i] = spread(values[offsets[i] : offsets[i + 1]])


@compiled
def fill_matrix(x: Floats, h0: float, matrix: Floats) -> None:
    """K into the upper left corner of `matrix`."""
    scale = -0.5 / (h0 * h0)
    for s in range(x.size):
        matrix[s, s] = 1.0
        for t in range(s):
            k = math.exp(scale * (x[s] - x[t]) ** 2)
            matrix[s, t] = k
            matrix[t, s] = k


@compiled
def matrix_times(matrix: Floats, w: Floats, out: Floats) -> None:
    """K w from a matrix that is at hand."""
    for s in range(w.size):
        total = 0.0
        for t in range(w.size):
            total += matrix[s, t] * w[t]
        out[s] = total


@compiled
def kernel_times(x: Floats, h0: float, w: Floats, out: Floats) -> None:
    """K w without a matrix: each pair's kernel is computed once and used for both."""
    scale = -0.5 / (h0 * h0)
    for s in range(x.size):
        out[s] = w[s]
    for s in range(x.size):
        for t in range(s):
            k = math.exp(scale * (x[s] - x[t]) ** 2)
            out[s] += w[t] * k
            out[t] += w[s] * k


@compiled
def squared_distances(w: Floats, kw: Floats) -> None:
    """Turn K w into d_s = |phi(x_s) - f|^2 = 1 - 2 (K w)_s + w'Kw, in place."""
    energy = 0.0
    for s in range(w.size):
        energy += w[s] * kw[s]
    for s in range(w.size):
        kw[s] = max(0.0, 1.0 - 2.0 * kw[s] + energy)
