"""Who is asked what, and when: coins that never look at a record."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.randomness import Randomness
from crowdveil.records import Records


def choices(chances: Floats, coins: Floats) -> Ints:
    """The number of the question that each coin, uniform in [0, 1), picks with these chances."""
    ends = np.cumsum(chances)
    numbers: Ints = np.minimum(np.searchsorted(ends, coins * ends[-1], side="right"), ends.size - 1)
    return numbers


def in_random_order(records: Records, *, rng: Randomness) -> Records:
    """The same records, in a random order of taking part.

    A file may be sorted, and the first round must not consist of one kind of people.
    """
    coins = rng.stream("order", purpose="questions").uniforms(len(records))
    return records.take(np.argsort(coins, kind="stable"))
