"""What loops over ranges of objects share."""

from __future__ import annotations

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled, summed


@compiled
def longest(offsets: Ints, first: int, last: int) -> int:
    """The largest number of claims of an object in the range."""
    n = 0
    for i in range(first, last):
        n = max(n, offsets[i + 1] - offsets[i])
    return n


@summed
def total(w: Floats) -> float:
    """The sum of w."""
    whole = 0.0
    for s in range(w.size):
        whole += w[s]
    return whole


@compiled
def normalise(w: Floats) -> None:
    """Make weights sum to one; uniform where none is left."""
    whole = total(w)
    if whole > 0.0:
        for s in range(w.size):
            w[s] /= whole
    else:
        w[:] = 1.0 / w.size
