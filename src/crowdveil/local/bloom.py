"""Bloom: a code sets a few of many bits, and every bit may be flipped (permanent randomized response).

Hash functions of a public seed give every code `hashes` bits of `bits`, some of them perhaps the same. Each
of the bits is flipped with one chance f, independently. Two codes differ in at most 2 hashes bits, so
epsilon = 2 hashes log((1 - f)/f), which the codes of a small table may not all attain. That is a high price
for short reports of a large table: kRR, OUE and OLH tell more at the same epsilon. It is here because LoPub
is built on it.

A report has bits/8 bytes; bit k of byte b is number 8 b + k. Hash j gives a code the bit
floor(h * bits / 2^32), h the hash of `olh` of the code, whose seed is the hash of j under the public seed.

References: Erlingsson, Pihur and Korolova, *RAPPOR*, 2014; Ren et al., *LoPub*, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Flags, Floats, Ints, frozen
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.local.bit_chance import BitChance, law_of_bits
from crowdveil.randomness import Randomness, Words

MOST_BITS = 4096
SEEDS = 2**32


@dataclass(frozen=True)
class Bloom:
    """Parameters: epsilon for a record, cells, bits of a report, bits that a code sets, and a public seed.

    `epsilon` is the one asked for, and then the one realised, never above.
    """

    epsilon: float
    cells: int
    bits: int = 64
    hashes: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        shared.check_cells(self.cells)
        if not isinstance(self.bits, int) or not 8 <= self.bits <= MOST_BITS or self.bits % 8:
            raise ParameterError(f"bits must be a multiple of 8 up to {MOST_BITS}, not {self.bits}")
        if not isinstance(self.hashes, int) or not 1 <= self.hashes <= self.bits // 2:
            raise ParameterError(f"hashes must be at least 1 and at most half the bits, not {self.hashes}")
        if not isinstance(self.seed, int) or not 0 <= self.seed < SEEDS:
            raise ParameterError(f"the seed must be a whole number from 0 to 2^32 - 1, not {self.seed}")
        realised = BitChance.of(self.epsilon, self.differing).epsilon(self.differing)
        object.__setattr__(self, "epsilon", shared.check_realised(realised, self.epsilon))

    @property
    def method(self) -> str:
        """The mechanism's name, which is also the purpose of its streams."""
        return "bloom"

    @property
    def differing(self) -> int:
        """In how many bits two codes can differ."""
        return 2 * self.hashes

    @cached_property
    def flips(self) -> BitChance:
        """f: the chance that a bit is flipped."""
        return BitChance.of(self.epsilon, self.differing)

    @cached_property
    def patterns(self) -> Flags:
        """(cells, bits): the bits that each code sets."""
        # The hash takes its seed and a code's key alike: one seed for many keys is one key for many seeds.
        keys = np.empty(max(self.cells, self.hashes), dtype=np.uint32)
        loops.fill_keys(keys)
        seeds, places = np.empty(self.hashes, dtype=np.int64), np.empty(self.cells, dtype=np.int64)
        loops.fill_values(keys[: self.hashes], np.uint32(self.seed), SEEDS, seeds)
        patterns = np.zeros((self.cells, self.bits), dtype=np.bool_)
        for seed in seeds:
            loops.fill_values(keys[: self.cells], np.uint32(seed), self.bits, places)
            patterns[np.arange(self.cells), places] = True
        frozen(patterns)
        return patterns

    @cached_property
    def expected_bits(self) -> Floats:
        """(bits, cells): the chance that a report of each code has each bit."""
        flip = float(self.flips.chance)
        chances: Floats = np.where(self.patterns.T, 1 - flip, flip)
        frozen(chances)
        return chances

    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> NDArray[np.uint8]:
        """(n, bits/8): a string of bits for each record."""
        out = np.empty((np.size(codes), self.bits // 8), dtype=np.uint8)
        patterns = np.packbits(self.patterns, axis=1, bitorder="little")

        def fill(state: Words, block: Ints, rows: NDArray[np.uint8]) -> None:
            loops.fill_flipped(state, block, patterns, self.flips.drawn, rows)

        return shared.perturbed(codes, self.cells, out, fill, rng=rng, method=self.method)

    def bit_counts(self, reports: NDArray[Any]) -> Ints:
        """(bits,): how many reports have each bit."""
        rows = shared.packed_bits(reports, self.bits)
        return shared.counted(
            len(rows), self.bits, lambda block, totals: loops.count_bits(rows[block], totals)
        )

    def frequencies(self, bit_counts: Ints, n: int) -> Floats:
        """(cells,): shares of cells that fit the counts of n reports best, by least squares.

        Unbiased if the codes' bits are linearly independent; if not, as with more cells than bits, the
        shortest of all solutions.
        """
        flip = float(self.flips.chance)
        set_bits = shared.unbiased(bit_counts, n, 1 - flip, flip)
        shares: Floats = self._inverse @ np.append(set_bits, 1.0)
        return shares

    def variance(self, n: int) -> Floats:
        """(cells,): of the frequencies of n fixed records, whatever their shares.

        Bits are flipped independently, all alike, and frequencies are sums of them.
        """
        shared.check_reports(n)
        flip = float(self.flips.chance)
        of_a_bit = flip * (1 - flip) / (n * (1 - 2 * flip) ** 2)
        found: Floats = of_a_bit * np.square(self._inverse[:, :-1]).sum(axis=1)
        return found

    @cached_property
    def _inverse(self) -> Floats:
        """(cells, bits + 1): shares of cells from shares of records that set bits, and from their sum, 1."""
        rows = np.vstack([self.patterns.T, np.ones(self.cells)])
        found: Floats = np.linalg.pinv(rows)
        return found

    def promise(self) -> Guarantee:
        """Pure epsilon for a record."""
        return shared.record_promise(self.epsilon)

    def exact_law(self) -> list[list[Fraction]]:
        """The chance of every string of bits for every code, of few bits: exactly what is drawn."""
        flip = self.flips.chance
        return [law_of_bits([1 - flip if bit else flip for bit in row]) for row in self.patterns]
