"""Who is asked what: a coin for everybody, which never looks at a record."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.randomness import Randomness
from crowdveil.records import Records


def choices(chances: Floats, people: int, *, rng: Randomness) -> Ints:
    """(people,): the number of the question that each is asked, drawn with these chances."""
    ends = np.cumsum(chances)
    coins = rng.stream("asked", purpose="questions").uniforms(people)
    found: Ints = np.minimum(np.searchsorted(ends, coins * ends[-1], side="right"), ends.size - 1)
    return found


def in_random_order(records: Records, *, rng: Randomness) -> Records:
    """The same records in the order in which people happen to take part.

    A file may be sorted, and who takes part first must not be those of one kind.
    """
    coins = rng.stream("order", purpose="questions").uniforms(len(records))
    return records.take(np.argsort(coins, kind="stable"))
