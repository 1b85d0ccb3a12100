"""What all frequency oracles share: codes that are checked, and blocks of records.

Every person holds one code, a cell of a public table, and sends one report. Records are cut into blocks of
one size, each with a stream of its own, so that reports do not depend on the number of threads. To run all
devices here is a simulation: whoever holds all codes has no need of it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.engines import cores
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.randomness import Randomness, Words, secure
from crowdveil.randomness.chacha import STATE_WORDS, start

MOST_CELLS = 10**6
RECORDS_IN_A_BLOCK = 2**15
ASSUMPTIONS = (
    "the cells were declared, not read off the data",
    "each person sent one report: whatever else is sent about the record adds up",
    "what a device was asked was chosen without looking at its record",
)

Fill = Callable[[Words, Ints, NDArray[Any]], None]
"""Called with a block's stream and codes; fills the block's reports."""


# --- parameters --------------------------------------------------------------------------------------------


def check_cells(cells: int) -> None:
    """Refuse a table that is no table, or too large."""
    if not isinstance(cells, int) or isinstance(cells, bool) or not 2 <= cells <= MOST_CELLS:
        raise ParameterError(f"cells must be a whole number from 2 to {MOST_CELLS:,}, not {cells}")


def check_realised(realised: float, asked: float) -> float:
    """Refuse an epsilon so small that reports would tell nothing."""
    if realised <= 0:
        raise ParameterError(f"epsilon {asked} is too small to be drawn")
    return realised


def record_promise(epsilon: float) -> Guarantee:
    """Pure epsilon for a record, with nobody to trust."""
    return Guarantee(epsilon, 0.0, "record", "replace-one", "local", ASSUMPTIONS)


# --- devices -----------------------------------------------------------------------------------------------


def perturbed(
    codes: Ints,
    cells: int,
    out: NDArray[Any],
    fill: Fill,
    *,
    rng: Randomness | None,
    method: str,
) -> NDArray[Any]:
    """`out`, filled with the reports of all records."""
    checked = _checked_codes(codes, cells)
    blocks = _blocks(len(checked))
    key, nonces = (rng or secure()).streams(range(len(blocks)), purpose=method)

    def draw(number: int) -> None:
        state, block = np.zeros(STATE_WORDS, dtype=np.uint32), blocks[number]
        start(state, key, nonces[number])
        fill(state, checked[block], out[block])

    _on_threads(draw, len(blocks))
    return out


def _checked_codes(codes: Ints, cells: int) -> Ints:
    whole = whole_numbers(codes, "codes")
    if whole.ndim != 1:
        raise InputError("codes must be one for each record, in one row")
    return in_bounds(whole, cells, "a code lies outside the table")


# --- the server --------------------------------------------------------------------------------------------


def counted(many: int, cells: int, count: Callable[[slice, Ints], None]) -> Ints:
    """What `count(block, totals)` adds up for each cell, over all blocks of so many reports."""
    blocks = _blocks(many)
    parts = np.zeros((max(1, cores()), cells), dtype=np.int64)

    def add(worker: int) -> None:
        for block in blocks[worker :: len(parts)]:
            count(block, parts[worker])

    _on_threads(add, min(len(parts), len(blocks)))
    totals: Ints = parts.sum(axis=0)
    return totals


def whole_numbers(numbers: NDArray[Any], what: str) -> NDArray[Any]:
    """An array of whole numbers, or of nothing."""
    found = np.asarray(numbers)
    if found.size and found.dtype.kind not in "iu":
        raise InputError(f"{what} must be whole numbers")
    return found


def in_bounds(numbers: NDArray[Any], limit: int, otherwise: str) -> Ints:
    """The numbers, which lie in 0 ... limit - 1."""
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < limit):
        raise InputError(otherwise)
    return np.ascontiguousarray(numbers, dtype=np.int64)


def packed_bits(rows: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Reports of so many bits, eight in a byte; those that fill up the last byte are 0."""
    found = np.asarray(rows)
    if found.dtype != np.uint8 or found.ndim != 2 or found.shape[1] != -(-bits // 8):
        raise InputError(f"reports must be rows of {-(-bits // 8)} bytes")
    if bits % 8 and (found[:, -1] >> (bits % 8)).any():
        raise InputError("a report has a bit beyond the last one")
    return np.ascontiguousarray(found)


def unbiased(support: Ints, n: int, keep: float, other: float) -> Floats:
    """What share of n records is meant, from how many reports support it: (support/n - q)/(p - q)."""
    check_reports(n)
    shares: Floats = (np.asarray(support) / n - other) / (keep - other)
    return shares


def check_reports(n: int) -> None:
    """Refuse to tell anything from no reports."""
    if n < 1:
        raise ParameterError(f"there must be at least one report, not {n}")


# --- threads -----------------------------------------------------------------------------------------------


def _blocks(many: int) -> list[slice]:
    size = RECORDS_IN_A_BLOCK
    return [slice(first, min(first + size, many)) for first in range(0, many, size)]


def _on_threads(work: Callable[[int], None], many: int) -> None:
    if many <= 1:
        for number in range(many):
            work(number)
        return
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, range(many)))  # takes what went wrong out of the threads
