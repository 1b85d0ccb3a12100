"""Outputs keep apart from what a command reads, from ledgers and their keys, and from each other.

`--force` replaces an earlier result. It is no way to lose the raw claims, or what was spent on them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from crowdveil.errors import OutputError, ParameterError
from crowdveil.ledger import default_path
from crowdveil.ledger.key import key_path

STANDARD = "-"  # standard input or output, which is no file
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database


def keep_apart(
    outputs: Sequence[Path | str | None],
    inputs: Mapping[str, Path | str | None],
    *,
    ledger: Path | None = None,
) -> None:
    """Raise `OutputError` for an output that would replace, or hold, an input or a ledger, or another output.

    Files are compared by their names, by where links lead, and by what is there (hard links).

    Parameters
    ----------
    outputs:
        All files and folders that will be written; None and "-" are none.
    inputs:
        All files that are read, by what to call them; None and "-" are none.
    ledger:
        The ledger that is charged. It is kept, and so is the one in the state folder, each with its key.

    """
    written = [Path(path) for path in outputs if path is not None and str(path) != STANDARD]
    read = [(name, Path(path)) for name, path in inputs.items() if path is not None and str(path) != STANDARD]
    for out in written:
        for name, path in (*read, *_of_ledgers(ledger)):
            if _same(out, path):
                raise OutputError(f"{out}: would replace {name}; choose another place")
            if any(_same(out, folder) for folder in (*path.absolute().parents, *_real(path).parents)):
                raise OutputError(f"{out}: holds {name}; choose another place")
            if path.is_dir() and any(
                _same(path, folder) for folder in (*out.absolute().parents, *_real(out).parents)
            ):
                raise OutputError(f"{out}: lies in {name}; choose another place")
    for out, other in combinations(written, 2):
        if _same(out, other):
            raise OutputError(f"{out}: is asked for twice; each output needs a place of its own")


def _of_ledgers(ledger: Path | None) -> Iterator[tuple[str, Path]]:
    """The files of a ledger and of the one in the state folder."""
    ledgers = [] if ledger is None else [ledger]
    with contextlib.suppress(ParameterError):  # there is no state folder
        ledgers.append(default_path())
    for path in ledgers:
        yield "the ledger", path
        yield "the key of the ledger", key_path(path)
        for ending in _BESIDE:
            yield "a part of the ledger", Path(f"{_real(path)}{ending}")


def _same(one: Path, other: Path) -> bool:
    return not _marks(one).isdisjoint(_marks(other))


def _marks(path: Path) -> set[Hashable]:
    """What tells a file: where its name is, where that leads, and which file is there."""
    marks: set[Hashable] = {_real(path), _real(path.absolute().parent) / path.name}
    with contextlib.suppress(OSError):
        there = path.stat()
        marks.add((there.st_dev, there.st_ino))
    return marks


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # a loop of links is no error here
