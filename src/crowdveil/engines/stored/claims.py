"""Claims on disk: a table like `Claims` of which only names, offsets and numbers by user are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdveil.arrays import Codes, Flags, Ints, frozen
from crowdveil.claims import Claims
from crowdveil.engines.memory import Memory
from crowdveil.engines.stored.by_user import StoredClaimsByUser
from crowdveil.engines.stored.caps import Cap
from crowdveil.engines.stored.spilled import Spilled
from crowdveil.errors import ParameterError
from crowdveil.kernels import layout
from crowdveil.names import listed_names


@dataclass(frozen=True, eq=False, repr=False)
class StoredClaims(Claims):
    """Claims whose users and values are on disk, in the same layout; slices of them are arrays.

    What is made of them is on disk as well, but for what is small: the claims about a few objects.
    """

    user_codes: Any  # Spilled
    values: Any  # Spilled
    memory: Memory
    _capped: dict[int, StoredClaims] = field(default_factory=dict)  # the last one, with all objects
    _sizes: list[Ints] = field(default_factory=list)  # the users' numbers of claims, once they are known

    def claims_per_user(self) -> Ints:
        """Number of claims of each user."""
        if not self._sizes:
            sizes = np.zeros(self.user_count, dtype=np.int64)
            for _, _, codes in self.codes_in_passing():
                np.add.at(sizes, codes, 1)
            self._sizes.append(frozen(sizes))
        return self._sizes[0]

    def outside(self, low: float, high: float) -> int:
        """How many values lie outside [low, high]."""
        found = 0
        for begin, end in self._pieces():
            values = self.values[begin:end]
            found += int(np.count_nonzero((values < low) | (values > high)))
        return found

    def clamped(self, low: float, high: float) -> tuple[StoredClaims, int]:
        """The claims with values clamped to [low, high], and the number of values that were outside."""
        outside = self.outside(low, high)
        if not outside:
            return self, 0
        to = _Room(len(self))
        for first, last, codes in self.codes_in_passing():
            values = self.values[self.offsets[first] : self.offsets[last]]
            layout.clamp(self.offsets[first : last + 1] - self.offsets[first], low, high, codes, values)
            to.put(codes, values)
        return self._with(to, self.objects, self.counts()), outside

    def about(self, objects: Iterable[str | int]) -> StoredClaims:
        """The claims about the listed objects only; a listed object may have no claim."""
        names = listed_names(objects, self.objects.dtype)
        places = np.minimum(names.search_sorted(self.objects).to_numpy(), len(names) - 1)
        listed = (names.gather(places) == self.objects).to_numpy()
        counts = np.zeros(len(names), dtype=np.int64)
        counts[places[listed]] = self.counts()[listed]

        def held(first: int, last: int, _: Codes) -> Flags:
            return np.repeat(listed[first:last], np.diff(self.offsets[first : last + 1]))

        to, _ = self._selected(int(counts.sum()), held)
        return self._with(to, names, counts)

    def capped(self, most: int, *, keep_objects: bool = False) -> StoredClaims:
        """At most `most` claims of each user, chosen by a hash of names, never by values.

        Objects that lose all their claims are dropped, unless `keep_objects`.
        """
        if most not in self._capped:
            total = int(np.minimum(self.claims_per_user(), most).sum())
            to, counts = self._selected(total, Cap.of(self, most).held)
            self._capped.clear()
            self._capped[most] = self._with(to, self.objects, counts)
        capped = self._capped[most]
        if keep_objects:
            return capped
        remaining = np.flatnonzero(capped.counts())
        offsets = frozen(np.append(capped.offsets[remaining], len(capped)))
        objects = self.objects.gather(remaining)
        return StoredClaims(objects, self.users, offsets, capped.user_codes, capped.values, self.memory)

    def pooled(self, name: str) -> Claims:
        """All claims as claims about one object of this name, in memory if they fit there."""
        self.memory.check_pool(len(self))
        return self._in_memory().pooled(name)

    def here(self) -> Claims:
        """The claims in memory, if they fit there."""
        self.memory.check_whole(len(self))
        return self._in_memory()

    def by_user(self) -> StoredClaimsByUser:
        """The claims by user; those of a user in the order of objects."""
        return StoredClaimsByUser.of(self)

    def with_values(self, values: Any) -> StoredClaims:
        """The same claims with other values, laid out by these; equal ones in the order of users' names."""
        to = _Room(len(self))
        for first, last, codes in self.codes_in_passing():
            begin, end = self.offsets[first], self.offsets[last]
            offsets = self.offsets[first : last + 1] - begin
            owners = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(offsets))
            laid_out = np.empty(codes.size, dtype=np.int32), np.empty(codes.size)
            layout.lay_out(owners, codes, values[begin:end], offsets, self.user_count, *laid_out)
            layout.sort_values(offsets, *laid_out)
            to.put(*laid_out)
        return self._with(to, self.objects, self.counts())

    def joined(self, more: Claims) -> Claims:  # noqa: ARG002
        """Claims on disk are not joined with others."""
        raise ParameterError("claims that do not fit in memory cannot be joined: join the files")

    def _in_memory(self) -> Claims:
        arrays = frozen(self.user_codes[:]), frozen(self.values[:])
        return Claims(self.objects, self.users, self.offsets, *arrays)

    # --- passes --------------------------------------------------------------------------------------------

    def codes_in_passing(self) -> Iterator[tuple[int, int, Codes]]:
        """Ranges [first, last) of objects that cover all, each with the users of its claims."""
        for first, last in self.blocks(self.memory.rows_in_passing):
            yield first, last, self.user_codes[self.offsets[first] : self.offsets[last]]

    def _pieces(self) -> Iterator[tuple[int, int]]:
        size = self.memory.rows_in_passing
        return ((begin, min(begin + size, len(self))) for begin in range(0, len(self), size))

    def _selected(self, total: int, held: Callable[[int, int, Codes], Flags]) -> tuple[_Room, Ints]:
        """The claims that are held, so many in all, and how many each object has."""
        to, counts = _Room(total), np.zeros(self.object_count, dtype=np.int64)
        for first, last, codes in self.codes_in_passing():
            mask = held(first, last, codes)
            if mask.any():
                values = self.values[self.offsets[first] : self.offsets[last]]
                to.put(codes[mask], values[mask])
            places = np.concatenate([[0], np.cumsum(mask)])
            counts[first:last] = np.diff(places[self.offsets[first : last + 1] - self.offsets[first]])
        return to, counts

    def _with(self, to: _Room, objects: Any, counts: Ints) -> StoredClaims:
        """The same users' claims, which are others now."""
        offsets = frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
        return StoredClaims(objects, self.users, offsets, to.user_codes, to.values, self.memory)


class _Room:
    """Room on disk for claims, which are put there one after the other."""

    def __init__(self, claims: int) -> None:
        self.user_codes, self.values = Spilled((claims,), np.int32), Spilled((claims,), np.float64)
        self._end = 0

    def put(self, codes: Codes, values: Any) -> None:
        """Put some claims behind those that are there."""
        begin, self._end = self._end, self._end + codes.size
        self.user_codes[begin : self._end], self.values[begin : self._end] = codes, values
