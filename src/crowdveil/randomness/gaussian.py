"""Exact discrete Gaussian noise, by rejection from discrete Laplace noise.

Reference: Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
arXiv:2004.00010, algorithm 3. The sampler uses integers and coin flips only. The variance parameter sigma^2
is a fraction num/den of integers below 2^40 and at least 1/1000; within these bounds no product here exceeds
63 bits.

Notation: t = floor(sigma) + 1; y is a discrete Laplace draw of scale t, accepted with probability
exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)). In integers the exponent is a^2 / (p r) with
a = | |y| den t - num |, p = 2 num, r = den t^2.

A proposal of 2^13 scales or more is always rejected. Its acceptance probability would be below exp(-3e7), so
the law of the sampler differs from the discrete Gaussian by less than that.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.compiled import compiled
from crowdveil.errors import ParameterError
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import INTEGER_LIMIT, below, bernoulli_exp, discrete_laplace

LEAST = 1000  # a variance is at least 1/LEAST
FARTHEST = 2**13  # proposals lie below this many scales
_ONE = np.int64(1)  # a plain constant would make numba compile the samplers once more


def check_variance(num: int, den: int) -> None:
    """Raise an error if the sampler does not support the variance num/den."""
    for part in (num, den):
        if not isinstance(part, int) or not 0 < part < INTEGER_LIMIT:
            raise ParameterError("a variance num/den needs integers between 1 and 2^40")
    if den > LEAST * num:
        raise ParameterError(f"a variance must be at least 1/{LEAST}")


@compiled
def bernoulli_exp_product(state: Words, a: int, b: int, c: int, d: int) -> bool:
    """Exact: true with probability exp(-(a/b)(c/d)), for a <= b and c <= d."""
    k = 1
    while below(state, b) < a and below(state, d) < c and (k == 1 or below(state, k) == 0):
        k += 1
    return k % 2 == 1


@compiled
def bernoulli_exp_square(state: Words, a: int, p: int, r: int) -> bool:
    """Exact: true with probability exp(-a^2/(p r)), without computing the square of a.

    With a = q r + s = u p + v the exponent is (q + s/r)(u + v/p) = q u + q v/p + u s/r + (s/r)(v/p).
    """
    q, s = a // r, a % r
    u, v = a // p, a % p
    return (
        (q == 0 or (bernoulli_exp(state, q * u, _ONE) and bernoulli_exp(state, q * v, p)))
        and (u == 0 or bernoulli_exp(state, u * s, r))
        and bernoulli_exp_product(state, s, r, v, p)
    )


@compiled
def discrete_gaussian(state: Words, num: int, den: int) -> int:
    """Exact: an integer y with probability proportional to exp(-y^2 / (2 num/den))."""
    t = int(math.sqrt(num // den)) + 1  # truncating the float root is exact for integers below 2^52
    while True:
        y = discrete_laplace(state, t, _ONE)
        if abs(y) < FARTHEST * t and bernoulli_exp_square(
            state, abs(abs(y) * den * t - num), 2 * num, den * t * t
        ):
            return y


@compiled
def fill_discrete_gaussian(state: Words, num: int, den: int, out: Ints) -> None:
    """Fill `out` with exact discrete Gaussian draws of variance parameter num/den."""
    for i in range(out.size):
        out[i] = discrete_gaussian(state, num, den)
