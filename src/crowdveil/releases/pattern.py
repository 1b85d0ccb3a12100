"""The pattern of claims: numbers of claims by object and by user, without any value.

Under adjacency replace-one the pattern is public, and the cost of a release may depend on it. A pattern holds
no values, so what is computed from a pattern alone depends on none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.claims import Claims


@dataclass(frozen=True, eq=False)
class Pattern:
    """Numbers of claims: `per_object` (N,) for each object, `most` the largest number of one user."""

    per_object: Ints
    most: int

    @classmethod
    def of(cls, claims: Claims) -> Pattern:
        """The pattern of these claims."""
        return cls(claims.counts(), int(claims.claims_per_user().max(initial=0)))

    @classmethod
    def even(cls, objects: int, claims: int) -> Pattern:
        """A pattern of `objects` objects with `claims` claims each; every claim has its own user."""
        return cls(np.full(objects, claims, dtype=np.int64), 1)

    @property
    def pairs(self) -> int:
        """The number of disjoint pairs of claims within objects."""
        return int((self.per_object // 2).sum())
