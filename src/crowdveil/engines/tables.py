"""Tables on this machine, claims or records: their blocks, what belongs to these, and whole arrays."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import inf, prod
from threading import Lock, RLock
from typing import Any

import numpy as np
import polars as pl

from crowdveil.arrays import Ints, frozen
from crowdveil.claims import Claims, ClaimsByUser, Objects
from crowdveil.engines.engine import (
    Array,
    Block,
    ByObject,
    ByUser,
    ByValue,
    Part,
    Per,
    RecordBlock,
    UserNames,
)
from crowdveil.engines.stored import Spilled
from crowdveil.records import Records

ClaimsTable = Claims | ClaimsByUser | Objects  # claims may be stored ones
LocalTable = ClaimsTable | Records
Whole = Array | Spilled

FLATTENED_AT_ONCE = 100_000  # numbers


def item_count(table: LocalTable) -> int:
    """The number of objects, or of records."""
    return len(table) if isinstance(table, Records) else len(table.objects)


def flattened(rows: Array, counts: Ints) -> Array:
    """The first `counts[i]` numbers of row i, one row after the other."""
    _, width = rows.shape
    complete = bool((counts == width).all())
    return rows.ravel() if complete else rows[np.arange(width) < counts[:, None]]


def flattened_on_disk(rows: Spilled, counts: Ints) -> Spilled:
    """As `flattened`, a part of the rows at a time."""
    count, width = rows.shape
    if (counts == width).all():
        return rows.ravel()
    ends = np.concatenate([[0], np.cumsum(counts)])
    flat = Spilled((int(ends[-1]),), rows.dtype)
    step = max(1, FLATTENED_AT_ONCE // max(1, width))
    for first in range(0, count, step):
        last = min(first + step, count)
        flat[ends[first] : ends[last]] = flattened(rows[first:last], counts[first:last])
    return flat


class Room:
    """Room in memory, in bytes, for arrays as long as they are in use; what does not fit goes to disk."""

    def __init__(self, size: float) -> None:
        self._left, self._taking = size, RLock()

    def array(self, shape: tuple[int, ...], dtype: Any) -> Whole:
        """An array of this shape, in memory or on disk."""
        size = np.dtype(dtype).itemsize * prod(shape)
        if size > self._left:
            return Spilled(shape, dtype)
        array = np.empty(shape, dtype=dtype)
        if self._left < inf:
            self._take(size)
            weakref.finalize(array, self._take, -size)
        return array

    def _take(self, size: int) -> None:
        with self._taking:
            self._left -= size


class Wholes:
    """Arrays of all blocks, which are filled block by block; without `per` each is by object."""

    def __init__(self, table: LocalTable, per: Sequence[Per] | None, room: Room) -> None:
        self.arrays: list[Whole] = []
        self._table, self._per, self._room, self._beginning = table, per, room, Lock()

    def put(self, block: Block | RecordBlock, arrays: Sequence[Array]) -> None:
        """Put what belongs to a block in its place."""
        each: Sequence[Per] = self._per or ["object"] * len(arrays)
        with self._beginning:
            if not self.arrays:
                self.arrays = [self._whole(per, array) for per, array in zip(each, arrays, strict=True)]
        for per, whole, array in zip(each, self.arrays, arrays, strict=True):
            begin, end = _places(self._table, per, block.first, block.first + block.size)
            whole[begin:end] = array

    def _whole(self, per: Per, array: Array) -> Whole:
        _, rows = _places(self._table, per, 0, item_count(self._table))
        return self._room.array((rows, *array.shape[1:]), array.dtype)


def block_of(table: LocalTable, first: int, last: int) -> Block | RecordBlock:
    """The block of these objects, or of these records."""
    if isinstance(table, Records):
        return RecordBlock(first, _view(table.codes[first:last]))
    begin, end = table.offsets[first], table.offsets[last]
    whole = last - first == len(table.objects)
    return Block(
        first,
        table.objects if whole else table.objects[first:last],
        frozen(table.offsets[first : last + 1] - begin),
        _view(table.user_codes[begin:end]),
        _view(table.values[begin:end]),
    )


def parts_of(table: LocalTable, parts: Sequence[Part], block: Block | RecordBlock) -> list[Array | pl.Series]:
    """The parts that belong to a block."""
    found: list[Array | pl.Series] = []
    first, last = block.first, block.first + block.size
    for part in parts:
        if isinstance(part, ByUser):
            found.append(_view(part.numbers))
        elif isinstance(part, UserNames):
            assert not isinstance(table, Records)
            found.append(table.users)
        elif isinstance(part, ByValue):
            found.append(_view(part.numbers[part.offsets[first] : part.offsets[last]]))
        else:
            begin, end = _places(table, "object" if isinstance(part, ByObject) else "claim", first, last)
            found.append(_view(part.numbers[begin:end]))
    return found


def _view(array: Array) -> Array:
    """The same numbers, read-only: compiled loops then see the same type of array whatever the engine."""
    view = array.view()
    view.setflags(write=False)
    return view


def _places(table: LocalTable, per: Per, first: int, last: int) -> tuple[int, int]:
    if per == "object" or isinstance(table, Records):
        return first, last
    return int(table.offsets[first]), int(table.offsets[last])
