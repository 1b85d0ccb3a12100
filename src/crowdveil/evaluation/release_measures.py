"""Error measures of a release: integrated squared errors of densities, and the bound of Theorem 1.

Reference: Huai et al., *Privacy-aware Synthesizing for Crowdsourced Data*, 2019 (extended version), section 5
and Theorem 1. The paper defines SISE as the sum of *squared* integrated errors, but its tables satisfy
SISE <= sqrt(N ISE), so they must be sums of *square roots*. `sise` is that of the tables, `sise_as_printed`
that of the formula.

Notation: N(m, v) is the normal density of mean m and variance v.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.releases.density import steepest_slope, support

_AT_ONCE = 1_000_000  # largest number of pairs in memory


def _normal(x: Floats, variance: float) -> Floats:
    return np.exp(-0.5 * x * x / variance) / math.sqrt(2 * math.pi * variance)


def _overlap(a: Floats, wa: Floats, b: Floats, wb: Floats, variance: float) -> float:
    """The integral of the product of two mixtures of normals whose variances add up to `variance`."""
    total = 0.0
    step = max(1, _AT_ONCE // b.size)
    for first in range(0, a.size, step):
        part = slice(first, first + step)
        total += float(wa[part] @ _normal(a[part, None] - b[None, :], variance) @ wb)
    return total


def _equal_weights(x: Floats) -> Floats:
    return np.full(x.size, 1.0 / x.size)


def integrated_squared_error(
    a: Floats, wa: Floats | None, ha: float, b: Floats, wb: Floats | None, hb: float
) -> float:
    """The integral of (f - g)^2 for two mixtures of normals, in closed form.

    f has components at `a` with weights `wa` (None: equal weights) and standard deviation `ha`; likewise g.
    """
    wa = _equal_weights(a) if wa is None else wa
    wb = _equal_weights(b) if wb is None else wb
    error = (
        _overlap(a, wa, a, wa, 2 * ha * ha)
        + _overlap(b, wb, b, wb, 2 * hb * hb)
        - 2 * _overlap(a, wa, b, wb, ha * ha + hb * hb)
    )
    return 0.0 if error < 0.0 else error  # a NaN stays one


def error_to_normal(released: Floats, bandwidth: float, mean: float, sd: float) -> float:
    """The integral of (f* - f~)^2, where f* is N(mean, sd^2) and f~ the density of released claims.

    If nothing was released, f~ is 0 and the error is the integral of f*^2.
    """
    if released.size == 0:
        return 1.0 / (2.0 * math.sqrt(math.pi) * sd)
    return integrated_squared_error(np.array([mean]), None, sd, released, None, bandwidth)


def silverman(values: Floats, floor: float) -> float:
    """Silverman's bandwidth, 1.06 sd n^(-1/5), but at least `floor`."""
    if values.size < 2:
        return floor
    return max(floor, 1.06 * float(values.std(ddof=1) * values.size**-0.2))


def ise(errors: Floats) -> float:
    """ISE: the sum of the objects' errors."""
    return float(np.sum(errors))


def sise(errors: Floats) -> float:
    """SISE as in the paper's tables: the sum of the square roots of the objects' errors."""
    return float(np.sum(np.sqrt(errors)))


def sise_as_printed(errors: Floats) -> float:
    """SISE as in the paper's formula: the sum of the squares of the objects' errors."""
    return float(np.sum(np.square(errors)))


def theorem1_bound(claims: Floats, weights: Floats, bandwidth: float, released: int) -> float:
    """Theorem 1: E int (f - f~)^2 <= 4 A h + A^2 h^2 V + B / (m h) + A B V / m, for m draws from f.

    A = sup |f'|, B = int K^2 = 1 / (2 sqrt pi), and V is the length of f's support. The paper assumes a
    kernel on [-1, 1]; its lemmas only need E|z| <= 1 under the kernel, which holds for the Gaussian with its
    standard deviation as h. V would then be infinite; here the support ends four bandwidths beyond the
    claims, where f is negligible.
    """
    slope = steepest_slope(claims, weights, bandwidth)
    low, high = support(claims, bandwidth)
    energy = 1.0 / (2.0 * math.sqrt(math.pi))
    length = high - low
    return (
        4 * slope * bandwidth
        + (slope * bandwidth) ** 2 * length
        + energy / (released * bandwidth)
        + slope * energy * length / released
    )
