"""Loops of frequency oracles: devices that report one cell of a table, and the server that counts reports.

Every loop takes a block of records, one code and one report for each, and one stream of random words for the
block. The number of words used depends on the draws, never on a code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Ints
from crowdveil.compiled import compiled, inlined
from crowdveil.randomness.chacha import Words, next32
from crowdveil.randomness.response import randomized_response

Bytes = NDArray[np.uint8]

_BYTES_AT_ONCE = 256  # columns whose counts by byte fit into the cache
_REPORTS_AT_ONCE = 4096
_KEYED = 0x9E3779B9


@inlined
def chance_bits(state: Words, wanted: np.uint32, weight: np.uint64) -> np.uint32:
    """Exact: independent bits, each 1 with probability weight/2^64; bits outside `wanted` are 0.

    Each of 32 lanes compares up to 64 random bits with the weight, from the highest bit on; drawing stops as
    soon as every lane is decided.
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
    """A bijective hash of 32 bits (Wellons' triple32)."""
    x = np.uint32(x ^ (x >> np.uint32(17)))
    x = np.uint32(x * np.uint32(0xED5AD4BB))
    x = np.uint32(x ^ (x >> np.uint32(11)))
    x = np.uint32(x * np.uint32(0xAC4C1B51))
    x = np.uint32(x ^ (x >> np.uint32(15)))
    x = np.uint32(x * np.uint32(0x31848BAB))
    return np.uint32(x ^ (x >> np.uint32(14)))


@inlined
def value_of(seed: np.uint32, key: np.uint32, values: int) -> int:
    """The hash value in 0 ... values - 1 of the cell with this key under this seed."""
    hashed = np.uint64(mixed(np.uint32(seed ^ key)))
    return np.int64((hashed * np.uint64(values)) >> np.uint64(32))  # type: ignore[return-value]


@compiled
def fill_keys(out: Words) -> None:
    """Fill `out` with the key of every cell."""
    for code in range(out.size):
        out[code] = mixed(np.uint32(np.uint32(code) + np.uint32(_KEYED)))


@compiled
def fill_values(seeds: Words, key: np.uint32, values: int, out: Ints) -> None:
    """Fill `out` with the hash value of the cell with this key under each seed."""
    for i in range(seeds.size):
        out[i] = value_of(seeds[i], key, values)


@compiled
def fill_krr(state: Words, codes: Ints, symbols: int, keep: int, other: int, out: Codes) -> None:
    """Fill `out` with randomized response of every code (kRR)."""
    for i in range(codes.size):
        out[i] = randomized_response(state, codes[i], symbols, keep, other)


@compiled
def fill_oue(state: Words, codes: Ints, cells: int, weight: np.uint64, out: Bytes) -> None:
    """Fill rows of bits, one per cell (OUE): a fair coin for the true cell, weight/2^64 for the others."""
    for i in range(codes.size):
        row = out[i]
        for first in range(0, cells, 32):
            width = min(32, cells - first)
            wanted = np.uint32((np.uint64(1) << np.uint64(width)) - np.uint64(1))
            bits = chance_bits(state, wanted, weight)
            for b in range(0, width, 8):
                row[(first + b) >> 3] = np.uint8(bits >> np.uint32(b))
        place, true = codes[i] >> 3, 1 << (codes[i] & 7)
        coin = true if next32(state) & np.uint32(1) else 0
        row[place] = np.uint8((np.int64(row[place]) & ~true) | coin)


@compiled
def fill_flipped(state: Words, codes: Ints, patterns: Bytes, weight: np.uint64, out: Bytes) -> None:
    """Fill rows with the bits of each code's pattern, each flipped with probability weight/2^64."""
    width = patterns.shape[1]
    for i in range(codes.size):
        row, pattern = out[i], patterns[codes[i]]
        for first in range(0, width, 4):
            step = min(4, width - first)
            wanted = np.uint32((np.uint64(1) << np.uint64(8 * step)) - np.uint64(1))
            flips = chance_bits(state, wanted, weight)
            for b in range(step):
                row[first + b] = pattern[first + b] ^ np.uint8(flips >> np.uint32(8 * b))


@compiled
def fill_olh(state: Words, codes: Ints, keys: Words, values: int, keep: int, other: int, out: Words) -> None:
    """Fill rows with a random seed and randomized response of the code's hash value under it (OLH)."""
    for i in range(codes.size):
        seed = next32(state)
        out[i, 0] = seed
        true = value_of(seed, keys[codes[i]], values)
        out[i, 1] = randomized_response(state, true, values, keep, other)


@compiled
def count_bits(rows: Bytes, out: Ints) -> None:
    """Add to `out` the number of rows in which each bit is set; bit k of byte b has index 8 b + k."""
    width = rows.shape[1]
    byte_counts = np.empty((min(width, _BYTES_AT_ONCE), 256), dtype=np.int64)
    for first in range(0, width, _BYTES_AT_ONCE):
        last = min(first + _BYTES_AT_ONCE, width)
        byte_counts[:] = 0
        for i in range(rows.shape[0]):
            for b in range(first, last):
                byte_counts[b - first, rows[i, b]] += 1
        for b in range(first, last):
            for k in range(min(8, out.size - 8 * b)):
                for byte in range(256):
                    if (byte >> k) & 1:
                        out[8 * b + k] += byte_counts[b - first, byte]


@compiled
def count_hashed(seeds: Words, lows: Words, widths: Words, keys: Words, out: Ints) -> None:
    """Add to `out` the number of reports whose seed hashes the cell of each key to the reported value.

    A 32-bit hash belongs to the value of report i if it lies in [lows[i], lows[i] + widths[i]), which takes
    neither a product nor a division to check.
    """
    for first in range(0, seeds.size, _REPORTS_AT_ONCE):
        last = min(first + _REPORTS_AT_ONCE, seeds.size)
        for c in range(keys.size):
            key, supporting = keys[c], np.uint32(0)
            for i in range(first, last):
                offset = np.uint32(mixed(np.uint32(seeds[i] ^ key)) - lows[i])
                supporting = np.uint32(supporting + np.uint32(offset < widths[i]))
            out[c] += supporting
