"""Tables that carry their certificate: in Parquet metadata, or in a file beside a CSV file."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import polars as pl

from crowdveil.certificates.certificate import Certificate
from crowdveil.certificates.reading import read_text
from crowdveil.errors import InputError
from crowdveil.files.certificates import KEY
from crowdveil.files.writing import STDOUT, is_parquet, whole_file, write_csv, write_table
from crowdveil.plain_data import to_json


def write_described(
    frame: pl.DataFrame, certificate: Certificate, path: str, beside: Path, *, force: bool
) -> None:
    """Write a table with its certificate: in a Parquet file, in a file `beside` a CSV file, not in a pipe."""
    if path == STDOUT:
        write_table(frame, path, force=force)
        return
    with whole_file(Path(path), force=force) as draft:
        if is_parquet(path):
            frame.write_parquet(draft, metadata=metadata_of(certificate))
            return
        write_csv(frame, draft)
        with whole_file(beside, force=force) as other:
            contents = {**certificate.contents, "sha256": digest(draft)}
            other.write_text(to_json(replace(certificate, contents=contents).to_dict()), encoding="utf-8")


def metadata_of(certificate: Certificate) -> dict[str, str]:
    """A certificate as the metadata of a Parquet file."""
    return {KEY: to_json(certificate.to_dict())}


def in_parquet(path: str) -> Certificate | None:
    """The certificate in the metadata of a Parquet file, if there is one."""
    text = pl.read_parquet_metadata(path).get(KEY)
    return None if text is None else read_text(text, path).certificate


def beside_csv(path: str, beside: Path) -> Certificate | None:
    """The certificate beside a CSV file, if there is one; refused if it is about another file."""
    try:
        text = beside.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{beside}: cannot be read") from None
    certificate = read_text(text, str(beside)).certificate
    if certificate.contents.get("sha256") != digest(Path(path)):
        raise InputError(
            f"{path}: is not the file that {beside} tells of, or was changed; "
            "perturb anew, or remove the latter if these are plain claims"
        )
    return certificate


def digest(path: Path) -> str:
    """A hash of a table that may be published: it ties its certificate to it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
