"""The Spark engine: the verbs of `Engine` on blocks that workers keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.engines.engine import Add, Array, Function, Judge, Part, Per, Progress
from crowdveil.engines.local import LocalEngine
from crowdveil.engines.spark.blocks import kept
from crowdveil.engines.spark.calls import SparkKept, called, summed, summed_by_user
from crowdveil.engines.spark.claims import SparkClaims
from crowdveil.engines.spark.cluster import Cluster


class SparkEngine:
    """Runs blocks on the workers of a Spark session; what is by item alone runs on the driver's threads."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.progress: Progress = cluster.progress
        self._here = LocalEngine(progress=cluster.progress)

    def map(
        self,
        stage: str,
        table: SparkClaims,
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
        table: SparkClaims,
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
        table: SparkClaims,
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
        table: SparkClaims,
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

    def collect(self, kept: SparkKept | Array, rows: Ints | None = None) -> Array:
        """Numbers that are kept with the blocks, as one array: all of them, or the rows of some objects."""
        if not isinstance(kept, SparkKept):
            return kept if rows is None else kept[rows]
        firsts = kept.table.firsts
        with self.cluster.watched(kept.stage):
            found = kept.arrays.mapPartitionsWithIndex(partial(_rows, kept.which, rows, firsts)).collect()
        return np.concatenate([each for each in found if each is not None])

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


def _rows(
    which: int, rows: Ints | None, firsts: Sequence[int], part: int, found: Iterable[Any]
) -> Iterator[Array | None]:
    for arrays in found:
        if arrays is None or rows is None:
            yield None if arrays is None else arrays[which]
        else:
            own = rows[(rows >= firsts[part]) & (rows < firsts[part + 1])] - firsts[part]
            yield arrays[which][own]
