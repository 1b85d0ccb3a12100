"""exp of a row of numbers, in loops that the compiler turns into vector instructions.

exp(z) = 2^k exp(r), where k is the integer nearest to z / ln 2 and |r| <= ln(2) / 2, for which thirteen terms
of the series leave an error of 2e-16. Adding a large constant rounds z / ln 2 to k and leaves k in the low
bits; shifted into the exponent, they multiply by 2^k. Only z <= 0 is supported; below -708 the result is
exp(-708) = 3e-308.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.compiled import fused

_LEAST = -708.0
_INTEGERS = 1.5 * 2.0**52  # adding it rounds to an integer and leaves that in the low bits
_PER_LN2 = 1.0 / math.log(2.0)
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: k times the first is exact
_LN2_LOW = 1.90821492927058770002e-10
_EXPONENT_BITS = 52


@fused
def exponentials(z: Floats, scratch: Floats) -> None:
    """Replace every z <= 0 by exp(z); `scratch` is at least as long as z."""
    n = z.size
    low_bits = scratch.view(np.int64)
    bits = z.view(np.int64)
    for i in range(n):
        x = max(z[i], _LEAST)
        rounded = x * _PER_LN2 + _INTEGERS
        k = rounded - _INTEGERS
        scratch[i] = rounded
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        z[i] = p * r + 1.0
    for i in range(n):
        bits[i] += low_bits[i] << _EXPONENT_BITS
