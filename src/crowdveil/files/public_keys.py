"""Public keys in files, and holding a certificate against the one that a reader expects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from crowdveil.certificates.reading import Checked
from crowdveil.errors import InputError, OutputError, ParameterError
from crowdveil.files.writing import whole_file
from crowdveil.signing import PublicKey

LARGEST_FILE = 2**14


def write_public_key(key: PublicKey, path: Path) -> None:
    """A public key as a PEM file, which must not exist."""
    if path.exists():
        raise OutputError(f"{path}: exists already; give the public key another name")
    with whole_file(path, force=False) as draft:
        draft.write_text(key.to_pem(), encoding="ascii")


def read_public_key(path: Path) -> PublicKey:
    """The public key in a PEM file."""
    try:
        with path.open("rb") as file:
            return PublicKey.from_pem(file.read(LARGEST_FILE))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ParameterError as error:
        raise InputError(f"{path}: {error}, as crowdveil ledger --export-key writes one") from None


def expect(checked: Checked, key: PublicKey, source: str) -> Checked:
    """The certificate, refused unless it is signed by that key."""
    if checked.signer is None:
        raise InputError(
            f"{source}: is not signed, so it was not checked against the key with the fingerprint "
            f"{key.fingerprint}"
        )
    if checked.signer != key:
        raise InputError(
            f"{source}: is signed by another key: its fingerprint is {checked.signer.fingerprint}, and not "
            f"{key.fingerprint}"
        )
    return replace(checked, expected=True)
