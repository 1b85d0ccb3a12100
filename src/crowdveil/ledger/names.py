"""The default path of the ledger, and the names of datasets in it."""

from __future__ import annotations

import os
import unicodedata
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
    """The key of a dataset in a ledger: its name or, without one, the real path of the input."""
    if name is not None:
        return checked(name)
    if source == "-":
        raise ParameterError(
            "standard input has no path to keep account by: name the data with --dataset NAME"
        )
    return checked(os.path.realpath(source))


def checked(dataset: str) -> str:
    """A dataset's name in Unicode normal form C; it must be printable and not blank."""
    if not dataset.strip() or not dataset.isprintable():
        raise ParameterError("a dataset needs a name of printable characters: --dataset NAME")
    return unicodedata.normalize("NFC", dataset)
