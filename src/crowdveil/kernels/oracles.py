"""The loops of devices that report one code of a table's cells, and of the server that counts the reports.

Every loop takes a block of records: codes and reports line by line, one stream of random words for the block.
How many words are used up depends on what is drawn, never on a code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Ints
from crowdveil.compiled import compiled, inlined
from crowdveil.randomness.chacha import Words, next32
from crowdveil.randomness.response import randomized_response

Bytes = NDArray[np.uint8]

_BYTES_AT_ONCE = 256  # columns whose counts by byte fit into a fast memory
_REPORTS_AT_ONCE = 4096
_KEYED = 0x9E3779B9


@inlined
def chance_bits(state: Words, wanted: np.uint32, weight: np.uint64) -> np.uint32:
    """Exact: every wanted bit is 1 with chance weight/2^64, all independent.

    Each lane compares 64 random bits with the weight, from the highest on, and draws no more of them than it
    takes until all lanes know which is less.
    """
    less = np.uint32(0)
    for place in range(63, -1, -1):
        drawn = next32(state)
        if (weight >> np.uint64(place)) & np.uint64(1):
            less = np.uint32(less | (wanted & ~drawn))
            wanted = np.uint32(wanted & drawn)
        else:
            wanted = np.uint32(wanted & ~drawn)
        if wanted == 0:
            break
    return less


@inlined
def mixed(x: np.uint32) -> np.uint32:
    """A one-to-one scrambling of 32 bits (Wellons' triple32)."""
    x = np.uint32(x ^ (x >> np.uint32(17)))
    x = np.uint32(x * np.uint32(0xED5AD4BB))
    x = np.uint32(x ^ (x >> np.uint32(11)))
    x = np.uint32(x * np.uint32(0xAC4C1B51))
    x = np.uint32(x ^ (x >> np.uint32(15)))
    x = np.uint32(x * np.uint32(0x31848BAB))
    return np.uint32(x ^ (x >> np.uint32(14)))


@inlined
def value_of(seed: np.uint32, key: np.uint32, values: int) -> int:
    """The value of 0 ... values - 1 that a seed gives to the cell of a key."""
    hashed = np.uint64(mixed(np.uint32(seed ^ key)))
    return np.int64((hashed * np.uint64(values)) >> np.uint64(32))  # type: ignore[return-value]


@compiled
def fill_keys(out: Words) -> None:
    """The key of every cell."""
    for code in range(out.size):
        out[code] = mixed(np.uint32(np.uint32(code) + np.uint32(_KEYED)))


@compiled
def fill_values(seeds: Words, key: np.uint32, values: int, out: Ints) -> None:
    """The value that each seed gives to the cell of a key."""
    for i in range(seeds.size):
        out[i] = value_of(seeds[i], key, values)


@compiled
def fill_krr(state: Words, codes: Ints, symbols: int, keep: int, other: int, out: Codes) -> None:
    """Randomized response of every code."""
    for i in range(codes.size):
        out[i] = randomized_response(state, codes[i], symbols, keep, other)


@compiled
def fill_oue(state: Words, codes: Ints, cells: int, weight: np.uint64, out: Bytes) -> None:
    """A bit for each cell: a coin for the true one, 1 with chance weight/2^64 for each other."""
    for i in range(codes.size):
        row = out[i]
        for first in range(0, cells, 32):
            many = min(32, cells - first)
            wanted = np.uint32((np.uint64(1) << np.uint64(many)) - np.uint64(1))
            bits = chance_bits(state, wanted, weight)
            for b in range(0, many, 8):
                row[(first + b) >> 3] = np.uint8(bits >> np.uint32(b))
        place, true = codes[i] >> 3, 1 << (codes[i] & 7)
        coin = true if next32(state) & np.uint32(1) else 0
        row[place] = np.uint8((np.int64(row[place]) & ~true) | coin)


@compiled
def fill_flipped(state: Words, codes: Ints, patterns: Bytes, weight: np.uint64, out: Bytes) -> None:
    """The bits of each code's pattern, each of them flipped with chance weight/2^64."""
    width = patterns.shape[1]
    for i in range(codes.size):
        row, pattern = out[i], patterns[codes[i]]
        for first in range(0, width, 4):
            many = min(4, width - first)
            wanted = np.uint32((np.uint64(1) << np.uint64(8 * many)) - np.uint64(1))
            flips = chance_bits(state, wanted, weight)
            for b in range(many):
                row[first + b] = pattern[first + b] ^ np.uint8(flips >> np.uint32(8 * b))


@compiled
def fill_olh(state: Words, codes: Ints, keys: Words, values: int, keep: int, other: int, out: Words) -> None:
    """A random seed, and randomized response of the value that it gives to each code."""
    for i in range(codes.size):
        seed = next32(state)
        out[i, 0] = seed
        true = value_of(seed, keys[codes[i]], values)
        out[i, 1] = randomized_response(state, true, values, keep, other)


@compiled
def count_bits(rows: Bytes, out: Ints) -> None:
    """Add to `out` how many rows have each bit; bit k of byte b is number 8 b + k."""
    width = rows.shape[1]
    seen = np.empty((min(width, _BYTES_AT_ONCE), 256), dtype=np.int64)
    for first in range(0, width, _BYTES_AT_ONCE):
        last = min(first + _BYTES_AT_ONCE, width)
        seen[:] = 0
        for i in range(rows.shape[0]):
            for b in range(first, last):
                seen[b - first, rows[i, b]] += 1
        for b in range(first, last):
            for k in range(min(8, out.size - 8 * b)):
                for byte in range(256):
                    if (byte >> k) & 1:
                        out[8 * b + k] += seen[b - first, byte]


@compiled
def count_hashed(seeds: Words, lows: Words, widths: Words, keys: Words, out: Ints) -> None:
    """Add to `out` how many seeds hash the cell of each key to their report's value.

    That value's hashes are `lows` and the `widths` - 1 numbers after it: no product, no division.
    """
    for first in range(0, seeds.size, _REPORTS_AT_ONCE):
        last = min(first + _REPORTS_AT_ONCE, seeds.size)
        for c in range(keys.size):
            key, many = keys[c], np.uint32(0)
            for i in range(first, last):
                past = np.uint32(mixed(np.uint32(seeds[i] ^ key)) - lows[i])
                many = np.uint32(many + np.uint32(past < widths[i]))
            out[c] += many
