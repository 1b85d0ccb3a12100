"""Bloom filters: a code sets a few of many bits, and each bit is flipped at random (RAPPOR).

Hash functions with a public seed map every code to `hashes` of the `bits`; some may coincide. Each bit is
flipped independently with probability f. Two codes differ in at most 2 hashes bits, so epsilon is
2 hashes log((1 - f)/f); in a small table all pairs of codes may be closer than that. kRR, OUE and OLH are
more precise at the same epsilon; this one is here because LoPub is built on it.

A report has bits/8 bytes; bit k of byte b is number 8 b + k. Hash j gives a code the bit
floor(h * bits / 2^32), h the hash of `olh` of the code, whose seed is the hash of j under the public seed.

References: Erlingsson, Pihur and Korolova, *RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal
Response*, 2014, doi:10.1145/2660267.2660348; Ren et al., *LoPub: High-Dimensional Crowdsourced Data
Publication with Local Differential Privacy*, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Flags, Floats, Ints, frozen
from crowdveil.errors import ParameterError
from crowdveil.kernels import oracles as loops
from crowdveil.kernels.products import product
from crowdveil.local import record_reports as shared
from crowdveil.local.bit_chance import BitChance, law_of_bits
from crowdveil.local.oracle import Oracle
from crowdveil.randomness import Streams

MOST_BITS = 4096
SEEDS = 2**32


@dataclass(frozen=True)
class Bloom(Oracle):
    """Bloom filters with flipped bits.

    Parameters
    ----------
    epsilon:
        For one record. Afterwards the field holds the epsilon that is realised, never above the one given.
    cells:
        Size of the public table.
    bits:
        Length of a report, a multiple of 8.
    hashes:
        How many bits a code sets.
    seed:
        Public seed of the hash functions.

    """

    epsilon: float
    cells: int
    bits: int = 64
    hashes: int = 2
    seed: int = 0

    name: ClassVar[str] = "bloom"

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
    def report_bits(self) -> int:
        """The length of the filter."""
        return self.bits

    @property
    def row(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """Packed bits."""
        return (self.bits // 8,), np.uint8

    @property
    def differing(self) -> int:
        """The largest number of bits in which two codes can differ."""
        return 2 * self.hashes

    @cached_property
    def flips(self) -> BitChance:
        """f: the probability that a bit is flipped."""
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
        """(bits, cells): the probability that a report has a bit, for each code."""
        flip = float(self.flips.chance)
        chances: Floats = np.where(self.patterns.T, 1 - flip, flip)
        frozen(chances)
        return chances

    def fill(self, streams: Sequence[Streams], number: int, codes: Ints, out: NDArray[Any]) -> None:
        """A string of bits for each record."""
        state = shared.begun(streams[0], number)
        loops.fill_flipped(state, codes, self._packed_patterns, self.flips.drawn, out)

    @cached_property
    def _packed_patterns(self) -> NDArray[np.uint8]:
        """(cells, bits/8): the bits that each code sets, eight to a byte."""
        return np.packbits(self.patterns, axis=1, bitorder="little")

    @property
    def counters(self) -> int:
        """A count for each bit."""
        return self.bits

    def weights(self) -> dict[str, Any]:
        """The probability that a bit is flipped, in units of 2^-64."""
        return {"bits": self.bits, "flips": str(self.flips.weight)}

    def payload(self, report: NDArray[Any]) -> str:
        """The packed bits in base64."""
        return shared.text_of_bits(report)

    def report_of(self, payload: Any) -> NDArray[Any]:
        """The packed bits, as one row of reports."""
        return shared.bits_of_text(payload, self.bits)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(bits,): how many reports have each bit."""
        rows = shared.packed_bits(reports, self.bits)
        return shared.counted(
            len(rows), self.bits, lambda block, totals: loops.count_bits(rows[block], totals)
        )

    def frequencies(self, support: Ints, n: int) -> Floats:
        """(cells,): the shares that fit the bit counts of n reports best, by least squares.

        Unbiased if the codes' bit patterns are linearly independent; if not, as with more cells than bits,
        the solution of least norm.
        """
        flip = float(self.flips.chance)
        set_bits = shared.unbiased(support, n, 1 - flip, flip)
        shares: Floats = product(self._inverse, np.append(set_bits, 1.0))
        return shares

    def variance(self, n: int) -> Floats:
        """(cells,): the variance of the frequencies of n fixed records, whatever their shares.

        Bits are flipped independently with one probability, and frequencies are linear in the bits.
        """
        shared.check_reports(n)
        flip = float(self.flips.chance)
        of_a_bit = flip * (1 - flip) / (n * (1 - 2 * flip) ** 2)
        variances: Floats = of_a_bit * np.square(self._inverse[:, :-1]).sum(axis=1)
        return variances

    def rare_variance(self, n: int) -> float:
        """The variance of a frequency, averaged over cells; it does not depend on shares."""
        return float(self.variance(n).mean())

    @cached_property
    def _inverse(self) -> Floats:
        """(cells, bits + 1): maps the shares of records that set each bit, and 1, to the shares of cells."""
        inverse: Floats = np.linalg.pinv(np.vstack([self.patterns.T, np.ones(self.cells)]))
        return inverse

    def exact_law(self) -> list[list[Fraction]]:
        """The probability of every string of bits for every code, for few bits: exactly what is drawn."""
        flip = self.flips.chance
        return [law_of_bits([1 - flip if bit else flip for bit in row]) for row in self.patterns]
