"""The Spark engine: the verbs of `Engine` on blocks that workers keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.engines.engine import (
    Add,
    Array,
    Block,
    ByObject,
    Function,
    Judge,
    Part,
    Per,
    Progress,
    Rows,
    Seal,
)
from crowdveil.engines.local import LocalEngine
from crowdveil.engines.memory import Memory
from crowdveil.engines.spark.blocks import Table, UsersTable, kept
from crowdveil.engines.spark.calls import SparkKept, called, summed, summed_by_user
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.engines.spark.writing import Files
from crowdveil.engines.tables import flattened


class SparkEngine:
    """Runs blocks on the workers of a Spark session; what is by item alone runs on the driver's threads."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.progress: Progress = cluster.progress
        self.memory: Memory | None = None
        self._here = LocalEngine(progress=cluster.progress)

    def map(
        self,
        stage: str,
        table: Table,
        function: Function,
        shared: Any,
        *parts: Part,
        per: Sequence[Per] = ("object",),
        operations: float | None = None,  # noqa: ARG002, a partition is one block
    ) -> tuple[SparkKept, ...]:
        """What `function(block, shared, *parts)` returns for all blocks, kept with them when first used."""
        arrays = kept(called(table, function, shared, parts))
        return tuple(SparkKept(arrays, which, each, table, stage) for which, each in enumerate(per))

    def sum(
        self,
        stage: str,
        table: Table,
        size: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,  # noqa: ARG002
    ) -> Ints:
        """The totals, `size` of them, to which `add(block, shared, *parts, totals)` adds for all blocks."""
        with self.cluster.watched(stage):
            return summed(table, size, add, shared, parts)[0]

    def sum_by_user(
        self,
        stage: str,
        table: UsersTable,
        width: int,
        add: Add,
        shared: Any,
        *parts: Part,
        operations: float | None = None,  # noqa: ARG002
    ) -> Ints:
        """As `sum`, with `width` totals for each user."""
        with self.cluster.watched(stage):
            return summed_by_user(table, width, add, shared, parts)[0]

    def judge(
        self,
        stage: str,
        table: UsersTable,
        judge: Judge,
        shared: Any,
        *parts: Part,
        operations: float | None = None,  # noqa: ARG002
    ) -> tuple[Ints, tuple[Array, ...]]:
        """One total for each user, and what `judge` returns by object, collected."""
        with self.cluster.watched(stage):
            totals, arrays = summed_by_user(table, 1, judge, shared, parts)
        columns = zip(*(arrays[part] for part in sorted(arrays)), strict=True)
        return totals, tuple(np.concatenate(each) for each in columns)

    def flat(self, kept: SparkKept, counts: Ints) -> SparkKept:
        """The first `counts[i]` numbers of row i, for all objects: numbers by value."""
        (flat,) = self.map(
            kept.stage, kept.table, _flattened, None, ByObject(kept), ByObject(counts), per=("value",)
        )
        return flat

    def collect(
        self, kept: SparkKept | Array, rows: Ints | None = None, offsets: Ints | None = None
    ) -> Array:
        """Numbers that are kept with the blocks, as one array: all of them, or those of some objects."""
        if not isinstance(kept, SparkKept):
            return self._here.collect(kept, rows, offsets)
        wanted = None if rows is None else _places(kept.table.firsts, rows, offsets)
        with self.cluster.watched(kept.stage):
            found = kept.arrays.mapPartitionsWithIndex(partial(_picked, kept.which, wanted)).collect()
        return np.concatenate([each for each in found if each is not None])

    def write(
        self,
        stage: str,
        table: Table,
        rows: Rows,
        *parts: Part,
        path: Path,
        offsets: Ints,
        metadata: Mapping[str, str] | Seal,
    ) -> None:
        """Write a folder of Parquet files, where the workers are."""
        path.mkdir(exist_ok=True)
        with self.cluster.watched(stage):
            files = Files(table, rows, parts, offsets)
            if isinstance(metadata, Seal):
                metadata = metadata.metadata(files.digests(metadata.digest))
            files.write(path, metadata)

    @property
    def writes_folders(self) -> bool:
        """A folder has files of a few million rows."""
        return True

    def check_place(self, folder: Path) -> None:
        """Raise `OutputError` if some worker does not write into this very folder."""
        self.cluster.check_place(folder)

    def spread(
        self,
        stage: str,
        count: int,
        work: Callable[[int, int], None],
        *,
        operations: float | None = None,
    ) -> None:
        """Call `work(first, last)` for ranges that cover `count` items, on the threads of the driver."""
        self._here.spread(stage, count, work, operations=operations)


def _flattened(_: Block, __: None, rows: Array, counts: Ints) -> tuple[Array]:
    return (flattened(rows, counts),)


def _places(firsts: Sequence[int], rows: Ints, offsets: Ints | None) -> dict[int, list[tuple[int, int]]]:
    """For each block that has some of these objects: where their numbers begin and end in the block."""
    ends = np.arange(firsts[-1] + 1) if offsets is None else offsets
    wanted: dict[int, list[tuple[int, int]]] = {}
    for row, part in zip(rows.tolist(), np.searchsorted(firsts, rows, side="right").tolist(), strict=True):
        begin = ends[firsts[part - 1]]
        wanted.setdefault(part - 1, []).append((int(ends[row] - begin), int(ends[row + 1] - begin)))
    return wanted


def _picked(
    which: int, wanted: Mapping[int, list[tuple[int, int]]] | None, part: int, found: Iterable[Any]
) -> Iterator[Array | None]:
    for arrays in found:
        if arrays is None or wanted is None:
            yield None if arrays is None else arrays[which]
        else:
            each = arrays[which]
            yield np.concatenate([each[:0], *(each[begin:end] for begin, end in wanted.get(part, []))])
