"""The key that signs what a ledger's releases publish: a file beside the ledger, for its owner's eyes only.

It is made at first use and never changed or replaced. A new key is written whole to a file of its own, which
is then linked to the key's name: that fails if the name is taken, so processes that race agree on one key.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from crowdveil.errors import InputError, OutputError, ParameterError
from crowdveil.signing import SigningKey

LARGEST_FILE = 2**14
_REPAIR = (
    "restore it from a copy. Without a copy move it away: a new key is made at the next release, and readers "
    "have to be told its fingerprint"
)


def key_path(ledger: Path) -> Path:
    """Where the key of a ledger is: `ledger.sqlite3.key` beside `ledger.sqlite3`, however that is reached."""
    real = Path(os.path.realpath(ledger))
    return real.with_name(f"{real.name}.key")


def signing_key(ledger: Path) -> SigningKey:
    """The key of a ledger, made if there is none; the folder of the ledger must exist."""
    path = key_path(ledger)
    found = _read(path)
    if found is None:
        _make(path)
        found = _read(path)
    if found is None:
        raise OutputError(f"{path}: the ledger's key was removed while it was made; try again")
    return found


def _read(path: Path) -> SigningKey | None:
    """The key in a file, None if there is no file; refused if others can read it, or if it is no key."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(LARGEST_FILE)
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError(f"{path}: the ledger's key is a link that leads nowhere; {_REPAIR}") from None
        return None
    except OSError as error:
        raise InputError(f"{path}: the ledger's key cannot be read ({error.strerror}); {_REPAIR}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(
            f"{path}: others can read or change the ledger's key; close it with: chmod 600 {path}"
        )
    try:
        return SigningKey.from_file(data)
    except ParameterError:
        raise InputError(f"{path}: the ledger's key is damaged; {_REPAIR}") from None


def _make(path: Path) -> None:
    """Put a new key into place unless another process was quicker; it is on the disk when this returns."""
    try:
        handle, name = tempfile.mkstemp(prefix=".crowdveil.", dir=path.parent)  # mode 0600
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(SigningKey.new().to_file())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _sync(path.parent)
    except OSError as error:
        raise OutputError(f"{path}: the ledger's key cannot be written ({error.strerror})") from None


def _sync(folder: Path) -> None:
    """Put the names in a folder on the disk, where a folder can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
