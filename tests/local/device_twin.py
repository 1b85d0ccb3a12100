"""What a device of each oracle does, the slow way: whole numbers and a list of 32-bit words, nothing else.

A client in another language does the same. Words are used up in order; a number of up to 64 bits takes the
high word first.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

SEEDS = 2**32


def below(words: Iterator[int], limit: int) -> int:
    """Uniform in 0 ... limit - 1: as many low bits as limit - 1 has, again until they are below the limit."""
    mask = (1 << (limit - 1).bit_length()) - 1
    while True:
        drawn = next(words) << 32 | next(words) if mask > 0xFFFFFFFF else next(words)
        if drawn & mask < limit:
            return drawn & mask


def response(words: Iterator[int], code: int, weights: dict[str, Any]) -> int:
    keep, other = int(weights["keep"]), int(weights["other"])
    drawn = below(words, keep + (weights["symbols"] - 1) * other)
    if drawn < keep:
        return code
    place = (drawn - keep) // other
    return place + 1 if place >= code else place


def rare_bits(words: Iterator[int], count: int, weight: int) -> list[int]:
    """Bits that are 1 with probability weight/2^64, 32 at a time.

    Bit number k of a word belongs to lane k. Each lane compares its bits with the weight's, from the highest
    on, and the drawing ends when every lane has differed from the weight.
    """
    bits: list[int] = []
    for first in range(0, count, 32):
        lanes = min(32, count - first)
        below_weight: list[int | None] = [None] * lanes
        for place in range(63, -1, -1):
            word, wanted = next(words), weight >> place & 1
            for lane in range(lanes):
                if below_weight[lane] is None and word >> lane & 1 != wanted:
                    below_weight[lane] = wanted
            if None not in below_weight:
                break
        bits += [bit or 0 for bit in below_weight]
    return bits


def packed(bits: Sequence[int]) -> str:
    octets = bytearray(-(-len(bits) // 8))
    for place, bit in enumerate(bits):
        octets[place // 8] |= bit << place % 8
    return base64.b64encode(octets).decode()


def mix(x: int) -> int:
    for shift, factor in ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB)):
        x = (x ^ x >> shift) * factor % SEEDS
    return x ^ x >> 14


def hashed(seed: int, code: int) -> int:
    return mix(seed ^ mix((code + 0x9E3779B9) % SEEDS))


def payload(description: dict[str, Any], weights: dict[str, Any], code: int, streams: list[list[int]]) -> Any:
    """What the device sends that draws these words: one stream, or one for each column of split kRR."""
    words, parameters = iter(streams[0]), description["parameters"]
    if description["mechanism"] == "krr":
        return response(words, code, weights)
    if description["mechanism"] == "oue":
        bits = rare_bits(words, weights["cells"], int(weights["ones"]))
        bits[code] = next(words) & 1
        return packed(bits)
    if description["mechanism"] == "olh":
        seed = next(words)
        value = hashed(seed, code) * weights["symbols"] >> 32
        return [seed, response(words, value, weights)]
    if description["mechanism"] == "bloom":
        flips = rare_bits(words, weights["bits"], int(weights["flips"]))
        seeds = [hashed(parameters["seed"], number) for number in range(parameters["hashes"])]
        places = {hashed(seed, code) * weights["bits"] >> 32 for seed in seeds}
        return packed([flip ^ (place in places) for place, flip in enumerate(flips)])
    values: list[int] = []
    for size in reversed(parameters["sizes"]):
        code, value = divmod(code, size)
        values.insert(0, value)
    columns = zip(streams, values, weights["columns"], strict=True)
    return [response(iter(stream), value, column) for stream, value, column in columns]
