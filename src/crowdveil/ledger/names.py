"""The default path of the ledger, and the names of datasets in it.

A file is known by its real path, so links to it have one account. Two hard links of a file are two real
paths: `known_as` finds the one that the ledger knows. Nothing but paths is stored, because the numbers that
file systems give to files are not stable.

A name is kept in one form: Unicode normal form C, single blanks and none around it. A path is kept as the
file system spells it, or nobody would find the file again. Entries keep what was written into them, also by
versions that kept blanks in names and normalized paths: `known_as` compares forms.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from crowdveil.errors import ParameterError
from crowdveil.sources import STDIN, has_no_path
from crowdveil.state_folder import state_folder


def default_path() -> Path:
    """The ledger in the user's state folder: $XDG_STATE_HOME or ~/.local/state."""
    return state_folder("ledger: name one with --ledger FILE") / "ledger.sqlite3"


def dataset_key(name: str | None, source: str) -> str:
    """The key of a dataset in a ledger: its name or, without one, the real path of the input.

    Whatever is not a regular file has no path to keep account by, and so needs a name: pipes, for instance,
    folders of files that may be read one by one, and what only Spark finds.
    """
    if name is not None:
        return checked(name)
    path = os.path.realpath(source)
    no_path = source == STDIN or has_no_path(source)
    if no_path or (os.access(source, os.F_OK) and not _same(path, source)):
        what = "standard input" if source == STDIN else f"{source}: this is not a regular file, and"
        raise ParameterError(f"{what} has no path to keep account by: name the data with --dataset NAME")
    return checked(path)


def known_as(dataset: str, datasets: Iterable[str]) -> str:
    """The dataset, or the one of `datasets` that has the same name or is a path of the same file."""
    known = list(datasets)
    if dataset in known:
        return dataset
    alike = _same_path if _is_path(dataset) else _same_name
    return next((other for other in known if alike(other, dataset)), dataset)


def named_alike(dataset: str, datasets: Iterable[str]) -> str | None:
    """The one of `datasets` from which a name that would open a new account differs only by case, if any.

    Letters that only look different (of full width, for instance) count as the same. Paths are not compared.
    """
    known = list(datasets)
    if _is_path(dataset) or known_as(dataset, known) in known:
        return None
    return next((other for other in known if _folded(other) == _folded(dataset)), None)


def checked(dataset: str) -> str:
    """A dataset's name in its form, or its path as it is; it must be printable and not blank."""
    if not dataset.strip() or not dataset.isprintable():
        raise ParameterError("a dataset needs a name of printable characters: --dataset NAME")
    return dataset if _is_path(dataset) else _form(dataset)


def _is_path(dataset: str) -> bool:
    return Path(dataset).is_absolute()


def _form(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _same_name(one: str, other: str) -> bool:
    return not _is_path(one) and _form(one) == _form(other)


def _same_path(known: str, path: str) -> bool:
    """Whether both are paths of one file; two spellings of one path share an account, as they always did."""
    if not _is_path(known):
        return False
    composed, decomposed = (unicodedata.normalize(form, known) for form in ("NFC", "NFD"))
    return unicodedata.normalize("NFC", path) == composed or any(_same(p, path) for p in (known, decomposed))


def _same(one: str, other: str) -> bool:
    """Whether both paths lead to one regular file, now."""
    try:
        return Path(one).is_file() and Path(one).samefile(other)
    except (OSError, ValueError):
        return False
