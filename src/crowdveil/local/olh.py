"""OLH, optimized local hashing: randomized response on a random hash of the code. Reports are short.

A device draws a seed of 32 bits, hashes its code under it to one of g = round(e^epsilon) + 1 values, and
sends the seed and the randomized response of that value. A report supports all cells that its seed hashes
to its value: p = keep/W as for kRR on g values, q = 1/g. The seed is drawn without looking at the code, and
given the seed no value is more than e^epsilon times as likely from one code as from another.

The hash uses 32-bit whole numbers only, so that a browser computes the same (>>> 0 after each line):

    mix(x):  x ^= x >>> 17;  x = Math.imul(x, 0xed5ad4bb);  x ^= x >>> 11;  x = Math.imul(x, 0xac4c1b51)
             x ^= x >>> 15;  x = Math.imul(x, 0x31848bab);  x ^= x >>> 14
    value:   h = mix(seed ^ mix(code + 0x9e3779b9));  Math.floor(h * g / 4294967296)

`mix` is a bijection, so over all seeds each code's h is exactly uniform. q = 1/g also needs that two codes
collide for one seed in g. In this fixed family of 2^32 functions the share of such seeds is 1/g to within
about 1e-5, the standard deviation of a count over 2^32 random functions. Only the estimate's bias depends on
it; privacy does not.

References: Wang, Blocki, Li and Jha, *Locally Differentially Private Protocols for Frequency Estimation*,
2017; mix is triple32 of Wellons, *hash-prospector*.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from crowdveil.local.oracle import PureOracle
from crowdveil.local.wire import whole_numbers
from crowdveil.randomness import Streams, Words
from crowdveil.randomness.response import LARGEST_EPSILON, Response

SEEDS = 2**32
MOST_VALUES = 2**16


@dataclass(frozen=True)
class OLH(PureOracle):
    """Optimized local hashing. Parameters: see `PureOracle`."""

    name: ClassVar[str] = "olh"

    def realised(self) -> float:
        """The epsilon of the law that is drawn exactly when `self.epsilon` is asked for."""
        Response.of(2, self.epsilon)  # refuses an epsilon that is not above 0
        return Response.of(self.values, self.epsilon).epsilon

    @property
    def values(self) -> int:
        """g: the number of values that codes are hashed to."""
        return min(max(2, round(exp(min(self.epsilon, LARGEST_EPSILON))) + 1), MOST_VALUES)

    @cached_property
    def response(self) -> Response:
        """The integer weights of the g values."""
        return Response.of(self.values, self.epsilon)

    @cached_property
    def keys(self) -> Words:
        """(cells,): mix(code + 0x9e3779b9), the part of the hash that does not depend on the seed."""
        keys = np.empty(self.cells, dtype=np.uint32)
        loops.fill_keys(keys)
        frozen(keys)
        return keys

    @property
    def keep(self) -> float:
        """p: the probability that a report supports the true cell."""
        return float(self.response.keep_chance)

    @property
    def other(self) -> float:
        """q: the probability that a report supports any given other cell."""
        return 1.0 / self.values

    def hashed(self, seeds: NDArray[Any], code: int) -> Ints:
        """The value that each seed gives to a code."""
        out = np.empty(np.size(seeds), dtype=np.int64)
        loops.fill_values(np.asarray(seeds, dtype=np.uint32), self.keys[code], self.values, out)
        return out

    @property
    def report_bits(self) -> int:
        """A seed of 32 bits and a value."""
        return 32 + shared.bits_of_code(self.values)

    @property
    def row(self) -> tuple[tuple[int, ...], type[np.generic]]:
        """A seed and a value."""
        return (2,), np.uint32

    def fill(self, streams: Sequence[Streams], number: int, codes: Ints, out: NDArray[Any]) -> None:
        """A seed and a value for each record."""
        law, state = self.response, shared.begun(streams[0], number)
        loops.fill_olh(state, codes, self.keys, law.symbols, law.keep, law.other, out)

    def weights(self) -> dict[str, Any]:
        """The integer weights of the hashed value and of every other one."""
        return shared.response_weights(self.response)

    def payload(self, report: NDArray[Any]) -> list[int]:
        """The seed and the value."""
        return [int(report[0]), int(report[1])]

    def report_of(self, payload: Any) -> NDArray[Any]:
        """The seed and the value, as one row of reports."""
        return np.array(whole_numbers(payload, [(0, SEEDS - 1), (0, self.values - 1)]), dtype=np.uint32)

    def support(self, reports: NDArray[Any]) -> Ints:
        """(cells,): how many reports support each cell."""
        rows = shared.whole_numbers(reports, "reports")
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise InputError("reports must be rows of a seed and a value")
        seeds = shared.in_bounds(rows[:, 0], SEEDS, "a report's seed has more than 32 bits")
        values = shared.in_bounds(rows[:, 1], self.values, "a report's value is none of the oracle's")
        edges = -(
            -(np.arange(self.values + 1) << 32) // self.values
        )  # value v has the hashes edges[v] and on
        parts = (seeds, edges[values], np.diff(edges)[values])
        sides = [part.astype(np.uint32) for part in parts]

        def count(block: slice, totals: Ints) -> None:
            loops.count_hashed(*(side[block] for side in sides), self.keys, totals)

        return shared.counted(len(rows), self.cells, count)

    def exact_law(self, seed: int) -> list[list[Fraction]]:
        """The probability of every value for every code, given the seed: exactly what is drawn."""
        keep, other = self.response.keep_chance, self.response.other_chance
        hashes = [int(self.hashed(np.array([seed]), code)[0]) for code in range(self.cells)]
        return [[keep if value == hashed else other for value in range(self.values)] for hashed in hashes]
