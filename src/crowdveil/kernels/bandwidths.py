"""The spread of an object's claims, and the kernel bandwidth derived from it."""

from __future__ import annotations

import math

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled

SMALLEST = 1e-150  # squares of smaller numbers underflow


@compiled
def spread(x: Floats) -> float:
    """The sample standard deviation of ascending x, in two passes around the median; 0 for one claim."""
    n = x.size
    if n < 2 or x[0] == x[n - 1]:
        return 0.0
    centre = x[n // 2]
    unit = x[n - 1] - x[0]  # scaling: squares of tiny distances would underflow
    mean = 0.0
    for i in range(n):
        mean += (x[i] - centre) / unit
    mean /= n
    total = 0.0
    for i in range(n):
        total += ((x[i] - centre) / unit - mean) ** 2
    return unit * math.sqrt(total / (n - 1))


@compiled
def weighted_spread(x: Floats, c: Floats) -> float:
    """s_w n_eff^(-1/5), with s_w^2 = sum c (x - mean)^2 / (1 - sum c^2) and n_eff = 1 / sum c^2."""
    centre = x[x.size // 2]
    unit = x[x.size - 1] - x[0]
    mean = 0.0
    squares = 0.0
    for s in range(x.size):
        mean += c[s] * (x[s] - centre)
        squares += c[s] * c[s]
    if squares >= 1.0 or unit == 0.0:
        return 0.0
    variance = 0.0
    for s in range(x.size):
        variance += c[s] * ((x[s] - centre - mean) / unit) ** 2
    return unit * math.sqrt(variance / (1.0 - squares)) * squares**0.2


@compiled
def usable(h: float, x: Floats) -> float:
    """The bandwidth h, or 0 if its square underflows or h / 1000 is below the resolution of the claims."""
    return h if h > SMALLEST and h > 2.0**-40 * max(abs(x[0]), abs(x[x.size - 1])) else 0.0


@compiled
def bandwidths(
    offsets: Ints, values: Floats, factor: float, floor: float, first: int, last: int, out: Floats
) -> None:
    """The bandwidth max(factor sd n^(-1/5), floor) of each object; 0 if its claims are (nearly) all equal."""
    for i in range(first, last):
        x = values[offsets[i] : offsets[i + 1]]
        sd = spread(x)
        out[i] = usable(max(factor * sd * x.size**-0.2, floor), x) if sd > 0.0 else 0.0


@compiled
def spreads(offsets: Ints, values: Floats, first: int, last: int, out: Floats) -> None:
    """The standard deviation of each object's claims."""
    for i in range(first, last):
        out[i] = spread(values[offsets[i] : offsets[i + 1]])
