"""Who is asked what, and when: coins that never look at a record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.randomness import Randomness, seeded
from crowdveil.records import RecordTable

Table = TypeVar("Table", bound=RecordTable)

PLACES_AT_ONCE = 4096  # whose coins come from one stream


def choices(chances: Floats, coins: Floats) -> Ints:
    """The number of the question that each coin, uniform in [0, 1), picks with these chances."""
    ends = np.cumsum(chances)
    numbers: Ints = np.minimum(np.searchsorted(ends, coins * ends[-1], side="right"), ends.size - 1)
    return numbers


def tossed(streams: Iterable[int], seed: int, number: int) -> Floats:
    """(streams, 4096): the coins of a round, by public seed; a place's coin is in stream place // 4096."""
    rng = seeded(seed).part(f"round {number}")
    coins = [rng.stream(stream, purpose="questions").uniforms(PLACES_AT_ONCE) for stream in streams]
    return np.array(coins).reshape(-1, PLACES_AT_ONCE)


def tossed_for(first: int, last: int, seed: int, number: int) -> Floats:
    """The coins of the places from `first` to `last`, of which there is at least one."""
    begin = first // PLACES_AT_ONCE
    coins = tossed(range(begin, -(-last // PLACES_AT_ONCE)), seed, number).ravel()
    return coins[first - begin * PLACES_AT_ONCE : last - begin * PLACES_AT_ONCE]


def in_random_order(records: Table, *, rng: Randomness) -> Table:
    """The same records, in a random order of taking part.

    A file may be sorted, and the first round must not consist of one kind of people.
    """
    coins = rng.stream("order", purpose="questions").uniforms(len(records))
    return records.take(np.argsort(coins, kind="stable"))
