"""Blocks on workers: an RDD with one element for each partition, and what passes between partitions."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Ints
from crowdveil.engines.engine import Block, RecordBlock
from crowdveil.errors import EngineError

if TYPE_CHECKING:
    from pyspark import RDD

    from crowdveil.engines.spark.cluster import Cluster

AnyBlock = TypeVar("AnyBlock", Block, RecordBlock)
Split = Callable[[int, Any], Iterator[tuple[int, Any]]]


class Table(Protocol):
    """Blocks on workers, of claims or of records."""

    @property
    def cluster(self) -> Cluster:
        """Where the blocks are."""

    @property
    def blocks(self) -> RDD[Any]:
        """One block for each partition, or None."""

    @property
    def firsts(self) -> list[int]:
        """The number of each block's first object or record, and at the end that of all."""

    @property
    def routes(self) -> RDD[Any] | None:
        """With many users: for each range, by block, which of them it asks for."""

    def __len__(self) -> int: ...


class UsersTable(Table, Protocol):
    """Blocks of claims, which have users."""

    @property
    def user_ends(self) -> Ints:
        """The ranges of users, by their numbers."""

    @property
    def users(self) -> pl.Series:
        """The names of all users, ascending."""

    @property
    def user_names(self) -> RDD[Any]:
        """For each range of users: their names."""

    @property
    def user_count(self) -> int:
        """The number of users."""


def single(rdd: RDD[Any]) -> RDD[Any]:
    """The RDD with each element pickled alone: so it can be zipped with blocks."""
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    return rdd._reserialize(BatchedSerializer(CPickleSerializer(), 1))  # type: ignore[no-untyped-call]


def kept(rdd: RDD[Any]) -> RDD[Any]:
    """The RDD, which the workers keep once it is computed: in memory as it is, else on disk.

    They keep it as long as somebody here can ask for it.
    """
    from pyspark import StorageLevel

    held = single(rdd).persist(StorageLevel(True, True, False, True))
    weakref.finalize(held, _forgotten, held._jrdd).atexit = False
    return held


CHANGED = "the input was changed while Spark worked on it"


def sealed(rdd: RDD[Any]) -> RDD[Any]:
    """The RDD, kept; an element that must be computed again, and is another one then, ends the run.

    Whoever draws for changed claims from the same streams would tell what has changed.
    """
    first = kept(rdd)
    contents = first.map(_content).collect()
    same = kept(first.mapPartitionsWithIndex(partial(_unchanged, contents)))
    same.foreach(ignore)
    first.unpersist()
    return same


def _content(element: Any) -> bytes:
    """A digest of a block, or of a column of names."""
    hashed = blake2b(digest_size=16)
    for each in [element] if element is None or isinstance(element, pl.Series) else vars(element).values():
        if isinstance(each, np.ndarray):
            hashed.update(f"{each.dtype} {each.shape}".encode())
            hashed.update(np.ascontiguousarray(each).data)
        elif isinstance(each, pl.Series):
            hashed.update(f"{each.dtype} {len(each)}".encode())
            hashed.update(np.ascontiguousarray(each.hash(0).to_numpy()).data)
        else:
            hashed.update(repr(each).encode())
    return hashed.digest()


def _unchanged(contents: Sequence[bytes], part: int, found: Iterable[Any]) -> Iterator[Any]:
    for element in found:
        if _content(element) != contents[part]:
            raise EngineError(CHANGED)
        yield element


def ignore(_: Any) -> None:
    """Let a call run for what it does."""


def _forgotten(held: Any) -> None:
    with suppress(Exception):  # the session may have ended
        held.unpersist(False)


def zipped(blocks: RDD[Any], others: Sequence[RDD[Any]]) -> RDD[Any]:
    """An RDD of (block, [one element of each other RDD]); partitions have one element each."""
    if not others:
        return blocks.map(_alone)
    together = single(others[0]).map(_listed)
    for other in others[1:]:
        together = single(together).zip(single(other)).map(_appended)
    return blocks.zip(single(together))


def _alone(block: Any) -> tuple[Any, list[Any]]:
    return block, []


def _listed(each: Any) -> list[Any]:
    return [each]


def _appended(both: tuple[list[Any], Any]) -> list[Any]:
    return [*both[0], both[1]]


def exchanged(elements: RDD[Any], split: Split, targets: int) -> RDD[Any]:
    """For each target a list of (source, what its element sent here), by source."""

    def send(source: int, found: Iterable[Any]) -> Iterator[Any]:
        for each in found:
            for target, payload in split(source, each):
                yield target, (source, payload)

    return elements.mapPartitionsWithIndex(send).partitionBy(targets, int).mapPartitions(_gathered)


def _gathered(found: Iterable[Any]) -> Iterator[Any]:
    yield sorted((payload for _, payload in found), key=_source)


def _source(sent: tuple[int, Any]) -> int:
    return sent[0]


def numbered(block: AnyBlock, first: int) -> AnyBlock:
    """The block, read-only, with the number of its first object or record."""
    _forget_imports()
    for array in vars(block).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return replace(block, first=first)


@cache
def _forget_imports() -> None:
    """Take what was imported off the garbage collector's list: Spark runs it after every task."""
    gc.collect()
    gc.freeze()


def users_of(block: Block) -> Codes:
    """The users of all claims, by their numbers among all users."""
    return block.user_codes if block.users is None else block.users[block.user_codes]


def owners(block: Block) -> Ints:
    """The place in the block of each claim's object."""
    return np.repeat(np.arange(block.size), np.diff(block.offsets))
