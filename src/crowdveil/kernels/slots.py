"""The loops of a device that is asked about a few objects, and of whoever deals out which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Codes
from crowdveil.compiled import compiled
from crowdveil.randomness.chacha import Words
from crowdveil.randomness.samplers import below


@compiled
def shuffle(state: Words, dealt: int, cards: Codes) -> None:
    """Put a uniform choice of `dealt` cards first, in a uniform order (Fisher and Yates)."""
    for i in range(dealt):
        j = i + below(state, cards.size - i)
        cards[i], cards[j] = cards[j], cards[i]


@compiled
def place_in(answered: Codes, asked: int) -> int:
    """The place of an object among the answered ones, which ascend; -1 if it is not there."""
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
    """One of the two levels around an answer, with chances that keep its mean: exact."""
    along = code * (levels - 1)
    level = along // (answers - 1)
    rest = along - level * (answers - 1)
    if rest > 0 and below(state, answers - 1) < rest:
        level += 1
    return level


@compiled
def true_symbol(
    state: Words, listed: Codes, answered: Codes, codes: NDArray[np.uint8], answers: int, levels: int
) -> int:
    """One of the listed objects that were answered about, all alike, and its answer's level; or NULL."""
    many = 0
    for p in range(listed.size):
        many += place_in(answered, listed[p]) >= 0
    if many == 0:
        return listed.size * levels
    left, place, at = below(state, many), 0, place_in(answered, listed[0])
    while at < 0 or left > 0:
        left -= at >= 0
        place += 1
        at = place_in(answered, listed[place])
    return place * levels + level_of(state, int(codes[at]), answers, levels)


@compiled
def true_symbols(
    state: Words, lists: Codes, answered: Codes, codes: NDArray[np.uint8], answers: int, levels: int
) -> int:
    """The symbols of all slots as one number; the first slot counts ones."""
    joint, power = 0, 1
    for k in range(lists.shape[0]):
        joint += power * true_symbol(state, lists[k], answered, codes, answers, levels)
        power *= lists.shape[1] * levels + 1
    return joint


@compiled
def unnamed_symbol(state: Words, codes: NDArray[np.uint8], answers: int, levels: int) -> int:
    """The level of one of the answers, all alike, without its object; or NULL."""
    if codes.size == 0:
        return levels
    return level_of(state, int(codes[below(state, codes.size)]), answers, levels)
