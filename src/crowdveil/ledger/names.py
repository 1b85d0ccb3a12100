"""The default path of the ledger, and the names of datasets in it.

A file is known by its real path, so links to it have one account. Two hard links of a file are two real
paths: `known_as` finds the one that the ledger knows. Nothing but paths is stored, because the numbers that
file systems give to files are not stable.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from crowdveil.errors import ParameterError


def default_path() -> Path:
    """The ledger in the user's state folder: $XDG_STATE_HOME or ~/.local/state."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            raise ParameterError(
                "there is no home folder for the ledger: name one with --ledger FILE"
            ) from None
    return state / "crowdveil" / "ledger.sqlite3"


def dataset_key(name: str | None, source: str) -> str:
    """The key of a dataset in a ledger: its name or, without one, the real path of the input.

    Whatever is not a regular file has no path to keep account by, and so needs a name: pipes, for instance.
    """
    if name is not None:
        return checked(name)
    path = os.path.realpath(source)
    if source == "-" or (os.access(source, os.F_OK) and not _same(path, source)):
        what = "standard input" if source == "-" else f"{source}: this is not a regular file, and"
        raise ParameterError(f"{what} has no path to keep account by: name the data with --dataset NAME")
    return checked(path)


def known_as(dataset: str, datasets: Iterable[str]) -> str:
    """The dataset, or the one of `datasets` that is a path of the same file."""
    known = list(datasets)
    if dataset in known or not Path(dataset).is_absolute():
        return dataset
    return next((path for path in known if Path(path).is_absolute() and _same(path, dataset)), dataset)


def checked(dataset: str) -> str:
    """A dataset's name in Unicode normal form C; it must be printable and not blank."""
    if not dataset.strip() or not dataset.isprintable():
        raise ParameterError("a dataset needs a name of printable characters: --dataset NAME")
    return unicodedata.normalize("NFC", dataset)


def _same(one: str, other: str) -> bool:
    """Whether both paths lead to one regular file, now."""
    try:
        return Path(one).is_file() and Path(one).samefile(other)
    except (OSError, ValueError):
        return False
