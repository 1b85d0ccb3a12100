"""Atomic writing of files and folders, which never overwrites existing ones unless forced."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from crowdveil.errors import OutputError

STDOUT = "-"


@dataclass(frozen=True)
class Folder:
    """A folder to write: its path, its mode, and the names of all files that it may hold."""

    path: Path
    mode: int
    files: frozenset[str]

    def check(self, *, force: bool) -> None:
        """Raise `OutputError` if the path exists; `force` allows an earlier folder of the same kind."""
        if not self.path.name or self.path.name == "-":
            raise OutputError("the output needs a folder's name")
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_dir()):
            raise OutputError(f"{self.path}: exists and is not a folder")
        if not self.path.exists():
            _check_parent(self.path)
            return
        if not force:
            raise OutputError(f"{self.path}: exists already; choose another place or add --force")
        if {path.name for path in self.path.iterdir()} - self.files:
            raise OutputError(f"{self.path}: holds other files too; --force does not delete those")


@contextlib.contextmanager
def whole_folders(folders: Sequence[Folder], *, force: bool) -> Iterator[list[Path]]:
    """Temporary folders to write into; if the block succeeds they become the target folders, together.

    Until then they are hidden folders beside their targets that only the owner can open. Any error, Ctrl-C
    included, removes them. `force` replaces an earlier folder of the same kind.
    """
    drafts: list[Path] = []
    try:
        with _plain_errors(folders[0].path):
            for folder in folders:
                folder.check(force=force)
                folder.path.parent.mkdir(parents=True, exist_ok=True)
                drafts.append(Path(tempfile.mkdtemp(prefix=".crowdveil.", dir=folder.path.parent)))
            yield drafts
            for draft, folder in zip(drafts, folders, strict=True):
                draft.chmod(folder.mode)
            _move_together(drafts, folders, force=force)
    finally:
        for draft in drafts:
            shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


def _move_together(drafts: list[Path], folders: Sequence[Folder], *, force: bool) -> None:
    """Rename all drafts to their targets, or undo all renames; signals are deferred meanwhile."""
    undo: list[tuple[Path, Path]] = []
    old: list[Path] = []
    with _undisturbed():
        try:
            for draft, folder in zip(drafts, folders, strict=True):
                folder.check(force=force)  # once more: something may have come in the meantime
                if folder.path.exists():
                    aside = draft.with_name(draft.name + ".old")
                    folder.path.rename(aside)
                    undo.append((aside, folder.path))
                    old.append(aside)
                draft.rename(folder.path)
                undo.append((folder.path, draft))
        except BaseException:
            for there, back in reversed(undo):
                there.rename(back)
            raise
        for aside in old:
            shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Defer signals that would stop the program until the block has ended."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    stops = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_new(path: Path, *, force: bool) -> None:
    """Raise `OutputError` for a path without a name, or for an existing file unless `force`."""
    if not path.name:
        raise OutputError("the output needs a file's name")
    try:
        exists, ordinary = path.exists(), path.is_file()
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    if exists and not (force and ordinary):
        raise OutputError(f"{path}: exists already; choose another place or add --force")
    _check_parent(path)


def _check_parent(path: Path) -> None:
    """Raise `OutputError` if what is there of the path above it is no folder."""
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise OutputError(f"{path}: cannot be written ({parent} is not a folder)")


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool, mode: int = 0o644) -> Iterator[Path]:
    """A temporary file to write into; if the block succeeds it is renamed to `path`."""
    check_new(path, force=force)
    with _plain_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".crowdveil.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            yield draft
            draft.chmod(mode)
            draft.rename(path)
        finally:
            draft.unlink(missing_ok=True)


def is_parquet(path: str) -> bool:
    """Whether a file name has a Parquet extension."""
    return path.lower().endswith((".parquet", ".pq"))


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV, gzipped if the name ends in .gz."""
    table.write_csv(path, compression="gzip" if path.suffix.lower() == ".gz" else "uncompressed")


def write_table(table: pl.DataFrame, path: str, *, force: bool) -> None:
    """Write a table as Parquet if the name says so, else as CSV; "-" is CSV on standard output."""
    if path == STDOUT:
        sys.stdout.write(table.write_csv())
        return
    with whole_file(Path(path), force=force) as draft:
        if is_parquet(path):
            table.write_parquet(draft)
        else:
            write_csv(table, draft)
