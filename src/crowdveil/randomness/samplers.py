"""Draws from a ChaCha20 stream: exact ones on integers for noise, floating-point ones for everything else.

The exact samplers follow Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
arXiv:2004.00010, section 5. They use integers and coin flips only, so that the draws follow the stated law
exactly. A rational num/den is given as two non-negative integers below 2^40.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdveil.compiled import compiled, inlined
from crowdveil.randomness import chacha
from crowdveil.randomness.chacha import Words, next32, next64

INTEGER_LIMIT = 2**40


@inlined
def uniform(state: Words) -> float:
    """Uniform on the multiples of 2^-53 in [0, 1)."""
    return float(next64(state) >> np.uint64(11)) * 2.0**-53


@inlined
def cosine_of_turn(u: float) -> float:
    """cos(2 pi u) for u in [0, 1], with an error below 1e-15: the sine's series around a quarter turn."""
    x = 2.0 * math.pi * (abs(u - 0.5) - 0.25)
    square = x * x
    p = -1.0 / 121645100408832000.0
    p = p * square + 1.0 / 355687428096000.0
    p = p * square - 1.0 / 1307674368000.0
    p = p * square + 1.0 / 6227020800.0
    p = p * square - 1.0 / 39916800.0
    p = p * square + 1.0 / 362880.0
    p = p * square - 1.0 / 5040.0
    p = p * square + 1.0 / 120.0
    p = p * square - 1.0 / 6.0
    return x + x * square * p


@compiled
def normal(state: Words) -> float:
    """A floating-point standard normal draw (Box and Muller): never for privacy noise."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
    return radius * cosine_of_turn(uniform(state))


@compiled
def below(state: Words, limit: int) -> int:
    """Exact: an integer uniform in 0 ... limit - 1, by rejection under a bit mask."""
    mask = np.uint64(limit - 1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    while True:
        drawn = (next64(state) if mask > np.uint64(0xFFFFFFFF) else np.uint64(next32(state))) & mask
        if drawn < np.uint64(limit):
            return np.int64(drawn)  # type: ignore[return-value]


@inlined
def coin(state: Words) -> bool:
    """Exact: a fair coin."""
    return (next32(state) & np.uint32(1)) == 1


@compiled
def bernoulli_exp_fraction(state: Words, num: int, den: int) -> bool:
    """Exact: true with probability exp(-num/den), for num <= den."""
    k = 1
    # A coin with probability num / (den k) is a coin of num / den and one of 1 / k: no product can overflow.
    while below(state, den) < num and below(state, k) == 0:
        k += 1
    return k % 2 == 1


@compiled
def bernoulli_exp_one(state: Words) -> bool:
    """Exact: true with probability exp(-1); uses the same random words as `bernoulli_exp_fraction`."""
    next32(state)
    next32(state)
    k = np.uint32(2)
    mask = np.uint32(1)
    while True:
        next32(state)
        if k > mask + np.uint32(1):
            mask = np.uint32(2 * mask + 1)
        drawn = next32(state) & mask
        while drawn >= k:
            drawn = next32(state) & mask
        if drawn != 0:
            return (k & np.uint32(1)) == 1
        k += np.uint32(1)


@compiled
def bernoulli_exp(state: Words, num: int, den: int) -> bool:
    """Exact: true with probability exp(-num/den)."""
    while num > den:
        if not bernoulli_exp_one(state):
            return False
        num -= den
    return bernoulli_exp_fraction(state, num, den)


@compiled
def discrete_laplace(state: Words, num: int, den: int) -> int:
    """Exact: an integer y with probability proportional to exp(-|y| den/num), that is, of scale num/den."""
    while True:
        fraction = below(state, num)
        if not bernoulli_exp_fraction(state, fraction, num):
            continue
        quotient = 0
        while bernoulli_exp_one(state):
            quotient += 1
        size = (fraction + num * quotient) // den
        if coin(state):
            if size == 0:
                continue  # zero must not be counted twice
            return -size
        return size


@compiled
def laplace_at_least(state: Words, threshold: int, num: int, den: int) -> bool:
    """Exact: true with the probability that continuous Laplace noise of rate num/den reaches `threshold`.

    That is exp(-rate t)/2 for t > 0 and 1 - exp(rate t)/2 otherwise. The noise itself is never computed, so
    it cannot be rounded.
    """
    if threshold > 0:
        return coin(state) and bernoulli_exp(state, threshold * num, den)
    return not (coin(state) and bernoulli_exp(state, -threshold * num, den))


@compiled
def fill_uniform(state: Words, out: NDArray[np.float64]) -> None:
    """Fill `out` with uniform draws."""
    for i in range(out.size):
        out[i] = uniform(state)


@compiled
def first_uniforms(key: Words, nonces: Words, out: NDArray[np.float64]) -> None:
    """Fill `out` with the first uniform draw of each stream."""
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    for i in range(out.size):
        chacha.start(state, key, nonces[i])
        out[i] = uniform(state)


@compiled
def fill_normal(state: Words, out: NDArray[np.float64]) -> None:
    """Fill `out` with floating-point standard normal draws."""
    for i in range(out.size):
        out[i] = normal(state)


@compiled
def fill_discrete_laplace(state: Words, num: int, den: int, out: NDArray[np.int64]) -> None:
    """Fill `out` with exact discrete Laplace draws of scale num/den."""
    for i in range(out.size):
        out[i] = discrete_laplace(state, num, den)


@compiled
def fill_laplace_at_least(state: Words, threshold: int, num: int, den: int, out: NDArray[np.bool_]) -> None:
    """Fill `out` with exact comparisons of Laplace noise and a threshold."""
    for i in range(out.size):
        out[i] = laplace_at_least(state, threshold, num, den)
