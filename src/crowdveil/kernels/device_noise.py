"""Loops over users: the noise of each one's claims, from the stream of that user."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.compiled import compiled
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.gaussian import fill_discrete_gaussian
from crowdveil.randomness.samplers import discrete_laplace, fill_discrete_laplace


@compiled
def fill_laplace(key: Words, nonces: Words, offsets: Ints, num: int, den: int, out: Ints) -> None:
    """Fill `out` with exact discrete Laplace noise of scale num/den; user u's begins at offsets[u]."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for user in range(offsets.size - 1):
        start(state, key, nonces[user])
        fill_discrete_laplace(state, num, den, out[offsets[user] : offsets[user + 1]])


@compiled
def fill_gaussian(
    key: Words,
    nonces: Words,
    offsets: Ints,
    least: int,
    step: int,
    den: int,
    scale: int,
    cap: int,
    one: int,
    out: Ints,
) -> None:
    """Fill `out` with exact discrete Gaussian noise of a variance that each user draws first.

    It is (least + k step) / den, where k - 1 is geometric: what a discrete Laplace draw of that scale is if
    it is not negative. k is at most `cap`. `one` is 1.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for user in range(offsets.size - 1):
        start(state, key, nonces[user])
        drawn = discrete_laplace(state, scale, one)
        while drawn < 0:
            drawn = discrete_laplace(state, scale, one)
        num = least + min(drawn + 1, cap) * step
        fill_discrete_gaussian(state, num, den, out[offsets[user] : offsets[user + 1]])
