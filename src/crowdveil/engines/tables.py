"""Tables on this machine, claims or records: their blocks, what belongs to these, and whole arrays."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from crowdveil.arrays import Ints, frozen
from crowdveil.claims import Claims, Objects
from crowdveil.engines.engine import Array, Block, ByObject, ByUser, ByValue, Part, Per, RecordBlock
from crowdveil.records import Records

ClaimsTable = Claims | Objects
LocalTable = ClaimsTable | Records


def item_count(table: LocalTable) -> int:
    """The number of objects, or of records."""
    return len(table) if isinstance(table, Records) else len(table.objects)


def flattened(rows: Array, counts: Ints) -> Array:
    """The first `counts[i]` numbers of row i, one row after the other."""
    _, width = rows.shape
    complete = bool((counts == width).all())
    return rows.ravel() if complete else rows[np.arange(width) < counts[:, None]]


class Wholes:
    """Arrays of all blocks, which are filled block by block; without `per` each is by object."""

    def __init__(self, table: LocalTable, per: Sequence[Per] | None) -> None:
        self.arrays: list[Array] = []
        self._table, self._per, self._beginning = table, per, Lock()

    def put(self, block: Block | RecordBlock, arrays: Sequence[Array]) -> None:
        """Put what belongs to a block in its place."""
        each: Sequence[Per] = self._per or ["object"] * len(arrays)
        with self._beginning:
            if not self.arrays:
                self.arrays = [self._room(per, array) for per, array in zip(each, arrays, strict=True)]
        for per, whole, array in zip(each, self.arrays, arrays, strict=True):
            begin, end = _places(self._table, per, block.first, block.first + block.size)
            whole[begin:end] = array

    def _room(self, per: Per, array: Array) -> Array:
        _, rows = _places(self._table, per, 0, item_count(self._table))
        return np.empty((rows, *array.shape[1:]), dtype=array.dtype)


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


def parts_of(table: LocalTable, parts: Sequence[Part], block: Block | RecordBlock) -> list[Array]:
    """The parts that belong to a block."""
    found, first, last = [], block.first, block.first + block.size
    for part in parts:
        if isinstance(part, ByUser):
            found.append(_view(part.numbers))
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
