"""What all frequency oracles share: checked codes, blocks of records with their own streams, JSON of bits.

Every person holds one code, a cell of a public table, and sends one report. To run many devices here is a
simulation: whoever holds all codes has no need of it. Records are cut into blocks of one size, and each block
draws from one stream of its own, so reports do not depend on the number of threads. A stream for each record
would cost 16 blocks of ChaCha20 for the two words that a report of kRR takes: 2 s in place of 0.06 s for a
million reports. A device draws one report from a stream of its own; it is the first report of a block.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.engines import cores, on_threads
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.randomness import Streams, Words
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.randomness.response import Response

MOST_CELLS = 10**6
RECORDS_IN_A_BLOCK = 2**15  # a part of those that engines keep together
ASSUMPTIONS = (
    "the cells were declared, not read off the data",
    "each person sent one report: whatever else is sent about the record adds up",
    "what a device was asked was chosen without looking at its record",
)


# --- parameters --------------------------------------------------------------------------------------------


def check_cells(cells: int) -> None:
    """Refuse a table with fewer than 2 cells, or with too many."""
    if not isinstance(cells, int) or isinstance(cells, bool) or not 2 <= cells <= MOST_CELLS:
        raise ParameterError(f"cells must be a whole number from 2 to {MOST_CELLS:,}, not {cells}")


def check_realised(realised: float, asked: float) -> float:
    """The epsilon that is realised; refuses one so small that reports would hold no information."""
    if realised <= 0:
        raise ParameterError(f"epsilon {asked} is too small to be drawn")
    return realised


def record_promise(epsilon: float) -> Guarantee:
    """Pure epsilon for a record in the local model."""
    return Guarantee(epsilon, 0.0, "record", "replace-one", "local", ASSUMPTIONS)


def bits_of_code(cells: int) -> int:
    """The number of bits that name one of this many cells."""
    return ceil(log2(cells))


def response_weights(response: Response) -> dict[str, Any]:
    """The law of randomized response as a device needs it: weights of up to 62 bits, as decimal texts."""
    return {"symbols": response.symbols, "keep": str(response.keep), "other": str(response.other)}


# --- devices -----------------------------------------------------------------------------------------------


def begun(streams: Streams, number: int) -> Words:
    """The stream of the block of this number, from its beginning."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    (nonce,) = streams.nonces([number], number)
    start(state, streams.key, nonce)
    return state


def for_each_block(work: Callable[[int, slice], None], records: int) -> None:
    """Call `work` with the number of each block of so many records, and with where it is among them."""
    blocks = blocks_of(0, records)

    def on_one(number: int) -> None:
        _, first, last = blocks[number]
        work(number, slice(first, last))

    _for_each(on_one, len(blocks))


def blocks_of(first: int, last: int, size: int | None = None) -> list[tuple[int, int, int]]:
    """The blocks that have some of these records: the number of each, and where these records begin and end.

    Blocks have `size` records; by default those that draw from one stream.
    """
    size = size or RECORDS_IN_A_BLOCK
    numbers = range(first // size, -(-last // size))
    return [(number, max(first, number * size), min((number + 1) * size, last)) for number in numbers]


def checked_codes(codes: Ints, cells: int) -> Ints:
    """The codes, if they are whole numbers in 0 ... cells - 1, one for each record."""
    numbers = whole_numbers(codes, "codes")
    if numbers.ndim != 1:
        raise InputError("codes must be one for each record, in one row")
    return in_bounds(numbers, cells, "a code lies outside the table")


# --- the wire ----------------------------------------------------------------------------------------------


def text_of_bits(row: NDArray[Any]) -> str:
    """Packed bits in base64."""
    return base64.b64encode(np.ascontiguousarray(row, dtype=np.uint8).tobytes()).decode()


def bits_of_text(text: Any, bits: int) -> NDArray[np.uint8]:
    """(bytes,): the packed bits of a base64 text of exactly the right length, in its only spelling."""
    width = -(-bits // 8)
    refused = InputError(f"a report is {width} bytes in base64, with no bit beyond the last one")
    if type(text) is not str or len(text) != 4 * -(-width // 3):
        raise refused
    try:
        row = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    except (binascii.Error, ValueError):
        raise refused from None
    if row.size != width or text_of_bits(row) != text or (bits % 8 and row[-1] >> (bits % 8)):
        raise refused
    return row


# --- the server --------------------------------------------------------------------------------------------


def counted(reports: int, cells: int, count: Callable[[slice, Ints], None]) -> Ints:
    """(cells,): the sum over all blocks of reports of what `count(block, totals)` adds to `totals`."""
    blocks = [slice(first, last) for _, first, last in blocks_of(0, reports)]
    parts = np.zeros((max(1, min(cores(), len(blocks))), cells), dtype=np.int64)

    def add(worker: int) -> None:
        for block in blocks[worker :: len(parts)]:
            count(block, parts[worker])

    _for_each(add, min(len(parts), len(blocks)))
    totals: Ints = parts.sum(axis=0)
    return totals


def whole_numbers(numbers: NDArray[Any], what: str) -> NDArray[Any]:
    """The numbers as an array, if they are whole; an empty array can be of any type."""
    array = np.asarray(numbers)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{what} must be whole numbers")
    return array


def in_bounds(numbers: NDArray[Any], limit: int, otherwise: str) -> Ints:
    """The numbers, if all lie in 0 ... limit - 1; `otherwise` is the message if not."""
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < limit):
        raise InputError(otherwise)
    return np.ascontiguousarray(numbers, dtype=np.int64)


def packed_bits(reports: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """(n, bytes): reports of this many bits, eight to a byte; padding bits in the last byte must be 0."""
    rows = np.asarray(reports)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != -(-bits // 8):
        raise InputError(f"reports must be rows of {-(-bits // 8)} bytes")
    if bits % 8 and (rows[:, -1] >> (bits % 8)).any():
        raise InputError("a report has a bit beyond the last one")
    return np.ascontiguousarray(rows)


def unbiased(support: Ints, n: int, keep: float, other: float) -> Floats:
    """The share of n records that hold a cell, from the number of reports that support it.

    (support/n - q)/(p - q), where p = keep and q = other.
    """
    check_reports(n)
    shares: Floats = (np.asarray(support) / n - other) / (keep - other)
    return shares


def check_reports(n: int) -> None:
    """Refuse to estimate from no reports."""
    if n < 1:
        raise ParameterError(f"there must be at least one report, not {n}")


# --- blocks ------------------------------------------------------------------------------------------------


def _for_each(work: Callable[[int], None], blocks: int) -> None:
    """Call `work` for every block: one block here, more of them on threads."""
    if blocks > 1:
        on_threads(work, blocks, threads=cores())
    elif blocks == 1:
        work(0)
