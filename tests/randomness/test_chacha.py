"""ChaCha20 against RFC 8439 and against a slow, obvious twin."""

import struct

import numpy as np
import pytest

from crowdveil.randomness import Words, chacha

WORD = 2**32
RFC_KEY = bytes(range(32))
RFC_NONCE = bytes.fromhex("000000090000004a00000000")
ZERO_KEY, ZERO_NONCE = bytes(32), bytes(12)

SECTIONS = ["2.3.2", "A.1 1", "A.1 2", "A.1 3", "A.1 4", "A.1 5"]  # of RFC 8439
VECTORS = [
    (
        RFC_KEY,
        RFC_NONCE,
        1,
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        ZERO_KEY,
        ZERO_NONCE,
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        ZERO_KEY,
        ZERO_NONCE,
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        ZERO_NONCE,
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\x00\xff" + bytes(30),
        ZERO_NONCE,
        2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    (
        ZERO_KEY,
        bytes(11) + b"\x02",
        0,
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
]


def twin_block(key: bytes, counter: int, nonce: bytes) -> list[int]:
    """One block of ChaCha20, word by word as the RFC describes it."""
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter]
    start += struct.unpack("<3I", nonce)
    x = start.copy()

    def step(a: int, b: int, d: int, left: int) -> None:
        x[a] = (x[a] + x[b]) % WORD
        mixed = x[d] ^ x[a]
        x[d] = (mixed << left) % WORD | mixed >> (32 - left)

    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for a, b, c, d in 10 * (columns + diagonals):
        step(a, b, d, 16)
        step(c, d, b, 12)
        step(a, b, d, 8)
        step(c, d, b, 7)
    return [(end + begin) % WORD for end, begin in zip(x, start, strict=True)]


def started(key: bytes, nonce: bytes, counter: int = 0) -> Words:
    state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
    chacha.start(state, np.frombuffer(key, dtype="<u4"), np.frombuffer(nonce, dtype="<u4"))
    state[12] = counter
    return state


def drawn(state: Words, count: int) -> list[int]:
    return [int(chacha.next32(state)) for _ in range(count)]


@pytest.mark.parametrize(("key", "nonce", "counter", "block"), VECTORS, ids=SECTIONS)
def test_a_block_is_the_one_printed_in_the_rfc(key: bytes, nonce: bytes, counter: int, block: str) -> None:
    words = drawn(started(key, nonce, counter), 16)
    assert struct.pack("<16I", *words).hex() == block


@pytest.mark.parametrize(("key", "nonce", "counter", "block"), VECTORS, ids=SECTIONS)
def test_the_twin_follows_the_rfc_too(key: bytes, nonce: bytes, counter: int, block: str) -> None:
    assert struct.pack("<16I", *twin_block(key, counter, nonce)).hex() == block


def test_a_long_keystream_goes_on_from_block_to_block() -> None:
    blocks = 200
    expected = [word for counter in range(blocks) for word in twin_block(RFC_KEY, counter, RFC_NONCE)]
    assert drawn(started(RFC_KEY, RFC_NONCE), 16 * blocks) == expected


def test_64_bits_are_the_next_two_words_also_across_blocks() -> None:
    words = drawn(started(RFC_KEY, RFC_NONCE), 41)
    state = started(RFC_KEY, RFC_NONCE)
    assert drawn(state, 1) == words[:1]
    pairs = [int(chacha.next64(state)) for _ in range(20)]
    assert pairs == [WORD * high + low for high, low in zip(words[1::2], words[2::2], strict=True)]


def test_a_full_counter_carries_into_the_nonce() -> None:
    words = drawn(started(RFC_KEY, RFC_NONCE, WORD - 1), 48)
    later = (int.from_bytes(RFC_NONCE[:4], "little") + 1).to_bytes(4, "little") + RFC_NONCE[4:]
    last = twin_block(RFC_KEY, WORD - 1, RFC_NONCE)
    assert words == last + twin_block(RFC_KEY, 0, later) + twin_block(RFC_KEY, 1, later)


def test_a_full_counter_does_not_repeat_the_first_block() -> None:
    assert (
        drawn(started(RFC_KEY, RFC_NONCE, WORD - 1), 32)[16:] != drawn(started(RFC_KEY, RFC_NONCE), 32)[:16]
    )


def test_starting_again_forgets_what_was_left_of_the_last_block() -> None:
    state = started(ZERO_KEY, ZERO_NONCE)
    drawn(state, 5)
    chacha.start(state, np.frombuffer(RFC_KEY, dtype="<u4"), np.frombuffer(RFC_NONCE, dtype="<u4"))
    assert drawn(state, 20) == drawn(started(RFC_KEY, RFC_NONCE), 20)
