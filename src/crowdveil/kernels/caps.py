"""Numbers of claims of an object by how many claims their users have in all.

Sums are of whole numbers: inside an object claims are ordered by value, and a sum of floats would depend on
that order in its last digits.
"""

from __future__ import annotations

from crowdveil.arrays import Codes, Ints
from crowdveil.compiled import compiled


@compiled
def add_by_class(
    offsets: Ints,
    objects: Ints,
    user_codes: Codes,
    sizes: Ints,
    class_of: Ints,
    share_of: Ints,
    counts: Ints,
    shares: Ints,
) -> None:
    """Add up claims and shares by class, a row for each of `objects`; both follow from the user's size."""
    for row in range(objects.size):
        for claim in range(offsets[objects[row]], offsets[objects[row] + 1]):
            size = sizes[user_codes[claim]]
            counts[row, class_of[size]] += 1
            shares[row, class_of[size]] += share_of[size]
