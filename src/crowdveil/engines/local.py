"""The engine of one machine: threads over blocks of whole objects.

A block writes only to the places of its own objects, and sums are sums of integers. So results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.claims import ranges
from crowdveil.engines.engine import (
    RECORDS_TOGETHER,
    Add,
    Array,
    Block,
    Function,
    Judge,
    Part,
    Per,
    Progress,
    RecordBlock,
    Rows,
)
from crowdveil.engines.tables import ClaimsTable, LocalTable, Wholes, block_of, flattened, parts_of
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

    """

    def __init__(self, threads: int | None = None, *, progress: Progress = silent) -> None:
        self._threads = thread_count(threads)
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
    ) -> tuple[Array, ...]:
        """What `function(block, shared, *parts)` returns for all blocks, as whole arrays."""
        wholes = Wholes(table, per)

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
        wholes = Wholes(table, None)

        def add(block: AnyBlock, *rest: Any) -> None:
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
        table: ClaimsTable,
        rows: Rows,
        *parts: Part,
        path: Path,
        offsets: Ints,
        metadata: Mapping[str, str],
    ) -> None:
        """Write what `rows(block, None, *parts)` returns as one Parquet file, a million rows at a time."""
        from pyarrow.parquet import ParquetWriter

        self.progress(stage, 0.0)
        writer = None
        try:
            for first, last in ranges(offsets, ROWS_AT_ONCE):
                block = block_of(table, first, last)
                part = rows(block, None, *parts_of(table, parts, block)).to_arrow()
                if writer is None:
                    schema = part.schema.with_metadata(dict(metadata)) if metadata else part.schema
                    writer = ParquetWriter(path, schema, compression="zstd")
                writer.write_table(part)
                self.progress(stage, last / max(1, len(table.objects)))
        finally:
            if writer is not None:
                writer.close()

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
        if operations < OPERATIONS_IN_A_MOMENT:
            self._here(stage, count, lambda first, last: work(block_of(table, first, last)))
        elif not claims:
            self._on_threads(stage, [block_of(table, *both) for both in self._ranges(count)], work)
        else:
            light = operations <= claims
            size = claims // (LIGHT_BLOCKS * self._threads) if light else CLAIMS_PER_BLOCK
            self._on_threads(stage, self._blocks(table, max(CLAIMS_PER_BLOCK, size)), work)

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
