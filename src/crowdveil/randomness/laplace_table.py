"""Many exact discrete Laplace draws of one public scale: a look into a table in place of many coin flips.

A draw's size is at least k if a uniform number lies below the chance of that. The uniform number has as many
bits as it takes: the table holds the first 32 bits of each chance, and a draw whose 32 bits equal none of
these is decided. For the others, one in a million or fewer, further bits are drawn and compared with further
bits of the chance until they differ. So the law is the law on paper, to the last bit.

A size beyond the table begins anew at its end, as coin flips without a memory do.

Notation: q = exp(-den/num) for a scale of num/den. A size is at least k >= 1 with chance 2 q^k / (1 + q), and
what is left of it beyond the table is at least k with chance q^k. R sizes are in the table.
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
SCALES_WITHIN = 16  # the table ends here ...
MOST_SIZES = 4096  # ... or here
LARGEST_SCALE = 2 * MOST_SIZES  # what lies beyond begins anew two or three times, not more often
TABLES_KEPT = 64
_GUIDE_BITS = 10
_REST = np.uint32(WORD - _GUIDE_BITS)
_DIGITS = 40  # beyond those of the bits
_LOST_DIGITS = 20  # rounding takes fewer: an exponent has at most 16 before the point, 4096 products 4


def first_bits(scale: Fraction, size: int, bits: int, *, beyond: bool) -> int:
    """The first bits of the chance that a size, or one `beyond` the table, is at least this: a whole number.

    The chance is irrational: bounds around it that are narrow enough begin with the same bits.
    """
    digits = _DIGITS
    while (found := _rounded_both_ways(scale, range(size, size + 1), bits, digits, beyond)[0]) is None:
        digits += _DIGITS
    return found


def _rounded_both_ways(
    scale: Fraction, sizes: range, bits: int, digits: int, beyond: bool
) -> list[int | None]:
    """The first bits for each of these sizes, with so many digits to spare; None where these do not do."""
    with localcontext(prec=ceil(0.30103 * bits) + digits) as context:
        # decimal rounds exp correctly, so that what is lost is the rounding of its argument.
        step = Decimal(scale.denominator) / scale.numerator
        factor = (-step).exp()
        chance = 2**bits * (-sizes[0] * step).exp() / (1 if beyond else (1 + factor) / 2)
        lost = Decimal(10) ** (_LOST_DIGITS - context.prec)
        found: list[int | None] = []
        for _ in sizes:
            low, high = int(chance - chance * lost), int(chance + chance * lost)
            found.append(low if low == high else None)
            chance *= factor
    return found


@dataclass(frozen=True, eq=False)
class LaplaceTable:
    """Exact draws of one scale."""

    scale: Fraction
    chances: Words  # (2, R): first bits of the chances of 1, 2, ... or more; the second row is for beyond
    guide: Codes  # (2, 2^10): how many chances lie above all numbers that begin with these ten bits

    @classmethod
    def of(cls, scale: Fraction) -> LaplaceTable:
        """The table of a scale; it is kept for the next time."""
        if not 0 < scale <= LARGEST_SCALE or scale.denominator >= INTEGER_LIMIT:
            raise ParameterError(f"a table is for scales up to {LARGEST_SCALE}")
        return _table(scale)

    def fill(self, state: Words, out: Ints) -> None:
        """Fill `out` with draws: all sizes, then all signs."""
        place = 0
        while place < out.size:
            place, row, begun = fill_sizes(state, self.chances, self.guide, place, out)
            if place < out.size:
                out[place] += self.settled(state, row, int(begun))
                place += 1
        fill_signs(state, out)

    def settled(self, state: Words, row: int, number: int) -> int:
        """The size for a uniform number that begins with these 32 bits, however many more it takes."""
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
    last = np.arange(1, (1 << _GUIDE_BITS) + 1, dtype=np.int64) * (1 << int(_REST)) - 1
    for row, beyond in enumerate((False, True)):
        found = _rounded_both_ways(scale, sizes, WORD, _DIGITS, beyond)
        chances[row] = [
            first_bits(scale, size, WORD, beyond=beyond) if bits is None else bits
            for size, bits in zip(sizes, found, strict=True)
        ]
        guide[row] = len(sizes) - np.searchsorted(chances[row][::-1], last, side="right")
    return LaplaceTable(scale, frozen(chances), frozen(guide))


@compiled
def word(state: Words) -> np.uint32:
    """32 random bits."""
    return next32(state)


@inlined
def _looked_up(number: np.uint32, chances: Words, guide: Codes) -> int:
    """How many chances lie above a number that begins with these bits; -1 if the bits do not tell."""
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
    """Fill `out` with sizes from a place on, to its end or up to a size that the table does not tell.

    Gives that place, the row of the table, and the bits that were drawn; `out` has what came before these.
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
    """Turn each number's sign or not, by a fair coin."""
    coins = np.uint32(0)
    for i in range(out.size):
        if i % WORD == 0:
            coins = next32(state)
        out[i] *= 1 - 2 * np.int64(coins & np.uint32(1))
        coins >>= np.uint32(1)
