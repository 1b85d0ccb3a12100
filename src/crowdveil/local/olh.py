"""OLH: a random hash of the code to a few values, then randomized response on these: short reports.

A device draws a seed of 32 bits, hashes its code under it to one of g = round(e^epsilon) + 1 values, and
sends the seed and randomized response of the value. A report supports all cells that its seed hashes to its
value: p = keep/W of the response on g values, q = 1/g. The seed is drawn without looking at the code, and
given the seed no value is more than e^epsilon times as likely from one code as from another.

The hash uses 32-bit whole numbers only, so that a browser computes the same (>>> 0 after each line):

    mix(x):  x ^= x >>> 17;  x = Math.imul(x, 0xed5ad4bb);  x ^= x >>> 11;  x = Math.imul(x, 0xac4c1b51)
             x ^= x >>> 15;  x = Math.imul(x, 0x31848bab);  x ^= x >>> 14
    value:   h = mix(seed ^ mix(code + 0x9e3779b9));  Math.floor(h * g / 4294967296)

`mix` is one to one, so over all seeds each code's h is exactly uniform. That q is 1/g takes more: that two
codes share a value for one seed in g. Of a fixed family of 2^32 functions this is true but for about 1e-5,
the spread of a count over 2^32 random functions; privacy does not depend on it, only the lack of bias does.

References: Wang, Blocki, Li and Jha, *Locally Differentially Private Protocols for Frequency Estimation*,
2017; mix is triple32 of Wellons, *hash-prospector*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Ints, frozen
from crowdveil.errors import InputError
from crowdveil.kernels import oracles as loops
from crowdveil.local import record_reports as shared
from crowdveil.local.oracle import Oracle
from crowdveil.randomness import Randomness, Words
from crowdveil.randomness.response import LARGEST_EPSILON, Response

SEEDS = 2**32
MOST_VALUES = 2**16


@dataclass(frozen=True)
class OLH(Oracle):
    """Parameters: epsilon for a record (asked for; then the one realised, never above) and cells."""

    method: ClassVar[str] = "olh"

    def realised(self) -> float:
        """The epsilon of what is drawn exactly, where this one is asked for."""
        Response.of(2, self.epsilon)  # refuses what is no epsilon
        return Response.of(self.values, self.epsilon).epsilon

    @property
    def values(self) -> int:
        """g: how many values codes are hashed to."""
        return min(max(2, round(exp(min(self.epsilon, LARGEST_EPSILON))) + 1), MOST_VALUES)

    @cached_property
    def response(self) -> Response:
        """The weights of values."""
        return Response.of(self.values, self.epsilon)

    @cached_property
    def keys(self) -> Words:
        """(cells,): what of the hash does not depend on the seed."""
        keys = np.empty(self.cells, dtype=np.uint32)
        loops.fill_keys(keys)
        frozen(keys)
        return keys

    @property
    def keep(self) -> float:
        """p: the chance that a report supports the true cell."""
        return float(self.response.keep_chance)

    @property
    def other(self) -> float:
        """q: the chance that it supports any given other cell."""
        return 1.0 / self.values

    def hashed(self, seeds: NDArray[Any], code: int) -> Ints:
        """The value that each seed gives to a code."""
        out = np.empty(np.size(seeds), dtype=np.int64)
        loops.fill_values(np.asarray(seeds, dtype=np.uint32), self.keys[code], self.values, out)
        return out

    def perturb(self, codes: Ints, *, rng: Randomness | None = None) -> Words:
        """(n, 2): a seed and a value for each record."""
        law, out = self.response, np.empty((np.size(codes), 2), dtype=np.uint32)

        def fill(state: Words, block: Ints, rows: Words) -> None:
            loops.fill_olh(state, block, self.keys, law.symbols, law.keep, law.other, rows)

        return shared.perturbed(codes, self.cells, out, fill, rng=rng, method=self.method)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell."""
        told = shared.whole_numbers(reports, "reports")
        if told.ndim != 2 or told.shape[1] != 2:
            raise InputError("reports must be rows of a seed and a value")
        seeds = shared.in_bounds(told[:, 0], SEEDS, "a report's seed has more than 32 bits")
        values = shared.in_bounds(told[:, 1], self.values, "a report's value is none of the oracle's")
        edges = -(-(np.arange(self.values + 1) << 32) // self.values)  # of the hashes of each value
        parts = (seeds, edges[values], np.diff(edges)[values])
        sides = [part.astype(np.uint32) for part in parts]

        def count(block: slice, totals: Ints) -> None:
            loops.count_hashed(*(side[block] for side in sides), self.keys, totals)

        return shared.counted(len(told), self.cells, count)

    def exact_law(self, seed: int) -> list[list[Fraction]]:
        """The chance of every value for every code, given the seed: exactly what is drawn."""
        keep, other = self.response.keep_chance, self.response.other_chance
        true = [int(self.hashed(np.array([seed]), code)[0]) for code in range(self.cells)]
        return [[keep if told == value else other for told in range(self.values)] for value in true]
