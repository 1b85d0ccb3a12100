"""Sums of Gaussian kernels between the claims of one object.

Notation: x the object's claims, h0 its bandwidth, k(x, y) = exp(-(x - y)^2 / 2 h0^2), K its matrix,
w weights that sum to one, f = sum_s w_s phi(x_s) in the kernel's Hilbert space.
"""

from __future__ import annotations

import math

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.exponential import exponentials

# Up to this many claims the kernel matrix is kept while an object is worked on (2 MiB).
MATRIX_LIMIT = 512
SMALL = 48  # up to this many claims a matrix is filled at once, not row by row


@compiled
def spread(x: Floats) -> float:
    """The sample standard deviation, in two passes around the median (x ascends); 0 for one claim."""
    n = x.size
    if n < 2 or x[0] == x[n - 1]:
        return 0.0
    centre = x[n // 2]
    unit = x[n - 1] - x[0]  # squares of tiny distances would vanish
    mean = 0.0
    for i in range(n):
        mean += (x[i] - centre) / unit
    mean /= n
    total = 0.0
    for i in range(n):
        total += ((x[i] - centre) / unit - mean) ** 2
    return unit * math.sqrt(total / (n - 1))


@compiled
def usable(h: float, x: Floats) -> float:
    """The bandwidth h, or 0 if numbers as large as the claims cannot be told apart at h / 1000."""
    return h if h > 2.0**-40 * max(abs(x[0]), abs(x[x.size - 1])) else 0.0


@compiled
def bandwidths(
    offsets: Ints, values: Floats, factor: float, floor: float, first: int, last: int, out: Floats
) -> None:
    """h = max(factor sd n^(-1/5), floor) for each object; 0 where its claims are (nearly) all equal."""
    for i in range(first, last):
        x = values[offsets[i] : offsets[i + 1]]
        sd = spread(x)
        out[i] = usable(max(factor * sd * x.size**-0.2, floor), x) if sd > 0.0 else 0.0


@compiled
def spreads(offsets: Ints, values: Floats, first: int, last: int, out: Floats) -> None:
    """The standard deviation of each object's claims."""
    for i in range(first, last):
        out[i] = spread(values[offsets[i] : offsets[i + 1]])


@compiled
def fill_matrix(x: Floats, h0: float, matrix: Floats, scratch: Floats) -> None:
    """K, row by row, into the first n^2 places of `matrix`."""
    n = x.size
    scale = -0.5 / (h0 * h0)
    if n <= SMALL:
        # All of it at once: rows are too short to work on one by one.
        for s in range(n):
            centre = x[s]
            for t in range(n):
                distance = x[t] - centre
                matrix[s * n + t] = scale * distance * distance
        exponentials(matrix[: n * n], scratch)
        return
    for s in range(n):
        row = matrix[s * n : s * n + s + 1]
        fill_row(x, x[s], scale, row, scratch)
        for t in range(s):
            matrix[t * n + s] = row[t]


@compiled
def fill_row(x: Floats, centre: float, scale: float, row: Floats, scratch: Floats) -> None:
    """The kernels of one claim and the first of all claims, as many as the row is long."""
    for t in range(row.size):
        distance = x[t] - centre
        row[t] = scale * distance * distance
    exponentials(row, scratch)


@compiled
def matrix_times(matrix: Floats, w: Floats, out: Floats) -> None:
    """K w from a matrix that is at hand: row after row, so that all sums run side by side."""
    n = w.size
    for s in range(n):
        out[s] = 0.0
    for t in range(n):
        weight = w[t]
        row = matrix[t * n : t * n + n]
        for s in range(n):
            out[s] += weight * row[s]


@compiled
def kernel_times(x: Floats, h0: float, w: Floats, out: Floats, row: Floats, scratch: Floats) -> None:
    """K w without a matrix: each pair's kernel is computed once and used for both."""
    scale = -0.5 / (h0 * h0)
    out[:] = w
    for s in range(1, x.size):
        kernels = row[:s]
        fill_row(x, x[s], scale, kernels, scratch)
        weight = w[s]
        for t in range(s):
            out[t] += weight * kernels[t]
        out[s] += inner(kernels, w)


@compiled
def inner(a: Floats, b: Floats) -> float:
    """The sum of a times the beginning of b, as four sums side by side."""
    first = second = third = fourth = 0.0
    whole = a.size // 4 * 4
    for t in range(0, whole, 4):
        first += a[t] * b[t]
        second += a[t + 1] * b[t + 1]
        third += a[t + 2] * b[t + 2]
        fourth += a[t + 3] * b[t + 3]
    for t in range(whole, a.size):
        first += a[t] * b[t]
    return (first + second) + (third + fourth)


@compiled
def squared_distances(w: Floats, kw: Floats) -> None:
    """Turn K w into d_s = |phi(x_s) - f|^2 = 1 - 2 (K w)_s + w'Kw, in place."""
    energy = 0.0
    for s in range(w.size):
        energy += w[s] * kw[s]
    for s in range(w.size):
        kw[s] = max(0.0, 1.0 - 2.0 * kw[s] + energy)
