"""Arithmetic that never rounds down: a stated guarantee may be weaker than the true one, never stronger."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import exp, inf, isinf, nextafter

from crowdveil.errors import ParameterError

ROUNDING = 2.0**-50  # eight units in the last place of 1
TINY = 2.0**-1072  # bounds the rounding error of subnormal numbers


def slack(steps: float) -> float:
    """A bound on the relative error of `steps` roundings of numbers around 1."""
    return ROUNDING * (1.0 + steps)


def exp_up(exponent: float, steps: float) -> float:
    """exp(exponent), not rounded down; `steps` is the sum of the magnitudes of the exponent's terms."""
    raised = exponent + slack(1.0 + steps + abs(exponent))
    return exp(raised) + TINY if raised <= 700 else inf


def up(exact: Fraction) -> float:
    """The smallest float that is not below `exact`; raises an error if there is none."""
    try:
        near = float(exact)
    except OverflowError:
        near = inf
    rounded = near if isinf(near) or Fraction(near) >= exact else nextafter(near, inf)
    if isinf(rounded):
        raise ParameterError("these costs come to more than a number can hold")
    return rounded


def up_to(exact: Fraction, asked: float) -> float:
    """As `up`, but at most `asked` if `exact` does not exceed the decimal digits of `asked`.

    The float 0.7 lies slightly below seven tenths; a cost of exactly seven tenths is reported as 0.7.
    """
    return min(up(exact), float(asked)) if exact <= Fraction(repr(float(asked))) else up(exact)


def sum_up(numbers: Iterable[float]) -> float:
    """The sum, computed exactly and then not rounded down."""
    return up(sum((Fraction(number) for number in numbers), Fraction(0)))
