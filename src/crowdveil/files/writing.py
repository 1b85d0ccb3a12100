"""Atomic writing of files and folders, which never overwrites existing ones unless forced."""

from __future__ import annotations

import contextlib
import io
import select
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from crowdveil.errors import OutputError
from crowdveil.files.places import File, Folder
from crowdveil.files.reservation import reserved

STDOUT = "-"


@contextlib.contextmanager
def whole_folders(folders: Sequence[Folder], *, force: bool) -> Iterator[list[Path]]:
    """Temporary folders to write into; if the block succeeds they become the target folders, together.

    Until then they are hidden and only the owner can open them. Any error, Ctrl-C included, removes them.
    `force` replaces an earlier folder of the same kind.
    """
    with reserved(folders, force=force) as places, places.filling() as drafts:
        yield drafts


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool, mode: int = 0o644) -> Iterator[Path]:
    """A temporary file to write into; if the block succeeds it is renamed to `path`."""
    with reserved([File(path, mode)], force=force) as places, places.filling() as (draft,):
        yield draft


def check_stdout() -> None:
    """Raise `OutputError` if it shows that nobody reads standard output."""
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("standard output is closed")
    try:
        output = select.poll()
        output.register(sys.stdout.fileno(), select.POLLOUT)
        events = [event for _, event in output.poll(0)]
    except io.UnsupportedOperation:
        return  # not a file
    if any(event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for event in events):
        raise OutputError("standard output is closed: nobody reads it")


def is_parquet(path: str) -> bool:
    """Whether a file name has a Parquet extension."""
    return path.lower().endswith((".parquet", ".pq"))


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV, gzipped if the name ends in .gz."""
    table.write_csv(path, compression="gzip" if path.suffix.lower() == ".gz" else "uncompressed")


def write_to_stdout(parts: Iterable[bytes | memoryview]) -> None:
    """Write bytes to standard output, all of them."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # whoever reads has seen enough
    except OSError as error:
        raise OutputError(f"standard output cannot be written ({error.strerror})") from None


def write_table(table: pl.DataFrame, path: str, *, force: bool) -> None:
    """Write a table as Parquet if the name says so, else as CSV; "-" is CSV on standard output."""
    if path == STDOUT:
        write_to_stdout([table.write_csv().encode()])
        return
    with whole_file(Path(path), force=force) as draft:
        if is_parquet(path):
            table.rechunk().write_parquet(draft)  # pages follow from how a table is in pieces
        else:
            write_csv(table, draft)
