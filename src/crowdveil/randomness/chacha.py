"""ChaCha20 (RFC 8439) as a stream of random bits that a loop can carry in one small array.

Sixteen blocks are computed side by side, so that every step is a vector instruction; the stream is that of
the blocks one after another.

Notation: a *state* is 273 unsigned 32-bit words: the 16 words of ChaCha20's input block (constants, key,
block counter, nonce), 16 output blocks with word w of block b at place 16 w + b, and how many of their
words are used up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.compiled import compiled, inlined

Words = NDArray[np.uint32]

KEY_WORDS = 8
NONCE_WORDS = 3
_BLOCK = 16  # words of a block
_BLOCKS = 16  # blocks computed side by side
_READY = _BLOCK * _BLOCKS
_USED = _BLOCK + _READY
STATE_WORDS = _USED + 1
_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)


@inlined
def _rotate(word: np.uint32, left: int) -> np.uint32:
    return np.uint32((word << np.uint32(left)) | (word >> np.uint32(32 - left)))


@inlined
def _quarter(x: Words, a: int, b: int, c: int, d: int) -> None:
    """One quarter round of all blocks; a, b, c, d are where the four words begin."""
    for i in range(_BLOCKS):
        p, q, r, s = x[a + i], x[b + i], x[c + i], x[d + i]
        p = np.uint32(p + q)
        s = _rotate(np.uint32(s ^ p), 16)
        r = np.uint32(r + s)
        q = _rotate(np.uint32(q ^ r), 12)
        p = np.uint32(p + q)
        s = _rotate(np.uint32(s ^ p), 8)
        r = np.uint32(r + s)
        q = _rotate(np.uint32(q ^ r), 7)
        x[a + i], x[b + i], x[c + i], x[d + i] = p, q, r, s


@compiled
def _add_input(state: Words, out: Words) -> None:
    """Add to every output block its input block; they differ in the block counter only."""
    for w in range(_BLOCK):
        for b in range(_BLOCKS):
            out[_BLOCKS * w + b] += state[w]
    for b in range(_BLOCKS):
        counter = np.uint32(state[12] + np.uint32(b))
        out[_BLOCKS * 12 + b] += np.uint32(b)
        out[_BLOCKS * 13 + b] += np.uint32(counter < state[12])


@compiled
def refill(state: Words) -> None:
    """Put the next output blocks into the state."""
    out = state[_BLOCK:_USED]
    out[:] = 0
    _add_input(state, out)
    for _ in range(10):
        _quarter(out, 0, 64, 128, 192)
        _quarter(out, 16, 80, 144, 208)
        _quarter(out, 32, 96, 160, 224)
        _quarter(out, 48, 112, 176, 240)
        _quarter(out, 0, 80, 160, 240)
        _quarter(out, 16, 96, 176, 192)
        _quarter(out, 32, 112, 128, 208)
        _quarter(out, 48, 64, 144, 224)
    _add_input(state, out)
    state[12] += np.uint32(_BLOCKS)
    if state[12] < _BLOCKS:
        # 2^32 blocks of one stream (256 GiB of bits): carry on in the nonce's first word, never repeat.
        state[13] += np.uint32(1)
    state[_USED] = 0


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
    state[_USED] = _READY


@inlined
def next32(state: Words) -> np.uint32:
    """32 random bits."""
    if state[_USED] >= _READY:
        refill(state)
    used = np.intp(state[_USED])
    state[_USED] += np.uint32(1)
    return state[_BLOCK + used % _BLOCK * _BLOCKS + used // _BLOCK]


@inlined
def next64(state: Words) -> np.uint64:
    """64 random bits."""
    high = np.uint64(next32(state))
    return np.uint64((high << np.uint64(32)) | np.uint64(next32(state)))
