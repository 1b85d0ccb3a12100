"""Where certificates are: a file of their own, a release's folder, Parquet metadata, beside a CSV file."""

from __future__ import annotations

import sys
from pathlib import Path

from crowdveil.certificates.reading import Checked, read_text
from crowdveil.errors import InputError

KEY = "crowdveil"  # of the Parquet metadata
BESIDE = (".mechanism.json", ".promise.json")  # after the name of a CSV file of noisy claims, of records
LARGEST_FILE = 2**26  # reports name all of their objects
STDIN = "-"


def read_certificate(path: str) -> Checked:
    """The certificate of a file or folder, or the one that is a file; refused unless all of it fits."""
    source, text = _text(path)
    return read_text(text, source)


def _text(path: str) -> tuple[str, str]:
    """Where the certificate was found, and what it says."""
    if path == STDIN:
        return "standard input", _decoded(sys.stdin.buffer.read(LARGEST_FILE + 1), "standard input")
    place = Path(path)
    try:
        if place.is_dir():
            place = place / "certificate.json"
            if not place.exists():
                raise InputError(f"{path}: there is no certificate.json in this folder")
        beside = [other for ending in BESIDE if (other := Path(f"{place}{ending}")).exists()]
        if beside:
            place = beside[0]
        with place.open("rb") as file:
            start = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if start.startswith(b"PAR1"):
        return path, _from_parquet(path)
    return str(place), _decoded(start, path)


def _from_parquet(path: str) -> str:
    import polars as pl

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
