"""Small functions shared by the loops over ranges of objects."""

from __future__ import annotations

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled, summed


@compiled
def longest(offsets: Ints, first: int, last: int) -> int:
    """The largest number of claims about an object in [first, last)."""
    n = 0
    for i in range(first, last):
        n = max(n, offsets[i + 1] - offsets[i])
    return n


@summed
def total(w: Floats) -> float:
    """The sum of w."""
    result = 0.0
    for s in range(w.size):
        result += w[s]
    return result


@compiled
def normalise(w: Floats) -> None:
    """Scale weights to sum to one; they become uniform if all are 0."""
    sum_of_weights = total(w)
    if sum_of_weights > 0.0:
        for s in range(w.size):
            w[s] /= sum_of_weights
    else:
        w[:] = 1.0 / w.size
