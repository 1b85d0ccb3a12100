"""Caps on the claims of each user, for claims on disk: the same ones are kept as by `Claims.capped`.

A user's claims are ordered by a hash of names and then by their places in the layout. For each user with too
many claims the last one that is kept is found, among the claims of a range of users that fits in memory. It
tells of every claim whether it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Flags, Ints
from crowdveil.engines.stored.divided import Divided
from crowdveil.engines.stored.spilled import Spilled
from crowdveil.names import name_hashes

if TYPE_CHECKING:
    from crowdveil.engines.stored.claims import StoredClaims

Hashes = NDArray[np.uint64]

NAMES_AT_ONCE = 100_000


@dataclass(frozen=True, eq=False)
class Cap:
    """The last claims that are kept, by user: those of users with few claims are beyond all."""

    offsets: Ints  # of the objects
    by_object: Hashes
    by_user: Hashes
    keys: Hashes
    places: Ints

    @classmethod
    def of(cls, claims: StoredClaims, most: int) -> Cap:
        """The cap of `most` claims of each user."""
        users = claims.user_count
        by_object, by_user = _hashes(claims.objects), _hashes(claims.users)
        last = np.full(users, np.iinfo(np.uint64).max), np.full(users, np.iinfo(np.int64).max)
        cap = cls(claims.offsets, by_object, by_user, *last)
        sizes = claims.claims_per_user()
        divided = _by_user(claims, np.where(sizes > most, sizes, 0))
        codes, places = divided.columns
        for _, (begin, end) in divided.regions():
            cap._find(codes[begin:end], places[begin:end], most)
        return cap

    def _find(self, codes: Codes, places: Ints, most: int) -> None:
        """Find the last ones of users all of whose claims are here, each more than `most`."""
        keys = self._keys(codes, places)
        order = np.lexsort((keys, codes))
        users = codes[order]
        begins = np.flatnonzero(np.concatenate([[True], users[1:] != users[:-1]])[: users.size])
        last = order[begins + most - 1]
        self.keys[codes[last]], self.places[codes[last]] = keys[last], places[last]

    def _keys(self, codes: Codes, places: Ints) -> Hashes:
        owners = np.searchsorted(self.offsets, places, side="right") - 1
        keys: Hashes = self.by_object[owners] ^ self.by_user[codes]
        return keys

    def held(self, first: int, last: int, codes: Codes) -> Flags:
        """Which claims of a range of objects, with these users, are kept."""
        counts = np.diff(self.offsets[first : last + 1])
        keys = np.repeat(self.by_object[first:last], counts) ^ self.by_user[codes]
        places = np.arange(self.offsets[first], self.offsets[last])
        ends = self.keys[codes]
        held: Flags = (keys < ends) | ((keys == ends) & (places <= self.places[codes]))
        return held


def _by_user(claims: StoredClaims, sizes: Ints) -> Divided:
    """Users and places of the claims of each user, divided by user; those of users of size 0 are left out."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(offsets[-1])
    columns = Spilled((total,), np.int32), Spilled((total,), np.int64)
    divided = Divided(offsets, claims.memory.claims_laid_out, columns)
    for first, last, codes in claims.codes_in_passing():
        own = np.flatnonzero(sizes[codes])
        assert divided.deal(codes[own], [codes[own], own + claims.offsets[first]]), last
    return divided


def _hashes(names: pl.Series) -> Hashes:
    """Hashes of names, a part of them at a time: as Python texts they are much larger."""
    parts = [name_hashes(names[at : at + NAMES_AT_ONCE]) for at in range(0, len(names), NAMES_AT_ONCE)]
    return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])
