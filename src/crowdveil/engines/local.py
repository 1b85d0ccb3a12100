"""The engine of one machine: threads over blocks of whole objects.

A block writes only to the places of its own objects, and sums are sums of integers. So results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from crowdveil.arrays import Ints, frozen
from crowdveil.claims import Claims, ClaimsByUser, Objects, ranges
from crowdveil.engines.engine import (
    Add,
    Array,
    Block,
    ByObject,
    ByUser,
    ByValue,
    Function,
    Judge,
    Part,
    Per,
    Progress,
    Rows,
    Seal,
    UserNames,
)
from crowdveil.engines.parquet import ParquetTable
from crowdveil.engines.threads import on_threads, thread_count

LocalTable = Claims | ClaimsByUser | Objects
Item = TypeVar("Item")

CLAIMS_PER_BLOCK = 20_000
LIGHT_BLOCKS = 8  # for each thread
ROWS_AT_ONCE = 1_000_000  # of a table that is written
OPERATIONS_IN_A_MOMENT = 1e6


def silent(stage: str, share: float) -> None:
    """Ignore progress."""


class LocalEngine:
    """Runs blocks on threads of this process; very short work runs in the calling thread.

    >>> import numpy as np
    >>> from crowdveil import Claims
    >>> def largest(block, scale):
    ...     return (scale * block.values[block.offsets[1:] - 1],)
    >>> claims = Claims.from_columns(["a", "a", "b"], ["ann", "bob", "ann"], [3.0, 1.0, 2.0])
    >>> LocalEngine(threads=2).map("largest", claims, largest, 10.0)
    (array([30., 20.]),)

    Parameters
    ----------
    threads:
        The number of threads; by default one for each core.
    progress:
        Called with the name of a stage and the share of it that is done.

    """

    def __init__(self, threads: int | None = None, *, progress: Progress = silent) -> None:
        self._threads = thread_count(threads)
        self._cut: WeakKeyDictionary[LocalTable, dict[int, list[Block]]] = WeakKeyDictionary()
        self.progress = progress

    def map(
        self,
        stage: str,
        table: LocalTable,
        function: Function,
        shared: Any,
        *parts: Part,
        per: Sequence[Per] = ("object",),
        operations: float | None = None,
    ) -> tuple[Array, ...]:
        """What `function(block, shared, *parts)` returns for all blocks, as whole arrays."""
        wholes = _Wholes(table, per)

        def work(block: Block) -> None:
            wholes.put(block, function(block, shared, *_parts(table, parts, block)))

        self._run(stage, table, work, operations)
        return tuple(wholes.arrays)

    def sum(
        self,
        stage: str,
        table: LocalTable,
        size: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> Ints:
        """The totals, `size` of them, to which `add(block, shared, *parts, totals)` adds for all blocks."""
        spare: SimpleQueue[Ints] = SimpleQueue()
        partial_totals: list[Ints] = []

        def work(block: Block) -> None:
            try:
                totals = spare.get_nowait()
            except Empty:
                totals = np.zeros(size, dtype=np.int64)
                partial_totals.append(totals)
            add(block, shared, *_parts(table, parts, block), totals)
            spare.put(totals)

        self._run(stage, table, work, operations)
        grand_total: Ints = np.sum(partial_totals, axis=0, dtype=np.int64)
        return grand_total

    def sum_by_user(
        self,
        stage: str,
        table: LocalTable,
        width: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> Ints:
        """As `sum`, with `width` totals for each user."""
        return self.sum(stage, table, width * len(table.users), add, shared, *parts, operations=operations)

    def judge(
        self,
        stage: str,
        table: LocalTable,
        judge: Judge,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> tuple[Ints, tuple[Array, ...]]:
        """One total for each user, and what `judge` returns by object."""
        wholes = _Wholes(table, None)

        def add(block: Block, *rest: Any) -> None:
            wholes.put(block, judge(block, *rest))

        totals = self.sum(stage, table, len(table.users), add, shared, *parts, operations=operations)
        return totals, tuple(wholes.arrays)

    def flat(self, kept: Array, counts: Ints) -> Array:
        """The first `counts[i]` numbers of row i, for all objects."""
        return flattened(kept, counts)

    def collect(self, kept: Array, rows: Ints | None = None, offsets: Ints | None = None) -> Array:
        """The same array, which is here already, or what belongs to some objects."""
        if rows is None:
            return kept
        if offsets is None:
            return kept[rows]
        return np.concatenate([kept[:0], *(kept[offsets[row] : offsets[row + 1]] for row in rows)])

    def write(
        self,
        stage: str,
        table: LocalTable,
        rows: Rows,
        *parts: Part,
        path: Path,
        offsets: Ints,
        metadata: Mapping[str, str] | Seal,
    ) -> None:
        """Write what `rows(block, None, *parts)` returns as one Parquet file, a million rows at a time."""
        tables = self._tables(stage, table, rows, parts, offsets)
        with ParquetTable(path, {} if isinstance(metadata, Seal) else metadata) as file:
            if isinstance(metadata, Seal):
                file.add(metadata.metadata(metadata.digest(file.written(tables))))
            else:
                for _ in file.written(tables):
                    pass

    @property
    def writes_folders(self) -> bool:
        """One file has all rows."""
        return False

    def _tables(
        self, stage: str, table: LocalTable, rows: Rows, parts: Sequence[Part], offsets: Ints
    ) -> Iterator[pl.DataFrame]:
        """What `rows` returns for blocks of a million rows, one after the other."""
        self.progress(stage, 0.0)
        for first, last in ranges(offsets, ROWS_AT_ONCE):
            block = _block(table, first, last)
            yield rows(block, None, *_parts(table, parts, block))
            self.progress(stage, last / max(1, len(table.objects)))

    def check_place(self, folder: Path) -> None:
        """What this process writes gets where this process writes it."""

    def spread(
        self,
        stage: str,
        count: int,
        work: Callable[[int, int], None],
        *,
        operations: float | None = None,
    ) -> None:
        """Call `work(first, last)` for ranges that cover `count` items of equal cost.

        `operations` estimates the total work; little work runs in the calling thread.
        """
        if operations is not None and operations < OPERATIONS_IN_A_MOMENT:
            self._here(stage, count, work)
            return
        self._on_threads(stage, self._ranges(count), lambda both: work(*both))

    def _ranges(self, count: int) -> list[tuple[int, int]]:
        step = max(1, min(256, count // (8 * self._threads)))
        return [(first, min(first + step, count)) for first in range(0, count, step)]

    def _run(
        self, stage: str, table: LocalTable, work: Callable[[Block], None], operations: float | None
    ) -> None:
        """Call `work` for blocks that cover all objects; with little work per claim for few ones."""
        count, claims = len(table.objects), int(table.offsets[-1])
        if operations is None:
            operations = float(np.square(np.diff(table.offsets), dtype=np.float64).sum()) if claims else inf
        if operations < OPERATIONS_IN_A_MOMENT:
            self._here(stage, count, lambda first, last: work(_block(table, first, last)))
        elif not claims:
            self._on_threads(stage, [_block(table, *both) for both in self._ranges(count)], work)
        else:
            light = operations <= claims
            size = claims // (LIGHT_BLOCKS * self._threads) if light else CLAIMS_PER_BLOCK
            self._on_threads(stage, self._blocks(table, max(CLAIMS_PER_BLOCK, size)), work)

    def _blocks(self, table: LocalTable, size: int) -> list[Block]:
        """The table in blocks of this size, which are kept for the next call."""
        kept = self._cut.setdefault(table, {})
        if size not in kept:
            kept[size] = [_block(table, *both) for both in table.blocks(size)]
        return kept[size]

    def _here(self, stage: str, count: int, work: Callable[[int, int], None]) -> None:
        self.progress(stage, 0.0)
        work(0, count)
        self.progress(stage, 1.0)

    def _on_threads(self, stage: str, items: Sequence[Item], work: Callable[[Item], None]) -> None:
        on_threads(
            lambda number: work(items[number]),
            len(items),
            threads=self._threads,
            progress=partial(self.progress, stage),
        )


def flattened(rows: Array, counts: Ints) -> Array:
    """The first `counts[i]` numbers of row i, one row after the other."""
    _, width = rows.shape
    complete = bool((counts == width).all())
    return rows.ravel() if complete else rows[np.arange(width) < counts[:, None]]


class _Wholes:
    """Arrays of all blocks, which are filled block by block; without `per` each is by object."""

    def __init__(self, table: LocalTable, per: Sequence[Per] | None) -> None:
        self.arrays: list[Array] = []
        self._table, self._per, self._beginning = table, per, Lock()

    def put(self, block: Block, arrays: Sequence[Array]) -> None:
        """Put what belongs to a block in its place."""
        each: Sequence[Per] = self._per or ["object"] * len(arrays)
        with self._beginning:
            if not self.arrays:
                self.arrays = [self._room(per, array) for per, array in zip(each, arrays, strict=True)]
        for per, whole, array in zip(each, self.arrays, arrays, strict=True):
            begin, end = _places(self._table, per, block.first, block.first + block.size)
            whole[begin:end] = array

    def _room(self, per: Per, array: Array) -> Array:
        _, rows = _places(self._table, per, 0, len(self._table.objects))
        return np.empty((rows, *array.shape[1:]), dtype=array.dtype)


def _block(table: LocalTable, first: int, last: int) -> Block:
    begin, end = table.offsets[first], table.offsets[last]
    whole = last - first == len(table.objects)
    return Block(
        first,
        table.objects if whole else table.objects[first:last],
        frozen(table.offsets[first : last + 1] - begin),
        _view(table.user_codes[begin:end]),
        _view(table.values[begin:end]),
    )


def _parts(table: LocalTable, parts: Sequence[Part], block: Block) -> list[Array | pl.Series]:
    found: list[Array | pl.Series] = []
    first, last = block.first, block.first + block.size
    for part in parts:
        if isinstance(part, ByUser):
            found.append(_view(part.numbers))
        elif isinstance(part, UserNames):
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
    return (first, last) if per == "object" else (int(table.offsets[first]), int(table.offsets[last]))
