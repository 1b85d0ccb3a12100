"""ChaCha20 (RFC 8439) as a stream of random bits whose state is one small array.

Sixteen blocks are computed at a time, so that every step is a vector instruction; the stream is the
concatenation of the blocks.

Notation: a *state* is 273 unsigned 32-bit words: the 16 words of ChaCha20's input block (constants, key,
block counter, nonce), 16 output blocks with word w of block b at index 16 w + b, and the number of output
words already used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.compiled import compiled, inlined

Words = NDArray[np.uint32]

KEY_WORDS = 8
NONCE_WORDS = 3
_BLOCK = 16  # words of a block
_BLOCKS = 16  # blocks computed at a time
_READY = _BLOCK * _BLOCKS
_USED = _BLOCK + _READY
STATE_WORDS = _USED + 1
_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)


@inlined
def _quarter(a: Words, b: Words, c: Words, d: Words) -> None:
    """One quarter round on the same four words of all blocks."""
    for i in range(_BLOCKS):
        p, q, r, s = a[i], b[i], c[i], d[i]
        p = np.uint32(p + q)
        s = np.uint32(s ^ p)
        s = np.uint32(s << np.uint32(16) | s >> np.uint32(16))
        r = np.uint32(r + s)
        q = np.uint32(q ^ r)
        q = np.uint32(q << np.uint32(12) | q >> np.uint32(20))
        p = np.uint32(p + q)
        s = np.uint32(s ^ p)
        s = np.uint32(s << np.uint32(8) | s >> np.uint32(24))
        r = np.uint32(r + s)
        q = np.uint32(q ^ r)
        q = np.uint32(q << np.uint32(7) | q >> np.uint32(25))
        a[i], b[i], c[i], d[i] = p, q, r, s


@inlined
def _word(out: Words, w: int) -> Words:
    """Word w of all blocks."""
    return out[_BLOCKS * w : _BLOCKS * w + _BLOCKS]


@compiled
def _add_input(state: Words, out: Words) -> None:
    """Add its input block to every output block; the input blocks differ in the block counter only."""
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
        for diagonal in range(2):  # columns, then diagonals
            for k in range(4):
                b, c, d = 4 + (k + diagonal) % 4, 8 + (k + 2 * diagonal) % 4, 12 + (k + 3 * diagonal) % 4
                _quarter(_word(out, k), _word(out, b), _word(out, c), _word(out, d))
    _add_input(state, out)
    state[12] += np.uint32(_BLOCKS)
    if state[12] < _BLOCKS:
        # After 2^32 blocks (256 GiB) the counter carries into the nonce's first word: blocks never repeat.
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
