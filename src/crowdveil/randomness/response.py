"""K-ary randomized response (kRR) with integer weights: exact, with the epsilon that it realises.

The true symbol has weight `keep`, each of the K - 1 others weight `other`; the report is drawn with an exact
uniform integer. The largest ratio of an output's probabilities under two inputs is keep/other, so each
report has pure local epsilon log(keep/other) without a trusted collector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.compiled import compiled
from crowdveil.errors import ParameterError
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import INTEGER_LIMIT, below

TOTAL_LIMIT = 2**62
FINEST = 2**60  # the largest weight tried for `other`: the larger it is, the finer the ratio keep/other
LARGEST_EPSILON = 42  # e^42 < 2^61; a larger epsilon is replaced by this one
_DIGITS = 60


@dataclass(frozen=True)
class Response:
    """Weights of randomized response on codes 0 ... symbols - 1."""

    symbols: int
    keep: int
    other: int

    def __post_init__(self) -> None:
        if not 2 <= self.symbols < INTEGER_LIMIT:
            raise ParameterError(f"randomized response needs at least 2 symbols, not {self.symbols}")
        if not 0 < self.other <= self.keep or self.total >= TOTAL_LIMIT:
            raise ParameterError("randomized response needs weights 0 < other <= keep that sum below 2^62")

    @classmethod
    def of(cls, symbols: int, epsilon: float) -> Response:
        """The weights whose epsilon is as close to `epsilon` as possible, and never above it."""
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")
        if not 2 <= symbols < INTEGER_LIMIT:
            raise ParameterError(f"randomized response needs at least 2 symbols, not {symbols}")
        with localcontext(prec=_DIGITS, rounding=ROUND_FLOOR):
            below_e = 1 - Decimal(10) ** (10 - _DIGITS)  # removes more than rounding can have added
            odds = Decimal(min(float(epsilon), LARGEST_EPSILON)).exp() * below_e
            other = FINEST
            while int(odds * other) + (symbols - 1) * other >= TOTAL_LIMIT:
                other //= 2
            return cls(symbols, max(int(odds * other), other), other)

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return self.keep + (self.symbols - 1) * self.other

    @property
    def epsilon(self) -> float:
        """The realised epsilon, log(keep/other), rounded up to a float."""
        with localcontext(prec=_DIGITS):
            exact = (Decimal(self.keep) / Decimal(self.other)).ln()
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)

    @property
    def keep_chance(self) -> Fraction:
        """Probability that the true symbol is reported."""
        return Fraction(self.keep, self.total)

    @property
    def other_chance(self) -> Fraction:
        """Probability of each other symbol."""
        return Fraction(self.other, self.total)

    def perturb(self, codes: Ints, *, state: Words) -> Ints:
        """A randomized report of each code, with bits from a ChaCha20 state."""
        codes = np.asarray(codes, dtype=np.int64)
        if codes.size and not (codes.min() >= 0 and codes.max() < self.symbols):
            raise ParameterError(f"a code lies outside 0 ... {self.symbols - 1}")
        out = np.empty_like(codes)
        fill_randomized_response(state, codes, self.symbols, self.keep, self.other, out)
        return out


@compiled
def randomized_response(state: Words, code: int, symbols: int, keep: int, other: int) -> int:
    """Exact: draws the code with weight `keep` and each other symbol with weight `other`."""
    drawn = below(state, keep + (symbols - 1) * other)
    if drawn < keep:
        return code
    place = (drawn - keep) // other
    return place + 1 if place >= code else place


@compiled
def fill_randomized_response(
    state: Words, codes: Ints, symbols: int, keep: int, other: int, out: Ints
) -> None:
    """Fill `out` with randomized codes."""
    for i in range(codes.size):
        out[i] = randomized_response(state, codes[i], symbols, keep, other)
