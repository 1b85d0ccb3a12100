"""Scales of noise that the exact samplers support."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1
from sys import float_info

from crowdveil.errors import ParameterError
from crowdveil.randomness.samplers import INTEGER_LIMIT


def at_least(scale: Fraction, *, refusal: str) -> Fraction:
    """`scale` or, if it has too many digits, a supported scale slightly above: more noise, never less.

    Raises an error with the message `refusal` if the scale is too large.
    """
    for digits in (20, 10, 0):
        if max(scale.numerator, scale.denominator) < INTEGER_LIMIT:
            return scale
        scale = Fraction(ceil(scale * 2**digits), 2**digits)
    if scale.numerator < INTEGER_LIMIT:
        return scale
    raise ParameterError(refusal)


def discrete_laplace_variance(scale: float) -> float:
    """Variance of discrete Laplace noise, 2 r / (1 - r)^2 with r = e^(-1/scale); above 0 at any scale."""
    ratio = exp(-1.0 / scale)
    return max(2.0 * ratio / expm1(-1.0 / scale) ** 2, float_info.min)
