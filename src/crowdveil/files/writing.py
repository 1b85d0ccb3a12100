"""Outputs that appear whole or not at all, and never over something that is there already."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from crowdveil.errors import OutputError

STDOUT = "-"


@contextlib.contextmanager
def whole_folders(targets: Sequence[tuple[Path, int]], *, force: bool) -> Iterator[list[Path]]:
    """Folders to write into that take their (path, mode) places together when the block ends well.

    Until then they are hidden folders beside their targets that only their owner can open; whatever goes
    wrong, Ctrl-C included, removes them. `force` replaces what is there.
    """
    check_free([path for path, _ in targets], force=force)
    drafts: list[Path] = []
    try:
        try:
            for path, _ in targets:
                path.parent.mkdir(parents=True, exist_ok=True)
                drafts.append(Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)))
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
        yield drafts
        for draft, (_, mode) in zip(drafts, targets, strict=True):
            draft.chmod(mode)
        _move_together(drafts, [path for path, _ in targets], force=force)
    finally:
        for draft in drafts:
            shutil.rmtree(draft, ignore_errors=True)


def check_free(paths: Sequence[Path], *, force: bool) -> None:
    """Refuse early what would overwrite something."""
    for path in paths:
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise OutputError(f"{path}: exists and is not a folder")
        if path.exists() and not force:
            raise OutputError(f"{path}: exists already; choose another place or add --force")


def _move_together(drafts: list[Path], places: list[Path], *, force: bool) -> None:
    """Rename every draft to its place, or put everything back as it was."""
    undo: list[tuple[Path, Path]] = []
    old: list[Path] = []
    try:
        for draft, place in zip(drafts, places, strict=True):
            check_free([place], force=force)  # once more: something may have come in the meantime
            if place.exists():
                aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.old.", dir=place.parent))
                old.append(aside)
                place.rename(aside / place.name)
                undo.append((aside / place.name, place))
            draft.rename(place)
            undo.append((place, draft))
    except BaseException as error:
        for there, back in reversed(undo):
            there.rename(back)
        if isinstance(error, OSError):
            raise OutputError(f"{place}: cannot be written ({error.strerror})") from None
        raise
    finally:
        for aside in old:
            shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A file to write into that takes its place when the block ends well."""
    if path.exists() and (not force or path.is_dir()):
        raise OutputError(f"{path}: exists already; choose another place or add --force")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o644)
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def write_table(table: pl.DataFrame, path: str, *, force: bool) -> None:
    """A table as CSV or, if the name ends in .parquet, as Parquet; "-" is CSV on standard output."""
    if path == STDOUT:
        sys.stdout.write(table.write_csv())
        return
    with whole_file(Path(path), force=force) as draft:
        if path.lower().endswith((".parquet", ".pq")):
            table.write_parquet(draft)
        else:
            table.write_csv(draft)
