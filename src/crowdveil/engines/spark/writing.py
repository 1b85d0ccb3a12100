"""What workers write: a Parquet file for each block, the same however often a task runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from crowdveil.engines.engine import Array, Block, Digest, Rows
from crowdveil.errors import OutputError

if TYPE_CHECKING:
    from pyspark import SparkContext

TASKS_PER_CORE = 2  # so that every worker gets one


def written(block: Block, where: tuple[Rows, str, Mapping[str, str]], *parts: Array) -> tuple[()]:
    """Write the table of a block into a file of the folder `where` names, in place of an earlier try."""
    from pyarrow import parquet

    rows, folder, metadata = where
    table = rows(block, None, *parts).to_arrow()
    if metadata:
        table = table.replace_schema_metadata(dict(metadata))
    path = Path(folder) / _name(block)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        parquet.write_table(table, draft, compression="zstd")
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    return ()


def digested(block: Block, how: tuple[Rows, Digest], *parts: Array) -> tuple[str, str]:
    """The name of a block's file, and the digest of its table."""
    rows, digest = how
    return _name(block), digest([rows(block, None, *parts)])


def _name(block: Block) -> str:
    return f"part-{block.first:012}.parquet"


def check_place(context: SparkContext, folder: Path) -> None:
    """Raise `OutputError` if some worker does not write into this very folder; it must be empty."""
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
    marks = [path for path in folder.iterdir() if path != marker]
    for path in (marker, *marks):
        path.unlink()
    if not all(seen) or {path.name.split("-")[1] for path in marks} != set(map(str, range(tasks))):
        raise OutputError(
            f"{folder.parent}: the workers cannot write there: output goes to a folder that every worker "
            "sees under the same path, like one on NFS, and may write to"
        )
