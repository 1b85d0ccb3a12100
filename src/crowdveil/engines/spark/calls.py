"""Calls of functions on blocks: what they share and their parts reach the workers, and results come back."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from crowdveil.arrays import Ints, frozen
from crowdveil.engines.engine import (
    Array,
    Block,
    ByClaim,
    ByObject,
    ByUser,
    ByValue,
    Part,
    Per,
    UserNames,
)
from crowdveil.engines.spark import users
from crowdveil.engines.spark.blocks import Table, UsersTable, exchanged, numbered, single, zipped
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.engines.spark.sharing import block_of

if TYPE_CHECKING:
    from pyspark import RDD

LARGE = 100_000  # bytes: larger arrays that all blocks share are broadcast


@dataclass(frozen=True, eq=False)
class SparkKept:
    """One of the arrays that a call returned, where the blocks are."""

    arrays: RDD[Any]  # a tuple of arrays for each partition, or None
    which: int
    per: Per
    table: Table
    stage: str

    def __len__(self) -> int:
        assert self.per != "value"  # which has as many as there are
        return self.table.firsts[-1] if self.per == "object" else len(self.table)


def called(table: Table, function: Callable[..., Any], shared: Any, parts: Sequence[Part]) -> RDD[Any]:
    """What the function returns for each block, or None where a partition has none."""
    sent = _Sent.of(table.cluster, shared)
    given, together = _given(table, parts)
    firsts = table.firsts

    def call(part: int, found: Iterable[tuple[Block | None, Sequence[Any]]]) -> Iterator[Any]:
        for block, own in found:
            if block is None:
                yield None
            else:
                whole = numbered(block, firsts[part])
                yield function(whole, sent.value(), *given.parts(whole, own))

    return together.mapPartitionsWithIndex(call)


def summed(
    table: Table, size: int, add: Callable[..., Any], shared: Any, parts: Sequence[Part]
) -> tuple[Ints, dict[int, tuple[Array, ...]]]:
    """Totals over all blocks, and what `add` returned for each partition."""
    for blocks in table.cluster.ways(table):
        totals = _totals(table, blocks, size, add, shared, parts, alike=True)
        few = totals.getNumPartitions() <= FEW_TOTALS
        found = totals.reduce(_together) if few else totals.treeReduce(_together)
        if found[0] is not None:
            break
    return found[0], found[2]


_NOBODY = np.zeros(0, dtype=np.int32)
FEW_TOTALS = 16  # that the driver adds itself


def summed_by_user(
    table: UsersTable, width: int, add: Callable[..., Any], shared: Any, parts: Sequence[Part]
) -> tuple[Ints, dict[int, tuple[Array, ...]]]:
    """As `summed`, with `width` totals for each user."""
    if table.routes is None:
        return summed(table, width * table.user_count, add, shared, parts)
    ends = table.user_ends
    totals = _totals(table, table.blocks, width, add, shared, parts)

    def returned(source: int, total: Any) -> Iterator[tuple[int, Any]]:
        """To each range of users the block's totals of them; to one range what was returned for the block."""
        own, block_users, arrays = total
        for target, begin, end in users.cuts(block_users, ends):
            yield target, own[width * begin : width * end]
        if arrays:
            yield source % (len(ends) - 1), arrays

    def added(part: int, found: Iterable[Any]) -> Iterator[Any]:
        for route, sent in found:
            sums = np.zeros((int(ends[part + 1] - ends[part]), width), dtype=np.int64)
            places = dict(route)
            arrays: dict[int, tuple[Array, ...]] = {}
            for source, payload in sent:
                if isinstance(payload, dict):
                    arrays |= payload
                else:
                    sums[places[source]] += payload.reshape(-1, width)
            yield sums.ravel(), arrays

    sent = exchanged(totals, returned, len(ends) - 1)
    by_range = table.routes.zip(single(sent)).mapPartitionsWithIndex(added).collect()
    return np.concatenate([each[0] for each in by_range]), {
        part: arrays for each in by_range for part, arrays in each[1].items()
    }


def _totals(
    table: Table,
    blocks: RDD[Any],
    size: int,
    add: Callable[..., Any],
    shared: Any,
    parts: Sequence[Part],
    *,
    alike: bool = False,
) -> RDD[Any]:
    """For each block its totals, its list of users, and by block what `add` returned.

    All totals have `size` numbers if they are `alike`, otherwise as many for each user of the block. There
    are none for a block that is not where `blocks` tell.
    """
    sent = _Sent.of(table.cluster, shared)
    given, together = _given(table, parts, blocks)
    firsts = table.firsts

    def total(part: int, found: Iterable[tuple[Any, Sequence[Any]]]) -> Iterator[Any]:
        for place, own in found:
            is_there, block = block_of(place)
            if not is_there:
                yield None, None, {}
                continue
            listed = _NOBODY if alike else users.listed(block)
            totals = np.zeros(size if alike else size * listed.size, dtype=np.int64)
            arrays: dict[int, tuple[Array, ...]] = {}
            if block is not None:
                whole = numbered(block, firsts[part])
                returned = add(whole, sent.value(), *given.parts(whole, own), totals)
                if returned is not None:
                    arrays[part] = returned
            yield totals, listed, arrays

    return together.mapPartitionsWithIndex(total)


def _together(one: Any, other: Any) -> Any:
    if one[0] is None or other[0] is None:
        return None, None, {}
    return one[0] + other[0], None, one[2] | other[2]


# --- what is sent -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sent:
    """What all blocks share, pickled, with its large arrays as broadcast variables.

    The secret key of draws is in what is pickled: it goes with the tasks, over Spark's own channel.
    """

    pickled: bytes = field(repr=False)
    arrays: list[Any]

    @classmethod
    def of(cls, cluster: Cluster, shared: Any) -> _Sent:
        """What blocks share, as it is sent."""
        arrays: list[Any] = []

        class Pickler(pickle.Pickler):
            def persistent_id(self, thing: Any) -> int | None:
                if not (isinstance(thing, np.ndarray) and thing.nbytes > LARGE):
                    return None
                arrays.append(cluster.broadcast(thing))
                return len(arrays) - 1

        data = io.BytesIO()
        Pickler(data, protocol=5).dump(shared)
        return cls(data.getvalue(), arrays)

    def value(self) -> Any:
        """What was sent."""
        reader = pickle.Unpickler(io.BytesIO(self.pickled))  # noqa: S301, our own
        reader.persistent_load = lambda number: _received(self.arrays[int(number)])  # type: ignore[method-assign]
        return reader.load()


def _received(sent: Any) -> Array:
    kind, shape, data = sent.value
    return np.frombuffer(data, dtype=kind).reshape(shape)


@dataclass(frozen=True)
class _Given:
    """Where a block finds its parts, by number: a broadcast of all users or objects, or a zipped tuple."""

    by_user: Mapping[int, Any]
    by_object: Mapping[int, Any]
    places: Mapping[int, tuple[int, int]]  # which of the zipped tuples, and where in it
    names: Mapping[int, Any]  # broadcasts of the names of all users

    def parts(self, block: Block, own: Sequence[Any]) -> list[Array | pl.Series]:
        """The parts in the order of the function's arguments."""
        found: dict[int, Array | pl.Series] = {
            number: _received(each) for number, each in self.by_user.items()
        }
        end = block.first + block.size
        found |= {number: _received(each)[block.first : end] for number, each in self.by_object.items()}
        found |= {number: own[which][place] for number, (which, place) in self.places.items()}
        found |= {number: _column(_received(each)) for number, each in self.names.items()}
        return [
            each if isinstance(each, pl.Series) else frozen(each.view())
            for each in (found[number] for number in range(len(found)))
        ]


def _given(table: Table, parts: Sequence[Part], blocks: RDD[Any] | None = None) -> tuple[_Given, RDD[Any]]:
    """Where blocks find their parts, and an RDD of (block, tuples of arrays)."""
    by_user: dict[int, Any] = {}
    by_object: dict[int, Any] = {}
    places: dict[int, tuple[int, int]] = {}
    names: dict[int, Any] = {}
    rdds: list[RDD[Any]] = []
    routed = {
        n: part.numbers
        for n, part in enumerate(parts)
        if isinstance(part, ByUser) and table.routes is not None
    }
    if routed:
        rdds.append(users.dealt(cast("UsersTable", table), list(routed.values())))
        places |= {number: (0, which) for which, number in enumerate(routed)}
    for number, part in enumerate(parts):
        if number in places:
            continue
        if isinstance(part, ByUser):
            by_user[number] = table.cluster.broadcast(part.numbers)
        elif isinstance(part, UserNames):
            if table.routes is None:
                names[number] = table.cluster.broadcast(_packed(cast("UsersTable", table).users))
            else:
                places[number] = len(rdds), 0
                rdds.append(users.names_dealt(cast("UsersTable", table)))
        elif isinstance(part.numbers, SparkKept):
            if part.numbers.arrays not in rdds:
                rdds.append(part.numbers.arrays)
            places[number] = rdds.index(part.numbers.arrays), part.numbers.which
        elif isinstance(part, ByObject):
            by_object[number] = table.cluster.broadcast(part.numbers)
        else:
            assert isinstance(part, ByClaim | ByValue)
            raise TypeError("numbers by claim or value stay with the blocks")
    return _Given(by_user, by_object, places, names), zipped(blocks or table.blocks, rdds)


def _packed(names: pl.Series) -> Array:
    """A column as bytes."""
    return np.frombuffer(pickle.dumps(names, protocol=5), dtype=np.uint8)


def _column(data: Array) -> pl.Series:
    names: pl.Series = pickle.loads(data.tobytes())  # noqa: S301, our own
    return names
