"""ChaCha20 (RFC 8439) as a stream of random bits that a loop can carry in one small array.

Notation: a *state* is 33 unsigned 32-bit words: the 16 words of ChaCha20's input block (constants, key,
block counter, nonce), the 16 words of the current output block, and how many of those are used up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.compiled import compiled, inlined

Words = NDArray[np.uint32]

STATE_WORDS = 33
KEY_WORDS = 8
NONCE_WORDS = 3
_BLOCK = 16
_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)


@inlined
def _rotate(word: np.uint32, left: int) -> np.uint32:
    return np.uint32((word << np.uint32(left)) | (word >> np.uint32(32 - left)))


@inlined
def _quarter(x: Words, a: int, b: int, c: int, d: int) -> None:
    x[a] += x[b]
    x[d] = _rotate(x[d] ^ x[a], 16)
    x[c] += x[d]
    x[b] = _rotate(x[b] ^ x[c], 12)
    x[a] += x[b]
    x[d] = _rotate(x[d] ^ x[a], 8)
    x[c] += x[d]
    x[b] = _rotate(x[b] ^ x[c], 7)


@compiled
def refill(state: Words) -> None:
    """Put the next output block into the state."""
    out = state[_BLOCK : 2 * _BLOCK]
    for i in range(_BLOCK):
        out[i] = state[i]
    for _ in range(10):
        _quarter(out, 0, 4, 8, 12)
        _quarter(out, 1, 5, 9, 13)
        _quarter(out, 2, 6, 10, 14)
        _quarter(out, 3, 7, 11, 15)
        _quarter(out, 0, 5, 10, 15)
        _quarter(out, 1, 6, 11, 12)
        _quarter(out, 2, 7, 8, 13)
        _quarter(out, 3, 4, 9, 14)
    for i in range(_BLOCK):
        out[i] += state[i]
    state[12] += np.uint32(1)
    if state[12] == 0:
        # 2^32 blocks of one stream (256 GiB of bits): carry on in the nonce's first word, never repeat.
        state[13] += np.uint32(1)
    state[32] = 0


@compiled
def start(state: Words, key: Words, nonce: Words) -> None:
    """Begin the stream of (key, nonce) in `state`."""
    for i in range(4):
        state[i] = _CONSTANTS[i]
    for i in range(8):
        state[4 + i] = key[i]
    state[12] = 0
    for i in range(3):
        state[13 + i] = nonce[i]
    state[32] = _BLOCK


@inlined
def next32(state: Words) -> np.uint32:
    """32 random bits."""
    if state[32] >= _BLOCK:
        refill(state)
    word = state[_BLOCK + np.intp(state[32])]
    state[32] += np.uint32(1)
    return word


@inlined
def next64(state: Words) -> np.uint64:
    """64 random bits."""
    high = np.uint64(next32(state))
    return np.uint64((high << np.uint64(32)) | np.uint64(next32(state)))
