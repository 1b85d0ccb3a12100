"""Bits that are 1 with an exact probability, a multiple of 2^-64, and the epsilon that this realises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import inf, isfinite, nextafter

import numpy as np

from crowdveil.errors import ParameterError
from crowdveil.randomness.response import LARGEST_EPSILON

WHOLE = 2**64
MOST_BITS_IN_A_LAW = 12
_DIGITS = 60


@dataclass(frozen=True)
class BitChance:
    """The probability weight/2^64, at most 1/2."""

    weight: int

    def __post_init__(self) -> None:
        if not 0 < self.weight <= WHOLE // 2:
            raise ParameterError("a bit's chance must lie above 0 and be at most 1/2")

    @classmethod
    def of(cls, epsilon: float, differing: int = 1) -> BitChance:
        """Least probability c with differing * log((1 - c)/c) <= epsilon."""
        if not (isfinite(epsilon) and epsilon > 0):
            raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")
        with localcontext(prec=_DIGITS, rounding=ROUND_FLOOR):
            each = min(Decimal(float(epsilon)) / differing, Decimal(LARGEST_EPSILON))
            below_e = 1 - Decimal(10) ** (10 - _DIGITS)  # by more than rounding can add
            weight = (WHOLE / (each.exp() * below_e + 1)).to_integral_value(ROUND_CEILING)
        return cls(min(int(weight), WHOLE // 2))

    @property
    def chance(self) -> Fraction:
        """The probability, exactly as it is drawn."""
        return Fraction(self.weight, WHOLE)

    @property
    def drawn(self) -> np.uint64:
        """The weight as the compiled loops take it."""
        return np.uint64(self.weight)

    def epsilon(self, differing: int = 1) -> float:
        """differing * log((1 - c)/c), rounded up in its last bit."""
        with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
            exact = differing * (Decimal(WHOLE - self.weight) / Decimal(self.weight)).ln()
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else nextafter(nearest, inf)


def law_of_bits(chances: Sequence[Fraction]) -> list[Fraction]:
    """The probability of every string of independent bits; bit k of a string is 1 with chances[k]."""
    if len(chances) > MOST_BITS_IN_A_LAW:
        raise ParameterError(f"a law is for at most {MOST_BITS_IN_A_LAW} bits, not {len(chances)}")
    law = [Fraction(1)]
    for chance in chances:
        law = [other * (1 - chance) for other in law] + [other * chance for other in law]
    return law
