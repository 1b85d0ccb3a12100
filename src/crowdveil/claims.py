"""Claims: who said what about which object, coded once and laid out by object.

The layout is canonical: objects are sorted by name, the claims of an object by value, and equal values by
the user's name. So no result depends on the order of the input rows, and renaming users reorders ties only.
The order of values is private: what is published from a `Claims` must not follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Floats, Ints, frozen
from crowdveil.cells import column_of, numbers_of, typed
from crowdveil.errors import InputError
from crowdveil.kernels import layout
from crowdveil.names import coded, listed_names, name_hashes

MOST_ROWS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Claims:
    """Numeric claims grouped by object: the claims about object i are `values[offsets[i]:offsets[i + 1]]`.

    >>> claims = Claims.from_columns(["a", "a", "b"], ["ann", "bob", "ann"], [3.0, 1.0, 2.0])
    >>> claims
    Claims(3 claims, 2 objects, 2 users)
    >>> claims.of(0)
    array([1., 3.])

    Invariants: each (object, user) occurs at most once, every value is finite, names are distinct and in
    Unicode normal form C, every object has a claim (except after `about`, and after `capped` with
    `keep_objects`), and arrays are read-only. `from_frame` and `from_columns` check all of this, and refuse
    a table without rows and values beyond `LARGEST_VALUE`. Where a refusal would give something away they
    take both: `if_any`, there may be no row (an empty list counts as text; an array needs the type that it
    would have with rows); `saturate`, numbers beyond the largest one, infinite ones too, count as the largest
    one. That is for claims which a range will clamp, and no range goes further.
    """

    objects: pl.Series  # names of the N objects, ascending
    users: pl.Series  # names of the M users, ascending
    offsets: Ints  # (N + 1,)
    user_codes: Codes  # (claims,), an index into users
    values: Floats  # (claims,), ascending inside an object

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        object: str,
        user: str,
        value: str,
        source: str = "claims",
        if_any: bool = False,
        saturate: bool = False,
    ) -> Claims:
        """Claims from three columns of a Polars, pandas or Arrow table.

        `object`, `user` and `value` are names of columns; error messages call the table `source`.
        """
        table = nw.from_native(frame, eager_only=True)
        for column in (object, user, value):
            if column not in table.columns:
                raise InputError(f"{source}: there is no column {column!r}")
        columns = [column_of(table[column].to_native(), column, source) for column in (object, user, value)]
        if not if_any:
            _refuse_none(columns, source)
        return _build(*columns, names=(object, user, value), source=source, saturate=saturate)

    @classmethod
    def from_columns(
        cls, objects: Any, users: Any, values: Any, *, if_any: bool = False, saturate: bool = False
    ) -> Claims:
        """Claims from three columns of equal length: lists, NumPy arrays, or Polars or Arrow columns."""
        named = {"objects": objects, "users": users, "values": values}
        columns = [column_of(column, name, "claims") for name, column in named.items()]
        if len({len(column) for column in columns}) != 1:
            raise InputError("objects, users and values differ in length")
        if not if_any:
            _refuse_none(columns, "claims")
        return _build(*columns, names=tuple(named), source="claims", saturate=saturate)

    def __len__(self) -> int:
        return int(self.values.size)

    def __repr__(self) -> str:
        return f"Claims({len(self)} claims, {len(self.objects)} objects, {len(self.users)} users)"

    @property
    def object_count(self) -> int:
        """The number of objects."""
        return len(self.objects)

    @property
    def user_count(self) -> int:
        """The number of users."""
        return len(self.users)

    def counts(self) -> Ints:
        """Number of claims about each object."""
        return np.diff(self.offsets)

    def claims_per_user(self) -> Ints:
        """Number of claims of each user."""
        return np.bincount(self.user_codes, minlength=len(self.users)).astype(np.int64)

    def of(self, index: int) -> Floats:
        """The values claimed about object number `index`, ascending."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def outside(self, low: float, high: float) -> int:
        """How many values lie outside [low, high]."""
        return int(np.count_nonzero((self.values < low) | (self.values > high)))

    def clamped(self, low: float, high: float) -> tuple[Claims, int]:
        """The claims with values clamped to [low, high], and the number of values that were outside."""
        outside = self.outside(low, high)
        if not outside:
            return self, 0
        users, values = self.user_codes.copy(), self.values.copy()
        layout.clamp(self.offsets, low, high, users, values)
        return Claims(self.objects, self.users, self.offsets, frozen(users), frozen(values)), outside

    def with_values(self, values: Floats) -> Claims:
        """The same claims with other values, laid out by these; equal ones in the order of users' names."""
        objects, offsets = self.owners().astype(np.int32), self.offsets.copy()
        laid_out = np.empty_like(self.user_codes), np.empty(len(self))
        layout.lay_out(objects, self.user_codes.copy(), values[:], offsets, len(self.users), *laid_out)
        layout.sort_values(offsets, *laid_out)
        return Claims(self.objects, self.users, self.offsets, *map(frozen, laid_out))

    def joined(self, more: Claims) -> Claims:
        """The union of these claims and `more`, which may name the same objects and users or new ones."""
        if self.objects.dtype != more.objects.dtype or self.users.dtype != more.users.dtype:
            raise InputError(
                "names of objects or users are text in one set of claims and numbers in the other"
            )
        both = (self, more)
        objects = pl.concat([claims.objects.gather(claims.owners()).alias("object") for claims in both])
        users = pl.concat([claims.users.gather(claims.user_codes).alias("user") for claims in both])
        values = pl.Series("value", np.concatenate([claims.values for claims in both]))
        return _build(objects, users, values, names=("object", "user", "value"), source="joined claims")

    def about(self, objects: Iterable[str | int]) -> Claims:
        """The claims about the listed objects only; a listed object may have no claim."""
        names = listed_names(objects, self.objects.dtype)
        new_codes = dict(zip(names.to_list(), range(len(names)), strict=True))
        code_of_object = np.array(
            [new_codes.get(name, -1) for name in self.objects.to_list()], dtype=np.int64
        )
        owners = code_of_object[self.owners()]
        rows = np.flatnonzero(owners >= 0)  # both lists of names ascend, so the layout stays canonical
        counts = np.bincount(owners[rows], minlength=len(names))
        return Claims(
            names,
            self.users,
            frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
            frozen(self.user_codes[rows]),
            frozen(self.values[rows]),
        )

    def capped(self, most: int, *, keep_objects: bool = False) -> Claims:
        """At most `most` claims of each user, chosen by a hash of names, never by values.

        Objects that lose all their claims are dropped, unless `keep_objects`.
        """
        keys = name_hashes(self.objects)[self.owners()] ^ name_hashes(self.users)[self.user_codes]
        order = np.lexsort((keys, self.user_codes))
        users = self.user_codes[order]
        begins = np.flatnonzero(np.concatenate([[True], users[1:] != users[:-1]]))
        rank = np.arange(users.size) - np.repeat(begins, np.diff(np.append(begins, users.size)))
        kept = np.zeros(len(self), dtype=np.bool_)
        kept[order[rank < most]] = True
        counts = np.bincount(self.owners()[kept], minlength=len(self.objects))
        remaining = np.arange(counts.size) if keep_objects else np.flatnonzero(counts)
        return Claims(
            self.objects.gather(remaining),
            self.users,
            frozen(np.concatenate([[0], np.cumsum(counts[remaining])]).astype(np.int64)),
            frozen(self.user_codes[kept]),
            frozen(self.values[kept]),
        )

    def pooled(self, name: str) -> Claims:
        """All claims as claims about one object of this name; a user may have several then."""
        order = np.argsort(self.values, kind="stable")
        return Claims(
            objects=pl.Series("object", [name]),
            users=self.users,
            offsets=np.array([0, len(self)], dtype=np.int64),
            user_codes=self.user_codes[order],
            values=self.values[order],
        )

    def here(self) -> Claims:
        """The claims on this machine."""
        return self

    def without_claims(self) -> Objects:
        """The objects alone."""
        return Objects(self.objects)

    def by_user(self) -> ClaimsByUser:
        """The claims by user; those of a user in the order of objects."""
        order = layout.order_by_code(self.user_codes.copy(), len(self.users))
        offsets = np.concatenate([[0], np.cumsum(self.claims_per_user())]).astype(np.int64)
        objects = self.owners().astype(np.int32)
        return ClaimsByUser(self, order, frozen(offsets), frozen(objects[order]), frozen(self.values[order]))

    def picked(self, rows: Ints) -> Claims:
        """The claims about a few objects, by their numbers, which ascend; users keep theirs."""
        own = [slice(*self.offsets[i : i + 2]) for i in rows]
        return Claims(
            self.objects.gather(rows),
            self.users,
            frozen(np.concatenate([[0], np.cumsum(self.counts()[rows])]).astype(np.int64)),
            frozen(np.concatenate([self.user_codes[:0], *(self.user_codes[each] for each in own)])),
            frozen(np.concatenate([self.values[:0], *(self.values[each] for each in own)])),
        )

    def owners(self) -> Ints:
        """Index of the object of each claim."""
        return np.repeat(np.arange(len(self.objects)), self.counts())

    def blocks(self, claims_per_block: int) -> Iterator[tuple[int, int]]:
        """Ranges [first, last) of objects with about `claims_per_block` claims each; no object is split."""
        return ranges(self.offsets, claims_per_block)


@dataclass(frozen=True, eq=False)
class ClaimsByUser:
    """A table of claims by user, for loops over users: they are its "objects", and objects its "users"."""

    claims: Claims
    order: Codes  # the places of its claims among those of `claims`
    offsets: Ints  # (M + 1,)
    user_codes: Codes  # (claims,), an index into objects, ascending inside a user
    values: Floats  # (claims,)

    @property
    def objects(self) -> pl.Series:
        """The names of the users, ascending."""
        return self.claims.users

    @property
    def users(self) -> pl.Series:
        """The names of the objects, ascending."""
        return self.claims.objects

    def returned(self, numbers: Any) -> Any:
        """Numbers by claim of this table, in the order in which `claims` has its claims."""
        there = np.empty(len(numbers), dtype=numbers.dtype)
        there[self.order] = numbers[:]  # which an engine may keep on disk
        return there

    def blocks(self, claims_per_block: int) -> Iterator[tuple[int, int]]:
        """Ranges [first, last) of users with about `claims_per_block` claims each; no user is split."""
        return ranges(self.offsets, claims_per_block)


@dataclass(frozen=True, eq=False)
class Objects:
    """A table of objects without their claims, for loops over what was made of these."""

    objects: pl.Series  # names, ascending

    @property
    def users(self) -> pl.Series:
        """No users."""
        return pl.Series("user", [], dtype=pl.String)

    @property
    def offsets(self) -> Ints:
        """No object has a claim here."""
        return np.zeros(len(self.objects) + 1, dtype=np.int64)

    @property
    def user_codes(self) -> Codes:
        """No claims."""
        return np.zeros(0, dtype=np.int32)

    @property
    def values(self) -> Floats:
        """No claims."""
        return np.zeros(0)

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Ranges [first, last) of `size` objects."""
        for first in range(0, len(self.objects), size):
            yield first, min(first + size, len(self.objects))


def ranges(offsets: Ints, rows: int) -> Iterator[tuple[int, int]]:
    """Ranges [first, last) of objects with about `rows` rows each, where object i's begin at `offsets[i]`.

    There is at least one range; without objects it is empty.
    """
    first, count = 0, offsets.size - 1
    while True:
        reached = int(np.searchsorted(offsets, offsets[first] + rows, side="right")) - 1
        last = min(count, max(first + 1, reached))
        yield first, last
        first = last
        if first == count:
            return


def _refuse_none(columns: list[pl.Series], source: str) -> None:
    if len(columns[0]) == 0:
        raise InputError(f"{source}: there are no claims (no data rows)")


def _build(
    objects: pl.Series,
    users: pl.Series,
    values: pl.Series,
    *,
    names: Any,
    source: str,
    saturate: bool = False,
) -> Claims:
    """Claims from three checked columns, whose `names` are used in error messages.

    What kinds of columns are refused does not depend on whether they have cells.
    """
    objects, users, values = (typed(column) for column in (objects, users, values))
    if len(values) >= MOST_ROWS:
        raise InputError(f"{source}: more than {MOST_ROWS:,} claims at once")
    numbers = numbers_of(values, names[2], source, saturate=saturate)
    object_codes, object_names = coded(objects, names[0], source)
    user_codes, user_names = coded(users, names[1], source)
    offsets = layout.starts(object_codes, len(object_names))
    by_object = np.empty(len(values), dtype=np.int32), np.empty(len(values))
    if not layout.lay_out(object_codes, user_codes, numbers, offsets, len(user_names), *by_object):
        raise _repeated(object_codes, user_codes, source)
    layout.sort_values(offsets, *by_object)
    return Claims(object_names, user_names, frozen(offsets), *map(frozen, by_object))


def _repeated(objects: Codes, users: Codes, source: str) -> InputError:
    """An error that names the rows of the first repeated (object, user)."""
    pairs = pl.Series(objects.astype(np.int64) << 32 | users)
    repeats = ~pairs.is_first_distinct()
    second = int(repeats.arg_true()[0])
    first = int((pairs == pairs[second]).arg_true()[0])
    count = int(repeats.sum())
    return repeated_claims(source, first, second, count)


def repeated_claims(source: str, first: int, second: int, count: int) -> InputError:
    """An error about claims that repeat others; rows `first` and `second`, from 0, are an example."""
    return InputError(
        f"{source}: one user has several claims about one object, e.g. rows {first + 1} and {second + 1} "
        f"(the header not counted); {count} {'row is' if count == 1 else 'rows are'} too many"
    )
