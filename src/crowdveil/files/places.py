"""Where output goes: a file or a folder, and whether it may be put there."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crowdveil.errors import OutputError

_STDOUT = Path("/dev/stdout")  # may lead to a file
PART = re.compile(r"part-\d+\.parquet")  # a file of a table that was written in parts


@contextlib.contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Replace errors of the system by one that names the output."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


@dataclass(frozen=True)
class Folder:
    """A folder to write: its path, its mode, and the names of all files that it may hold."""

    path: Path
    mode: int
    files: frozenset[str]

    def check_name(self) -> None:
        """Raise `OutputError` for a path without a name."""
        if not self.path.name or self.path.name == "-":
            raise OutputError("the output needs a folder's name")

    def check(self, *, force: bool) -> None:
        """Raise `OutputError` if the path exists; `force` allows an earlier folder of the same kind."""
        self.check_name()
        if self.path.is_symlink():
            raise OutputError(f"{self.path}: is a link; choose another place")
        if self.path.exists() and not self.path.is_dir():
            raise OutputError(f"{self.path}: is not a folder; choose another place")
        if not self.path.exists():
            _check_parent(self.path)
            return
        if not force:
            raise OutputError(f"{self.path}: exists already; choose another place or add --force")
        if any(not self._may_hold(path) for path in self.path.iterdir()):
            raise OutputError(f"{self.path}: holds other files too; --force does not delete those")
        _check_movable(self.path)

    def _may_hold(self, path: Path) -> bool:
        """Whether this is one of the files, or a table in parts."""
        parts = path.iterdir() if path.is_dir() and not path.is_symlink() else ()
        return path.name in self.files and all(map(_is_part, parts))

    def draft(self, path: Path) -> None:
        """An empty folder that only the owner can open."""
        path.mkdir(mode=0o700)


@dataclass(frozen=True)
class Parts(Folder):
    """A folder to write that holds a table in parts, and nothing else."""

    mode: int = 0o755
    files: frozenset[str] = frozenset()

    def _may_hold(self, path: Path) -> bool:
        return _is_part(path)


def _is_part(path: Path) -> bool:
    return PART.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


@dataclass(frozen=True)
class File:
    """A file to write: its path and its mode."""

    path: Path
    mode: int = 0o644

    def check_name(self) -> None:
        """Raise `OutputError` for a path without a name."""
        _check_file_name(self.path)

    def check(self, *, force: bool) -> None:
        """Raise `OutputError` for a path without a name, or for an existing file unless `force`."""
        check_new(self.path, force=force)

    def draft(self, path: Path) -> None:
        """An empty file that only the owner can open."""
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def check_new(path: Path, *, force: bool) -> None:
    """Raise `OutputError` for a path without a name, or for an existing file unless `force`."""
    _check_file_name(path)
    with plain_errors(path):
        exists, ordinary = path.exists() or path.is_symlink(), path.is_file()
    if path == _STDOUT:
        raise OutputError(f"{path}: is not a file; use -o -, which is standard output")
    if exists and not ordinary:
        raise OutputError(f"{path}: is not a file; choose another place")
    if exists and not force:
        raise OutputError(f"{path}: exists already; choose another place or add --force")
    if exists:
        _check_movable(path)
    _check_parent(path)


def _check_file_name(path: Path) -> None:
    if not path.name:
        raise OutputError("the output needs a file's name")


def _check_parent(path: Path) -> None:
    """Raise `OutputError` if what is there of the path above it is no folder."""
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise OutputError(f"{path}: cannot be written ({parent} is not a folder)")


def _check_movable(path: Path) -> None:
    """Raise `OutputError` for what cannot be moved out of the way, because it is somebody else's."""
    there, parent, user = path.lstat(), path.absolute().parent.stat(), os.geteuid()
    others = parent.st_mode & stat.S_ISVTX and user not in (0, there.st_uid, parent.st_uid)
    if others or (path.is_dir() and not os.access(path, os.W_OK | os.X_OK)):
        raise OutputError(f"{path}: belongs to somebody else and cannot be replaced")
