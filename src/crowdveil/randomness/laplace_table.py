"""Many exact discrete Laplace draws of one public scale, by table lookup instead of many coin flips.

Inverse-transform sampling: a magnitude is at least k if a uniform number lies below the tail probability of
k. The table holds the first 32 bits of each tail probability. A uniform number whose first 32 bits equal none
of them is decided; for the others, one in a million or fewer, further bits are drawn and compared with
further bits of the probability until they differ. So the draws follow the discrete Laplace law exactly.

A magnitude beyond the end of the table is continued by a new lookup from there: the geometric tail is
memoryless.

Notation: q = exp(-den/num) for a scale of num/den. A size (magnitude) is at least k >= 1 with probability
2 q^k / (1 + q); given that it lies beyond the table, the excess is at least k with probability q^k. R is the
number of sizes in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np

from crowdveil.arrays import Codes, Ints, frozen
from crowdveil.compiled import compiled, inlined
from crowdveil.errors import ParameterError
from crowdveil.randomness.chacha import Words, next32
from crowdveil.randomness.samplers import INTEGER_LIMIT, bernoulli_exp

WORD = 32
SCALES_WITHIN = 16  # the table covers sizes up to this many scales ...
MOST_SIZES = 4096  # ... and at most this many sizes
LARGEST_SCALE = 2 * MOST_SIZES  # so that a draw takes only a few lookups beyond the table
TABLES_KEPT = 64
_GUIDE_BITS = 10
_REST = np.uint32(WORD - _GUIDE_BITS)
_DIGITS = 40  # decimal digits computed beyond those that the bits need
_LOST_DIGITS = 20  # a bound on digits lost to rounding: at most 16 in an exponent, 4 in 4096 products


def first_bits(scale: Fraction, size: int, bits: int, *, beyond: bool) -> int:
    """The first `bits` bits, as an integer, of the probability of at least `size`, or of such an excess.

    The probability is irrational, so narrow enough bounds around it begin with the same bits.
    """
    digits = _DIGITS
    while (leading := _rounded_both_ways(scale, range(size, size + 1), bits, digits, beyond)[0]) is None:
        digits += _DIGITS
    return leading


def _rounded_both_ways(
    scale: Fraction, sizes: range, bits: int, digits: int, beyond: bool
) -> list[int | None]:
    """As `first_bits` for each of the sizes, with `digits` spare digits; None where more are needed."""
    with localcontext(prec=ceil(0.30103 * bits) + digits) as context:
        # decimal rounds exp correctly, so the only error is the rounding of its argument.
        step = Decimal(scale.denominator) / scale.numerator
        factor = (-step).exp()
        chance = 2**bits * (-sizes[0] * step).exp() / (1 if beyond else (1 + factor) / 2)
        lost = Decimal(10) ** (_LOST_DIGITS - context.prec)
        leading: list[int | None] = []
        for _ in sizes:
            low, high = int(chance - chance * lost), int(chance + chance * lost)
            leading.append(low if low == high else None)
            chance *= factor
    return leading


@dataclass(frozen=True, eq=False)
class LaplaceTable:
    """A table for exact discrete Laplace draws of one scale."""

    scale: Fraction
    chances: Words  # (2, R): first bits of the probabilities of at least 1, 2, ...; row 1 is for the excess
    guide: Codes  # (2, 2^10): number of probabilities above all numbers that begin with these ten bits

    @classmethod
    def of(cls, scale: Fraction) -> LaplaceTable:
        """The table of a scale, from a cache of recent tables."""
        if not 0 < scale <= LARGEST_SCALE or scale.denominator >= INTEGER_LIMIT:
            raise ParameterError(f"a table is for scales up to {LARGEST_SCALE}")
        return _table(scale)

    def fill(self, state: Words, out: Ints) -> None:
        """Fill `out` with draws: first all sizes, then all signs."""
        place = 0
        while place < out.size:
            place, row, number = fill_sizes(state, self.chances, self.guide, place, out)
            if place < out.size:
                out[place] += self.settled(state, row, int(number))
                place += 1
        fill_signs(state, out)

    def settled(self, state: Words, row: int, number: int) -> int:
        """The size for a uniform number whose first 32 bits are `number`; more bits are drawn as needed."""
        size, bits = int((self.chances[row] > number).sum()), WORD
        while size < self.chances.shape[1]:
            while (chance := first_bits(self.scale, size + 1, bits, beyond=row == 1)) == number:
                number, bits = number << WORD | int(word(state)), bits + WORD
            if number > chance:
                return size
            size += 1
        while bernoulli_exp(state, self.scale.denominator, self.scale.numerator):
            size += 1
        return size


@lru_cache(TABLES_KEPT)
def _table(scale: Fraction) -> LaplaceTable:
    sizes = range(1, min(MOST_SIZES, ceil(SCALES_WITHIN * scale)) + 1)
    chances, guide = np.empty((2, len(sizes)), dtype=np.uint32), np.empty((2, 1 << _GUIDE_BITS), np.int32)
    ends = np.arange(1, (1 << _GUIDE_BITS) + 1, dtype=np.int64) * (1 << int(_REST)) - 1
    for row, beyond in enumerate((False, True)):
        leading = _rounded_both_ways(scale, sizes, WORD, _DIGITS, beyond)
        chances[row] = [
            first_bits(scale, size, WORD, beyond=beyond) if bits is None else bits
            for size, bits in zip(sizes, leading, strict=True)
        ]
        guide[row] = len(sizes) - np.searchsorted(chances[row][::-1], ends, side="right")
    return LaplaceTable(scale, frozen(chances), frozen(guide))


@compiled
def word(state: Words) -> np.uint32:
    """32 random bits."""
    return next32(state)


@inlined
def _looked_up(number: np.uint32, chances: Words, guide: Codes) -> int:
    """Number of probabilities above a number that begins with these bits; -1 if more bits are needed."""
    size = np.int64(guide[number >> _REST])
    while size < chances.size and number < chances[size]:
        size += 1
    if size < chances.size and number == chances[size]:
        return np.int64(-1)  # type: ignore[return-value]
    return size  # type: ignore[return-value]


@compiled
def fill_sizes(
    state: Words, chances: Words, guide: Codes, first: int, out: Ints
) -> tuple[int, int, np.uint32]:
    """Fill `out` with sizes from index `first` on, until the end or until a draw needs more than 32 bits.

    Returns the index of that draw, the row of the table and the 32 bits; `out` holds the part of its size
    from earlier lookups.
    """
    sizes = chances.shape[1]
    for i in range(first, out.size):
        out[i] = 0
        row = 0
        size = sizes
        while size == sizes:
            number = next32(state)
            size = _looked_up(number, chances[row], guide[row])
            if size < 0:
                return i, row, number
            out[i] += size
            row = 1
    return out.size, 0, np.uint32(0)


@compiled
def fill_signs(state: Words, out: Ints) -> None:
    """Flip the sign of each number with probability 1/2."""
    coins = np.uint32(0)
    for i in range(out.size):
        if i % WORD == 0:
            coins = next32(state)
        out[i] *= 1 - 2 * np.int64(coins & np.uint32(1))
        coins >>= np.uint32(1)
