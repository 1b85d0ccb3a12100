"""Loops of a device that is asked about a few objects, and the random choice of these objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes
from crowdveil.compiled import compiled
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import below


@compiled
def shuffle(state: Words, dealt: int, cards: Codes) -> None:
    """Move a uniform sample of `dealt` cards, in uniform order, to the front (Fisher and Yates)."""
    for i in range(dealt):
        j = i + below(state, cards.size - i)
        cards[i], cards[j] = cards[j], cards[i]


@compiled
def place_in(answered: Codes, asked: int) -> int:
    """Index of an object in `answered`, which ascends; -1 if it is absent."""
    low, high = 0, answered.size
    while low < high:
        middle = (low + high) // 2
        if answered[middle] < asked:
            low = middle + 1
        else:
            high = middle
    return low if low < answered.size and answered[low] == asked else -1


@compiled
def level_of(state: Words, code: int, answers: int, levels: int) -> int:
    """Exact: one of the two levels around an answer, rounded at random without bias."""
    scaled = code * (levels - 1)
    level = scaled // (answers - 1)
    remainder = scaled - level * (answers - 1)
    if remainder > 0 and below(state, answers - 1) < remainder:
        level += 1
    return level


@compiled
def true_symbol(
    state: Words, listed: Codes, answered: Codes, codes: NDArray[np.uint8], answers: int, levels: int
) -> int:
    """The symbol of a uniformly chosen answered object among `listed`, with its answer's level; or NULL."""
    count = 0
    for p in range(listed.size):
        count += place_in(answered, listed[p]) >= 0
    if count == 0:
        return listed.size * levels
    remaining, place, at = below(state, count), 0, place_in(answered, listed[0])
    while at < 0 or remaining > 0:
        remaining -= at >= 0
        place += 1
        at = place_in(answered, listed[place])
    return place * levels + level_of(state, int(codes[at]), answers, levels)


@compiled
def true_symbols(
    state: Words, lists: Codes, answered: Codes, codes: NDArray[np.uint8], answers: int, levels: int
) -> int:
    """The symbols of all slots as the digits of one number; the first slot is the least significant."""
    joint, power = 0, 1
    for k in range(lists.shape[0]):
        joint += power * true_symbol(state, lists[k], answered, codes, answers, levels)
        power *= lists.shape[1] * levels + 1
    return joint


@compiled
def unnamed_symbol(state: Words, codes: NDArray[np.uint8], answers: int, levels: int) -> int:
    """The level of a uniformly chosen answer, without its object; or NULL."""
    if codes.size == 0:
        return levels
    return level_of(state, int(codes[below(state, codes.size)]), answers, levels)
