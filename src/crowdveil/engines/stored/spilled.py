"""Arrays on disk, in files without a name.

A file is unlinked before anything is written to it. So nothing private is left when the process ends, in
whatever way. It is read and written by slices, and never mapped: mapped pages count as memory of the process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from crowdveil.engines.engine import Array
from crowdveil.engines.memory import in_words
from crowdveil.errors import OutputError


class Spilled:
    """An array of one or two dimensions on disk, of which slices are read and written; threads may share it.

    >>> import numpy as np
    >>> numbers = Spilled((5,), np.int64)
    >>> numbers[1:3] = np.array([7, 8])
    >>> numbers[0:4]
    array([0, 7, 8, 0])

    Parameters
    ----------
    shape:
        The number of rows and, of two dimensions, that of columns.
    dtype:
        The type of the numbers, which are 0 until they are written.

    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, *, file: _File | None = None) -> None:
        self.shape, self.dtype = tuple(map(int, shape)), np.dtype(dtype)
        self._row = self.dtype.itemsize * prod(self.shape[1:])  # bytes
        self._file = _File(self.shape[0] * self._row) if file is None else file

    @property
    def size(self) -> int:
        """The number of all numbers."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Spilled({self.shape}, {self.dtype})"

    def __getitem__(self, rows: slice) -> Array:
        begin, end = self._ends(rows)
        found = np.empty((end - begin, *self.shape[1:]), dtype=self.dtype)
        if found.size:
            self._file.transfer(os.preadv, found, begin * self._row)
        return found

    def __setitem__(self, rows: slice, numbers: Array) -> None:
        begin, end = self._ends(rows)
        if numbers.shape != (end - begin, *self.shape[1:]):
            raise ValueError(f"an array of shape {numbers.shape} does not fit {end - begin} rows of {self!r}")
        if numbers.size:
            self._file.transfer(
                os.pwritev, np.ascontiguousarray(numbers, dtype=self.dtype), begin * self._row
            )

    def ravel(self) -> Spilled:
        """The same numbers, which stay where they are, in one dimension."""
        return Spilled((self.size,), self.dtype, file=self._file)

    def _ends(self, rows: slice) -> tuple[int, int]:
        begin, end, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("only slices of successive rows are read and written")
        return begin, max(begin, end)


class _File:
    """An open file without a name, of a fixed size; it is gone with the last who holds it."""

    def __init__(self, size: int) -> None:
        with _told(), tempfile.TemporaryFile(buffering=0) as file:
            os.ftruncate(file.fileno(), size)
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def transfer(self, call: Callable[[int, list[memoryview], int], int], array: Array, place: int) -> None:
        """Read or write the whole array, from this place on; a call may do a part of it only."""
        left = memoryview(array.data).cast("B")
        with _told():
            while len(left):
                done = call(self._descriptor, [left], place)
                if done == 0:
                    raise OSError("a temporary file is shorter than it was made")
                left, place = left[done:], place + done


def check_room(size: int) -> None:
    """Refuse temporary files that may take so many bytes where the disk has less."""
    with _told():
        free = shutil.disk_usage(_folder()).free
    if free < size:
        raise OutputError(
            f"{_folder()}: temporary files may take {in_words(size)}, and {in_words(free)} are free there; "
            "TMPDIR names another folder"
        )


@contextmanager
def _told() -> Iterator[None]:
    """Tell of a disk that is full, or cannot be used, in one line."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{_folder()}: temporary files cannot be written there ({error.strerror or error}); "
            "TMPDIR names another folder"
        ) from None


def _folder() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return "no folder"
