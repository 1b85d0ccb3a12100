"""Quiet standard error while Polars reads a Parquet file.

A damaged file can make Polars' engine panic. The engine itself then writes to file descriptor 2, below
anything that Python could catch, and may quote the data. No option of Polars prevents that, so the
descriptor points nowhere while a file is read. It belongs to the whole process: of several threads that read
at once, the first one turns it away and the last one restores it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

_STDERR = 2
_lock = threading.Lock()
_open = contextlib.ExitStack()  # restores the descriptor when it is closed
_readers = 0


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
    """Discard whatever this process writes to file descriptor 2 meanwhile."""
    global _readers  # noqa: PLW0603
    with _lock:
        if _readers == 0:
            _turn_away()
        _readers += 1
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if _readers == 0:
                _open.close()


def _turn_away() -> None:
    if sys.__stderr__ is None:  # closed from the start: the descriptor may be any other file by now
        return
    sys.__stderr__.flush()
    original = os.dup(_STDERR)
    _open.callback(os.close, original)
    _open.callback(os.dup2, original, _STDERR)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)
