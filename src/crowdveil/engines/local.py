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
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from crowdveil.arrays import Ints
from crowdveil.claims import ranges
from crowdveil.engines.engine import (
    RECORDS_TOGETHER,
    Add,
    Array,
    Block,
    Function,
    Judge,
    Kept,
    Part,
    Per,
    Progress,
    RecordBlock,
    Rows,
    Seal,
)
from crowdveil.engines.memory import Memory
from crowdveil.engines.parquet import ParquetTable
from crowdveil.engines.stored import StoredClaims, StoredClaimsByUser
from crowdveil.engines.tables import (
    ClaimsTable,
    LocalTable,
    Room,
    Wholes,
    block_of,
    flattened,
    flattened_on_disk,
    parts_of,
)
from crowdveil.engines.threads import on_threads, thread_count
from crowdveil.records import Records

AnyBlock = Block | RecordBlock
Item = TypeVar("Item")

CLAIMS_PER_BLOCK = 20_000
LIGHT_BLOCKS = 8  # for each thread
LARGEST_BLOCK = 4  # of records, in the fewest that are together
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
    memory:
        A bound in bytes on what is as large as a table; by default there is none. Files that do not fit are
        read into `StoredClaims`, and large arrays that functions return are put on disk.

    """

    def __init__(
        self, threads: int | None = None, *, progress: Progress = silent, memory: int | None = None
    ) -> None:
        self._threads = thread_count(threads)
        self.memory = None if memory is None else Memory(memory)
        self._room = Room(inf if self.memory is None else self.memory.kept)
        self._cut: WeakKeyDictionary[ClaimsTable, dict[int, list[AnyBlock]]] = WeakKeyDictionary()
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
    ) -> tuple[Kept, ...]:
        """What `function(block, shared, *parts)` returns for all blocks, as whole arrays."""
        wholes = Wholes(table, per, self._room)

        def work(block: AnyBlock) -> None:
            wholes.put(block, function(block, shared, *parts_of(table, parts, block)))

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

        def work(block: AnyBlock) -> None:
            try:
                totals = spare.get_nowait()
            except Empty:
                totals = np.zeros(size, dtype=np.int64)
                partial_totals.append(totals)
            add(block, shared, *parts_of(table, parts, block), totals)
            spare.put(totals)

        self._run(stage, table, work, operations)
        grand_total: Ints = np.sum(partial_totals, axis=0, dtype=np.int64)
        return grand_total

    def sum_by_user(
        self,
        stage: str,
        table: ClaimsTable,
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
        table: ClaimsTable,
        judge: Judge,
        shared: Any,
        *parts: Part,
        operations: float | None = None,
    ) -> tuple[Ints, tuple[Array, ...]]:
        """One total for each user, and what `judge` returns by object."""
        wholes = Wholes(table, None, Room(inf))

        def add(block: AnyBlock, *rest: Any) -> None:
            wholes.put(block, judge(block, *rest))

        totals = self.sum(stage, table, len(table.users), add, shared, *parts, operations=operations)
        return totals, tuple(whole[:] for whole in wholes.arrays)

    def flat(self, kept: Kept, counts: Ints) -> Kept:
        """The first `counts[i]` numbers of row i, for all objects."""
        return flattened(kept, counts) if isinstance(kept, np.ndarray) else flattened_on_disk(kept, counts)

    def collect(self, kept: Kept, rows: Ints | None = None, offsets: Ints | None = None) -> Array:
        """The same array, which is here already or on disk, or what belongs to some objects."""
        if rows is None:
            return kept if isinstance(kept, np.ndarray) else kept[:]
        if offsets is None and isinstance(kept, np.ndarray):
            return kept[rows]
        if offsets is None:
            offsets = np.arange(len(kept) + 1)
        return np.concatenate([kept[:0], *(kept[offsets[row] : offsets[row + 1]] for row in rows)])

    def write(
        self,
        stage: str,
        table: ClaimsTable,
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
        self, stage: str, table: ClaimsTable, rows: Rows, parts: Sequence[Part], offsets: Ints
    ) -> Iterator[pl.DataFrame]:
        """What `rows` returns for blocks of a million rows, one after the other."""
        self.progress(stage, 0.0)
        size = ROWS_AT_ONCE if self.memory is None else min(ROWS_AT_ONCE, self.memory.rows_in_passing)
        for first, last in ranges(offsets, size):
            block = block_of(table, first, last)
            yield rows(block, None, *parts_of(table, parts, block))
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
        self, stage: str, table: LocalTable, work: Callable[[AnyBlock], None], operations: float | None
    ) -> None:
        """Call `work` for blocks that cover all objects; with little work per claim for few ones."""
        if isinstance(table, Records):
            self._run_records(stage, table, work, operations)
            return
        count, claims = len(table.objects), int(table.offsets[-1])
        if operations is None:
            operations = float(np.square(np.diff(table.offsets), dtype=np.float64).sum()) if claims else inf
        if isinstance(table, StoredClaims | StoredClaimsByUser):
            size = self._light(claims) if operations <= claims else CLAIMS_PER_BLOCK
            both = list(table.blocks(min(size, table.memory.claims_of_block(self._threads))))
            self._on_threads(stage, both, lambda each: work(block_of(table, *each)))
        elif operations < OPERATIONS_IN_A_MOMENT:
            self._here(stage, count, lambda first, last: work(block_of(table, first, last)))
        elif not claims:
            self._on_threads(stage, [block_of(table, *both) for both in self._ranges(count)], work)
        else:
            size = self._light(claims) if operations <= claims else CLAIMS_PER_BLOCK
            self._on_threads(stage, self._blocks(table, size), work)

    def _light(self, claims: int) -> int:
        """How many claims a block has where there is little work per claim."""
        return max(CLAIMS_PER_BLOCK, claims // (LIGHT_BLOCKS * self._threads))

    def _run_records(
        self, stage: str, table: Records, work: Callable[[AnyBlock], None], operations: float | None
    ) -> None:
        """Call `work` for blocks that cover all records."""
        count = len(table)
        few = max(1, min(LARGEST_BLOCK, count // (LIGHT_BLOCKS * self._threads * RECORDS_TOGETHER)))
        size = few * RECORDS_TOGETHER
        if count <= size or (operations is not None and operations < OPERATIONS_IN_A_MOMENT):
            self._here(stage, count, lambda first, last: work(block_of(table, first, last)))
        else:
            ends = [(first, min(first + size, count)) for first in range(0, count, size)]
            self._on_threads(stage, [block_of(table, *both) for both in ends], work)

    def _blocks(self, table: ClaimsTable, size: int) -> list[AnyBlock]:
        """The table in blocks of this size, which are kept for the next call."""
        kept = self._cut.setdefault(table, {})
        if size not in kept:
            kept[size] = [block_of(table, *both) for both in table.blocks(size)]
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
