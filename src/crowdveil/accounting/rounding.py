"""Numbers that are never rounded down: what is promised may look weaker than it is, never stronger."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import exp, inf, isinf, nextafter

from crowdveil.errors import ParameterError

ROUNDING = 2.0**-50  # eight units in the last place of 1
TINY = 2.0**-1072  # above what is lost where numbers are too small for all their digits


def slack(steps: float) -> float:
    """A relative error above what `steps` roundings of numbers around 1 can add up to."""
    return ROUNDING * (1.0 + steps)


def exp_up(exponent: float, steps: float) -> float:
    """exp(exponent), not rounded down; `steps` is the size of the terms that the exponent was made of."""
    raised = exponent + slack(1.0 + steps + abs(exponent))
    return exp(raised) + TINY if raised <= 700 else inf


def up(exact: Fraction) -> float:
    """The nearest float that is not below; refused if there is none."""
    try:
        near = float(exact)
    except OverflowError:
        near = inf
    found = near if isinf(near) or Fraction(near) >= exact else nextafter(near, inf)
    if isinf(found):
        raise ParameterError("these costs come to more than a number can hold")
    return found


def up_to(exact: Fraction, asked: float) -> float:
    """The nearest float that is not below, but for the one that was asked for if its digits say no less.

    0.7 is a float slightly below seven tenths; what costs seven tenths costs what was asked for.
    """
    return min(up(exact), float(asked)) if exact <= Fraction(repr(float(asked))) else up(exact)


def sum_up(numbers: Iterable[float]) -> float:
    """The sum, exact and then not rounded down."""
    return up(sum((Fraction(number) for number in numbers), Fraction(0)))
