"""Claims by user, on disk: what devices do for their users is done for ranges of users that fit in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdveil.arrays import frozen
from crowdveil.claims import ClaimsByUser
from crowdveil.engines.memory import Memory
from crowdveil.engines.stored.divided import Divided
from crowdveil.engines.stored.spilled import Spilled

if TYPE_CHECKING:
    from crowdveil.engines.stored.claims import StoredClaims


@dataclass(frozen=True, eq=False)
class StoredClaimsByUser(ClaimsByUser):
    """A table of claims by user of which only names and offsets are in memory."""

    claims: StoredClaims
    order: Any  # Spilled, as all that is as large as the claims
    user_codes: Any
    values: Any
    memory: Memory

    @classmethod
    def of(cls, claims: StoredClaims) -> StoredClaimsByUser:
        """The claims by user; those of a user in the order of objects."""
        offsets = np.concatenate([[0], np.cumsum(claims.claims_per_user())]).astype(np.int64)
        kinds = np.int32, np.int64, np.int32, np.float64
        users, places, objects, values = columns = tuple(Spilled((len(claims),), kind) for kind in kinds)
        divided = Divided(offsets, claims.memory.claims_laid_out, columns)
        for first, last, codes in claims.codes_in_passing():
            begin, end = claims.offsets[first], claims.offsets[last]
            owners = np.repeat(
                np.arange(first, last, dtype=np.int32), np.diff(claims.offsets[first : last + 1])
            )
            assert divided.deal(codes, [codes, np.arange(begin, end), owners, claims.values[begin:end]])
        for _, (begin, end) in divided.regions():
            order = np.argsort(users[begin:end], kind="stable")
            for column in (places, objects, values):
                column[begin:end] = column[begin:end][order]
        return cls(claims, places, frozen(offsets), objects, values, claims.memory)

    def returned(self, numbers: Any) -> Spilled:
        """Numbers by claim of this table, in the order in which `claims` has its claims."""
        there = Spilled((len(numbers),), numbers.dtype)
        places, dealt = Spilled((len(numbers),), np.int64), Spilled((len(numbers),), numbers.dtype)
        divided = Divided(self.claims.offsets, self.memory.claims_laid_out, (places, dealt))
        for begin in range(0, len(numbers), self.memory.rows_in_passing):
            part = slice(begin, min(begin + self.memory.rows_in_passing, len(numbers)))
            assert divided.deal(self.user_codes[part], [self.order[part], numbers[part]])
        for _, (begin, end) in divided.regions():
            own = np.empty(end - begin, dtype=numbers.dtype)
            own[places[begin:end] - begin] = dealt[begin:end]
            there[begin:end] = own
        return there
