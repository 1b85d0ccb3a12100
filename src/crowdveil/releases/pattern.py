"""The pattern of claims: who made how many claims about what, without any value.

Where values are replaced the pattern is public, and what a release costs and promises may depend on it. It
holds no value, so whatever is computed from a pattern alone looks at none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.claims import Claims


@dataclass(frozen=True, eq=False)
class Pattern:
    """Numbers of claims: `per_object` (N,) about each object, `most` of one user."""

    per_object: Ints
    most: int

    @classmethod
    def of(cls, claims: Claims) -> Pattern:
        """The pattern of these claims."""
        return cls(claims.counts(), int(claims.claims_per_user().max(initial=0)))

    @classmethod
    def even(cls, objects: int, claims: int) -> Pattern:
        """So many objects with so many claims each, every claim by a user of its own."""
        return cls(np.full(objects, claims, dtype=np.int64), 1)

    @property
    def pairs(self) -> int:
        """How many disjoint pairs can be formed within objects."""
        return int((self.per_object // 2).sum())
