"""Certificates in files: a file of their own, a release's folder, Parquet metadata, or beside a CSV file."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from crowdveil.certificates.certificate import Certificate
from crowdveil.certificates.reading import Checked, read_text
from crowdveil.errors import InputError
from crowdveil.files.places import File
from crowdveil.files.reservation import Reservation, reserved
from crowdveil.files.writing import STDOUT, check_stdout, is_parquet, write_csv, write_stdout
from crowdveil.plain_data import to_json

KEY = "crowdveil"  # of the Parquet metadata
BESIDE = (".mechanism.json", ".promise.json")  # after the name of a CSV file of noisy claims, of records
LARGEST_FILE = 2**26  # reports name all of their objects
STDIN = "-"


def read_certificate(path: str) -> Checked:
    """The certificate of a file or folder, or the one that is a file; refused unless all of it fits."""
    if path == STDIN:
        text = _decoded(sys.stdin.buffer.read(LARGEST_FILE + 1), "standard input")
        return read_text(text, "standard input")
    for ending in BESIDE:
        beside = Path(f"{path}{ending}")
        if beside.exists():
            return _tied(path, beside)
    place = Path(path)
    try:
        if place.is_dir():
            place = place / "certificate.json"
            if not place.exists():
                raise InputError(f"{path}: there is no certificate.json in this folder")
        with place.open("rb") as file:
            start = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if start.startswith(b"PAR1"):
        return read_text(_from_parquet(path), path)
    return read_text(_decoded(start, path), str(place))


def _from_parquet(path: str) -> str:
    try:
        text = pl.read_parquet_metadata(path).get(KEY)
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path}: cannot be read as Parquet") from None
    if text is None:
        raise InputError(f"{path}: tells of no certificate")
    return str(text)


def _decoded(data: bytes, source: str) -> str:
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError
        return data.decode("utf-8-sig")
    except ValueError:
        raise InputError(f"{source}: is not a certificate") from None


# --- tables that carry their certificate --------------------------------------------------------------------


@contextlib.contextmanager
def reserved_table(path: str, beside: Path, *, force: bool) -> Iterator[Reservation | None]:
    """Places for a table and for the certificate `beside` a CSV file; None is standard output."""
    if path == STDOUT:
        check_stdout()
        yield None
        return
    targets = [File(Path(path))] if is_parquet(path) else [File(beside), File(Path(path))]
    with reserved(targets, force=force) as places:
        yield places


def write_with_certificate(frame: pl.DataFrame, certificate: Certificate, places: Reservation | None) -> None:
    """Write a table with its certificate: in a Parquet file, in a file beside a CSV file, not in a pipe."""
    if places is None:
        write_stdout(frame)
        return
    with places.filling() as (*beside, draft):
        if not beside:
            frame.write_parquet(draft, metadata=metadata_of(certificate))
            return
        write_csv(frame, draft)
        contents = {**certificate.contents, "sha256": digest(draft)}
        text = to_json(replace(certificate, contents=contents).to_dict())
        beside[0].write_text(text, encoding="utf-8")


def metadata_of(certificate: Certificate) -> dict[str, str]:
    """A certificate as the metadata of a Parquet file."""
    return {KEY: to_json(certificate.to_dict())}


def in_parquet(path: str) -> Certificate | None:
    """The certificate in the metadata of a Parquet file, if there is one."""
    text = pl.read_parquet_metadata(path).get(KEY)
    return None if text is None else read_text(text, path).certificate


def beside_csv(path: str, beside: Path) -> Certificate | None:
    """The certificate beside a CSV file, if there is one; refused if it is about another file."""
    return _tied(path, beside).certificate if beside.exists() else None


def _tied(path: str, beside: Path) -> Checked:
    """The certificate in `beside`, which must tell the digest of the table."""
    try:
        checked = read_text(beside.read_text(encoding="utf-8"), str(beside))
        same = checked.certificate.contents.get("sha256") == digest(Path(path))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: this file, or {beside}, cannot be read") from None
    if not same:
        raise InputError(
            f"{path}: is not the file that {beside} tells of, or was changed; "
            "perturb anew, or remove the latter if these are plain claims"
        )
    return checked


def digest(path: Path) -> str:
    """A hash of a table that may be published: it ties its certificate to it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
