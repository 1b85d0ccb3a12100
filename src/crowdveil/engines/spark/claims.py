"""Claims that Spark's workers hold: what `Claims` tells of them and does with them, without the claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdveil.arrays import Flags, Ints
from crowdveil.claims import Claims
from crowdveil.engines.engine import Block
from crowdveil.engines.spark import users
from crowdveil.engines.spark.blocks import exchanged, kept, owners, sealed, single, users_of, zipped
from crowdveil.engines.spark.by_user import SparkClaimsByUser
from crowdveil.engines.spark.calls import SparkKept, called, summed, summed_by_user
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.errors import InputError
from crowdveil.kernels import layout
from crowdveil.names import listed_names, name_hashes

if TYPE_CHECKING:
    from pyspark import RDD

MOST_NAMED = 2**31 - 1  # objects, and users: codes have 32 bits
MOST_POOLED = 2**27  # claims of a pool: what one task passes on is less than 2 GiB
_NOBODY = pl.Series("user", [], dtype=pl.String)


@dataclass(frozen=True, eq=False)
class SparkClaims:
    """Claims in blocks on workers; the driver knows how many each object has, and the names if it asks."""

    cluster: Cluster
    blocks: RDD[Any]  # one Block for each partition, or None
    object_counts: Ints  # (N,) numbers of claims
    firsts: list[int]  # the number of each block's first object, and at the end that of all objects
    user_names: RDD[Any]  # for each range of users: their names
    user_ends: Ints  # the ranges of users, by their numbers
    kinds: tuple[Any, Any]  # of the names of objects and of users
    routes: RDD[Any] | None = None  # with many users: for each range, by block, which of them it asks for

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        blocks: RDD[Any],
        user_names: RDD[Any],
        user_ends: Ints,
        kinds: tuple[Any, Any],
        *,
        routed: bool,
    ) -> SparkClaims:
        """The claims in these blocks, which the workers keep."""
        blocks = sealed(blocks)
        counts = blocks.map(_sizes).collect()
        firsts = [0, *np.cumsum([each.size for each in counts]).tolist()]
        if max(firsts[-1], int(user_ends[-1])) > MOST_NAMED:
            raise InputError(f"there are more than {MOST_NAMED:,} objects or users")
        routes = users.routes(blocks, user_ends) if routed else None
        whole = np.concatenate([np.zeros(0, dtype=np.int64), *counts])
        return cls(cluster, blocks, whole, firsts, user_names, user_ends, kinds, routes)

    def _with(self, blocks: RDD[Any]) -> SparkClaims:
        """The same users' claims in other blocks."""
        routed = self.routes is not None
        return SparkClaims.of(
            self.cluster, blocks, self.user_names, self.user_ends, self.kinds, routed=routed
        )

    # --- what they tell ------------------------------------------------------------------------------------

    @property
    def object_count(self) -> int:
        """The number of objects."""
        return self.firsts[-1]

    @property
    def user_count(self) -> int:
        """The number of users."""
        return int(self.user_ends[-1])

    def __len__(self) -> int:
        return int(self.object_counts.sum())

    def __repr__(self) -> str:
        return f"SparkClaims({len(self)} claims, {self.object_count} objects, {self.user_count} users)"

    def counts(self) -> Ints:
        """Number of claims about each object."""
        return self.object_counts

    @cached_property
    def objects(self) -> pl.Series:
        """The names of the objects, ascending, brought to the driver."""
        return _one_column(self.object_names.collect(), "object", self.kinds[0])

    @property
    def object_names(self) -> RDD[Any]:
        """For each block: the names of its objects, or None."""
        return self.blocks.map(_names_of)

    @cached_property
    def users(self) -> pl.Series:
        """The names of the users, ascending, brought to the driver."""
        return _one_column(self.user_names.collect(), "user", self.kinds[1])

    def claims_per_user(self) -> Ints:
        """Number of claims of each user."""
        return self._claims_per_user

    @cached_property
    def _claims_per_user(self) -> Ints:
        with self.cluster.watched("users"):
            return summed_by_user(self, 1, _count_users, None, ())[0]

    def outside(self, low: float, high: float) -> int:
        """How many values lie outside [low, high]."""
        return int(summed(self, 1, _count_outside, (low, high), ())[0][0])

    # --- what can be done with them ------------------------------------------------------------------------

    def clamped(self, low: float, high: float) -> tuple[SparkClaims, int]:
        """The claims with values clamped to [low, high], and the number of values that were outside."""
        outside = self.outside(low, high)
        return (self._with(self.blocks.map(partial(_clamp, low, high))) if outside else self), outside

    def without_claims(self) -> SparkClaims:
        """The objects alone."""
        return replace(self, blocks=self.blocks.map(_bare))

    def capped(self, most: int, *, keep_objects: bool = False) -> SparkClaims:
        """At most `most` claims of each user, chosen by a hash of names, never by values.

        Objects that lose all their claims are dropped, unless `keep_objects`.
        """
        hashed = replace(self, blocks=single(self.blocks.map(_hashed)))
        users = replace(hashed.by_user(), claims=self)
        chosen = users.returned(SparkKept(called(users, _chosen, most, ()), 0, "claim", users, "cap"))
        with self.cluster.watched("cap"):
            return self._with(zipped(self.blocks, [chosen.arrays]).map(partial(_capped, keep_objects)))

    def here(self) -> Claims:
        """The claims, brought to the driver."""
        return self.picked(np.arange(self.object_count))

    def by_user(self) -> SparkClaimsByUser:
        """The claims by user; those of a user in the order of objects."""
        return SparkClaimsByUser.of(self)

    def with_values(self, values: SparkKept) -> SparkClaims:
        """The same claims with other values, laid out by these; equal ones in the order of users' names."""
        laid_out = zipped(self.blocks, [values.arrays]).map(partial(_with_values, values.which))
        return replace(self, blocks=kept(laid_out))

    def about(self, objects: Iterable[str | int]) -> SparkClaims:
        """The claims about the listed objects only; a listed object may have no claim."""
        beginnings = self.blocks.map(_first_name).collect()
        holders = {part: each for part, each in enumerate(beginnings) if each is not None}
        names = listed_names(objects, self.kinds[0])
        cuts = [int(names.search_sorted(each[0])) for each in holders.values()][1:]
        ends = itertools.pairwise([0, *cuts, len(names)])
        listed = {part: names[a:b] for part, (a, b) in zip(holders or [0], ends, strict=True)}
        return self._with(self.blocks.mapPartitionsWithIndex(partial(_about, listed)))

    def pooled(self, name: str) -> SparkClaims:
        """All claims as claims about one object of this name, in one block."""
        if len(self) > MOST_POOLED:
            raise InputError(f"Spark pools at most {MOST_POOLED:,} claims, and there are {len(self):,}")
        together = exchanged(self.blocks, _all_to_one, 1).map(partial(_pooled, name))
        one = replace(self, kinds=(pl.String, self.kinds[1]))
        return one._with(together if self.routes is None else together.map(users.with_own_list))

    def picked(self, rows: Ints) -> Claims:
        """The claims about a few objects, brought to the driver; users keep their numbers."""
        found = self.blocks.mapPartitionsWithIndex(partial(_picked, rows, self.firsts)).collect()
        blocks = [each for each in found if each is not None]
        offsets = np.concatenate([[0], *(np.diff(each.offsets) for each in blocks)]).cumsum()
        return Claims(
            _one_column([each.names for each in blocks], "object", self.kinds[0]),
            self.users,
            offsets.astype(np.int64),
            np.concatenate([np.zeros(0, dtype=np.int32), *(users_of(each) for each in blocks)]),
            np.concatenate([np.zeros(0), *(each.values for each in blocks)]),
        )


def _one_column(found: Sequence[pl.Series | None], name: str, kind: Any) -> pl.Series:
    names = [each for each in found if each is not None and len(each)]
    return pl.concat(names).alias(name) if names else pl.Series(name, [], dtype=kind)


def _names_of(block: Block | None) -> pl.Series | None:
    return None if block is None else block.names


def _sizes(block: Block | None) -> Ints:
    """The objects' numbers of claims."""
    return np.zeros(0, dtype=np.int64) if block is None else np.diff(block.offsets)


def _count_users(block: Block, _: None, totals: Ints) -> None:
    totals += np.bincount(block.user_codes, minlength=totals.size)


def _count_outside(block: Block, limits: tuple[float, float], totals: Ints) -> None:
    low, high = limits
    totals[0] += np.count_nonzero((block.values < low) | (block.values > high))


def _clamp(low: float, high: float, block: Block | None) -> Block | None:
    if block is None:
        return None
    codes, values = block.user_codes.copy(), block.values.copy()
    layout.clamp(block.offsets, low, high, codes, values)
    return replace(block, user_codes=codes, values=values)


def _bare(block: Block | None) -> Block | None:
    if block is None:
        return None
    nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
    return Block(block.first, block.names, np.zeros_like(block.offsets), *nothing)


def _of_objects(block: Block, rows: Ints) -> Block:
    """The block with some of its objects only."""
    held = np.zeros(block.size, dtype=np.bool_)
    held[rows] = True
    return _with_claims(block, rows, held[owners(block)])


def _with_claims(block: Block, rows: Ints, held: Flags) -> Block:
    """The block with some of its objects, and of their claims those that are held."""
    counts = np.bincount(owners(block)[held], minlength=block.size)[rows]
    return replace(
        block,
        names=block.names.gather(rows),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        user_codes=block.user_codes[held],
        values=block.values[held],
    )


def _picked(
    rows: Ints, firsts: Sequence[int], part: int, found: Iterable[Block | None]
) -> Iterator[Block | None]:
    own = np.sort(rows[(rows >= firsts[part]) & (rows < firsts[part + 1])]) - firsts[part]
    for block in found:
        yield None if block is None or not own.size else _of_objects(block, own)


def _with_values(which: int, both: Any) -> Block | None:
    block, (arrays,) = both
    if block is None:
        return None
    objects, codes = owners(block).astype(np.int32), block.user_codes.copy()
    offsets, count = block.offsets.copy(), int(codes.max(initial=-1)) + 1
    laid_out = np.empty_like(codes), np.empty(codes.size)
    layout.lay_out(objects, codes, arrays[which], offsets, count, *laid_out)
    layout.sort_values(offsets, *laid_out)
    same: Block = replace(block, user_codes=laid_out[0], values=laid_out[1])
    return same


# --- caps: users choose among their claims, of which they see hashes of objects' names in place of values ---


def _hashed(block: Block | None) -> Block | None:
    if block is None:
        return None
    return replace(block, values=name_hashes(block.names)[owners(block)].view(np.float64))


def _chosen(block: Block, most: int) -> tuple[Flags]:
    """Which claims of a block of users are among the first of each one, by a hash of both names."""
    users = owners(block)
    keys = block.values.view(np.uint64) ^ name_hashes(block.names)[users]
    held = np.zeros(users.size, dtype=np.bool_)
    held[np.lexsort((keys, users))[np.arange(users.size) - block.offsets[users] < most]] = True
    return (held,)


def _capped(keep_objects: bool, both: Any) -> Block | None:
    """The block with those of its claims that were chosen."""
    block, (arrays,) = both
    if block is None:
        return None
    held = arrays[0].astype(np.bool_)  # a block without claims got numbers of no kind
    counts = np.bincount(owners(block)[held], minlength=block.size)
    remaining = np.arange(block.size) if keep_objects else np.flatnonzero(counts)
    return _with_claims(block, remaining, held) if remaining.size else None


# --- lists of objects, and all objects as one ---------------------------------------------------------------


def _first_name(block: Block | None) -> pl.Series | None:
    return None if block is None else block.names[:1]


def _about(
    listed: Mapping[int, pl.Series], part: int, found: Iterable[Block | None]
) -> Iterator[Block | None]:
    """The claims of a block about the listed objects that belong to its part."""
    names = listed.get(part)
    for block in found:
        if names is None or not len(names):
            yield None
        elif block is None:
            nothing = np.zeros(0, np.int32), np.zeros(0)
            yield Block(0, names, np.zeros(len(names) + 1, dtype=np.int64), *nothing)
        else:
            claims = Claims(block.names, _NOBODY, block.offsets, block.user_codes, block.values).about(names)
            yield replace(
                block,
                names=claims.objects,
                offsets=claims.offsets,
                user_codes=claims.user_codes,
                values=claims.values,
            )


def _all_to_one(_: int, block: Block | None) -> Iterator[tuple[int, Any]]:
    if block is not None:
        yield 0, (users_of(block), block.values)


def _pooled(name: str, found: Sequence[tuple[int, Any]]) -> Block:
    nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
    codes, values = (
        np.concatenate([none, *(payload[which] for _, payload in found)])
        for which, none in enumerate(nothing)
    )
    order = np.argsort(values, kind="stable")
    offsets = np.array([0, values.size], dtype=np.int64)
    return Block(0, pl.Series("object", [name]), offsets, codes[order], values[order])
