"""What workers write: Parquet files whose rows follow from numbers of rows alone, not from blocks.

How claims are divided into blocks depends on how many there are, which may be private. So a table is divided
anew where it is written: a file has the rows of whole objects, about as many as `ROWS_OF_A_FILE`, by the
offsets that the table has anyway.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl

from crowdveil.arrays import Ints
from crowdveil.claims import ranges
from crowdveil.engines.engine import Array, Block, Digest, Part, Rows
from crowdveil.engines.spark.blocks import Table, exchanged, ignore, kept
from crowdveil.engines.spark.calls import called
from crowdveil.errors import EngineError, OutputError

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

ROWS_OF_A_FILE = 5_000_000
TASKS_PER_CORE = 2  # so that every worker gets one
Made = tuple[int, pl.DataFrame]
"""The number of a block's first object, and the block's rows."""


class Files:
    """A table divided into the files that it is written to; the workers keep it if they look at it twice."""

    def __init__(self, table: Table, rows: Rows, parts: Sequence[Part], offsets: Ints) -> None:
        firsts = [first for first, _ in ranges(offsets, ROWS_OF_A_FILE)]
        self.names = [f"part-{first:012}.parquet" for first in firsts]
        made = called(table, _made, rows, parts)
        self._parts: RDD[Any] = exchanged(made, partial(_dealt, firsts, offsets), len(firsts))

    def digests(self, digest: Digest) -> dict[str, str]:
        """What `digest` makes of the rows of each file."""
        self._parts = kept(self._parts)
        told = self._parts.map(partial(_digested, digest)).collect()
        return dict(zip(self.names, told, strict=True))

    def write(self, folder: Path, metadata: Mapping[str, str]) -> None:
        """Write all files into a folder."""
        write = partial(_written, self.names, str(folder), dict(metadata))
        self._parts.mapPartitionsWithIndex(write).foreach(ignore)
        for draft in folder.glob(".part-*"):  # of a worker that was killed
            draft.unlink()
        if sorted(path.name for path in folder.iterdir()) != self.names:
            raise EngineError(f"{folder}: some of the files that workers wrote are not there")


def _made(block: Block, rows: Rows, *parts: Array) -> Made:
    return block.first, rows(block, None, *parts)


def _dealt(
    firsts: Sequence[int], offsets: Ints, _: int, made: Made | None
) -> Iterator[tuple[int, pl.DataFrame]]:
    """To each file the rows of a block that belong there."""
    if made is None:
        return
    begin, table = int(offsets[made[0]]), made[1]
    ends = (offsets[[*firsts, offsets.size - 1]] - begin).clip(0, table.height).tolist()
    for target, (low, high) in enumerate(pairwise(ends)):
        if low < high or (
            target == 0 and begin == 0
        ):  # the first file tells the columns if there are no rows
            yield target, table[low:high]


def _joined(found: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    return pl.concat([table for _, table in found])


def _digested(digest: Digest, found: Sequence[tuple[int, pl.DataFrame]]) -> str:
    return digest([_joined(found)])


def _written(
    names: Sequence[str], folder: str, metadata: Mapping[str, str], part: int, found: Iterable[Any]
) -> Iterator[None]:
    """Write the rows of a file, in place of an earlier try."""
    from pyarrow import parquet

    for each in found:
        table = _joined(each).rechunk().to_arrow()  # pages of a file follow from how a table is in pieces
        path = Path(folder) / names[part]
        draft = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            parquet.write_table(table.replace_schema_metadata(metadata or None), draft, compression="zstd")
            draft.replace(path)
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()
        yield None


def check_place(context: SparkContext, folder: Path) -> None:
    """Raise `OutputError` if some worker that is there does not write into this very folder."""
    marker = folder / f".driver-{uuid4().hex}"
    marker.touch()
    place = str(marker)

    def leave_a_mark(task: int, _: Iterable[int]) -> Iterator[bool]:
        seen = Path(place)
        try:
            found = seen.exists()
            seen.with_name(f".worker-{task}-{os.getpid()}").touch()
        except OSError:
            found = False
        yield found

    tasks = TASKS_PER_CORE * context.defaultParallelism
    seen: Sequence[bool] = (
        context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(leave_a_mark).collect()
    )
    marks = list(folder.glob(".worker-*"))
    for path in (marker, *marks):
        path.unlink(missing_ok=True)
    if not all(seen) or {path.name.split("-")[1] for path in marks} != set(map(str, range(tasks))):
        raise OutputError(
            f"{folder.parent}: the workers cannot write there: output goes to a folder that every worker "
            "sees under the same path, like one on NFS, and may write to"
        )
