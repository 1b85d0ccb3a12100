"""Claims by user on workers: blocks of whole users, for which blocks of objects send each range its claims.

A block of objects sends its claims in the order of users, and those of a user in the order of objects. A
block of users has all claims in that order: so what comes back for its claims needs no names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Ints
from crowdveil.engines.engine import Block
from crowdveil.engines.spark import users
from crowdveil.engines.spark.blocks import exchanged, kept, owners, single, users_of, zipped
from crowdveil.engines.spark.calls import SparkKept
from crowdveil.engines.spark.cluster import Cluster

if TYPE_CHECKING:
    from pyspark import RDD

    from crowdveil.engines.spark.claims import SparkClaims


@dataclass(frozen=True, eq=False)
class SparkClaimsByUser:
    """A table of claims by user, for loops over users: they are its "objects", and objects its "users"."""

    claims: SparkClaims
    blocks: RDD[Any]  # one Block for each range of users, or None

    @classmethod
    def of(cls, claims: SparkClaims) -> SparkClaimsByUser:
        """The same claims by user."""
        ends = claims.user_ends
        sent = exchanged(claims.blocks, partial(_by_range, ends, claims.firsts), len(ends) - 1)
        whole = claims.user_names.zip(single(sent)).mapPartitionsWithIndex(partial(_of_users, ends))
        return cls(claims, kept(whole))

    @property
    def cluster(self) -> Cluster:
        """Where the blocks are."""
        return self.claims.cluster

    @property
    def object_count(self) -> int:
        """The number of users."""
        return self.claims.user_count

    @property
    def user_count(self) -> int:
        """The number of objects."""
        return self.claims.object_count

    def __len__(self) -> int:
        return len(self.claims)

    @cached_property
    def firsts(self) -> list[int]:
        """The number of each block's first user, and at the end that of all users."""
        ends: list[int] = self.claims.user_ends.tolist()
        return ends

    @cached_property
    def user_ends(self) -> Ints:
        """The ranges of objects, by their numbers."""
        return np.array(self.claims.firsts, dtype=np.int64)

    @property
    def users(self) -> pl.Series:
        """The names of the objects, ascending."""
        return self.claims.objects

    @property
    def user_names(self) -> RDD[Any]:
        """For each range of objects: their names."""
        return self.claims.object_names

    @property
    def routes(self) -> None:
        """Blocks index all objects."""

    def returned(self, numbers: SparkKept) -> SparkKept:
        """Numbers by claim of this table, in the order in which `claims` has its claims."""
        sent = exchanged(
            zipped(self.blocks, [numbers.arrays]),
            partial(_by_block, self.user_ends, numbers.which),
            len(self.claims.firsts) - 1,
        )
        there = kept(zipped(self.claims.blocks, [sent]).map(_in_order))
        return SparkKept(there, 0, "claim", self.claims, numbers.stage)


def _by_user(block: Block) -> Ints:
    """The block's claims in the order of users."""
    return np.argsort(users_of(block), kind="stable")


def _by_range(
    ends: Ints, firsts: Sequence[int], part: int, block: Block | None
) -> Iterator[tuple[int, tuple[Codes, Codes, Any]]]:
    """To each range of users: users, objects and values of the block's claims."""
    if block is None:
        return
    order = _by_user(block)
    codes, values = users_of(block)[order], block.values[order]
    objects = (owners(block)[order] + firsts[part]).astype(np.int32)
    for target, begin, end in users.cuts(codes, ends):
        yield target, (codes[begin:end], objects[begin:end], values[begin:end])


def _of_users(ends: Ints, part: int, found: Iterable[tuple[Any, Any]]) -> Iterator[Block | None]:
    for names, sent in found:
        if not len(names):
            yield None
            continue
        nothing = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
        codes, objects, values = (
            np.concatenate([empty, *(payload[which] for _, payload in sent)])
            for which, empty in enumerate(nothing)
        )
        codes = codes - np.int32(ends[part])
        order = np.argsort(codes, kind="stable")  # sources ascend, so those of a user stay sorted by object
        offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(names)))])
        yield Block(0, names, offsets.astype(np.int64), objects[order], values[order])


def _by_block(ends: Ints, which: int, _: int, both: Any) -> Iterator[tuple[int, Any]]:
    """To each block of objects the numbers of its claims, in the order in which it sent these."""
    block, (arrays,) = both
    if block is None:
        return
    sources = np.searchsorted(ends, block.user_codes, side="right") - 1
    order = np.argsort(sources, kind="stable")
    for target, begin, end in users.cuts(sources[order], np.arange(ends.size)):
        yield target, arrays[which][order[begin:end]]


def _in_order(both: Any) -> tuple[Any] | None:
    """The numbers of a block's claims, which came back in the order of users."""
    block, (sent,) = both
    if block is None:
        return None
    numbers = [payload for _, payload in sent]
    there = np.empty(block.values.size, dtype=numbers[0].dtype if numbers else np.float64)
    if numbers:
        there[_by_user(block)] = np.concatenate(numbers)
    return (there,)
