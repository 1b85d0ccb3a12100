"""Digests that tie a certificate to the files that were published with it."""

from __future__ import annotations

from pathlib import Path

from crowdveil.certificates.certificate import Certificate
from crowdveil.errors import InputError
from crowdveil.files.first_line import digest
from crowdveil.plain_data import fits

CERTIFICATE = "certificate.json"  # of a release's folder; it lists all the other files
FILES = "files"  # the entry of a certificate's contents that lists them


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return digest(file)


def digests(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder but the certificate, by name, like "claims.parquet/part-0"."""
    return {name: _digest(path) for name, path in _entries(folder).items()}


def _entries(folder: Path) -> dict[str, Path]:
    """What is in a folder and in folders in it, by name, but the certificate; an empty folder is an entry."""
    entries: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        within = sorted(path.iterdir()) if path.is_dir() and not path.is_symlink() else []
        entries |= {f"{path.name}/{each.name}": each for each in within} or {path.name: path}
    entries.pop(CERTIFICATE, None)
    return entries


def check_files(folder: Path, certificate: Certificate) -> tuple[str, ...] | None:
    """The files of a folder, each the one that the certificate lists; None if it lists none, as old ones do.

    A file that was changed, that is missing, or that is there besides is refused by its name.
    """
    listed = certificate.contents.get(FILES)
    if listed is None:
        return None
    place = folder / CERTIFICATE
    if not isinstance(listed, dict) or not all(fits(text, str) for item in listed.items() for text in item):
        raise InputError(f"{place}: was edited or is damaged: contents.{FILES} is not what belongs there")
    try:
        entries = _entries(folder)
        for name in sorted(listed.keys() - entries.keys()):
            raise InputError(f"{folder}: the file {name} is missing, of which {CERTIFICATE} tells")
        for name in sorted(entries.keys() - listed.keys()):
            raise InputError(f"{folder}: {name!r} is not one of the files of which {CERTIFICATE} tells")
        for name, path in sorted(entries.items()):
            if not path.is_file() or _digest(path) != listed[name]:
                raise InputError(
                    f"{path}: is not the file of which {CERTIFICATE} tells: it was changed, or is another's"
                )
    except OSError as error:
        raise InputError(f"{folder}: a file in it cannot be read ({error.strerror})") from None
    return tuple(sorted(listed))
