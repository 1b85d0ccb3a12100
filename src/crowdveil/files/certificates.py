"""Certificates in files: a file of their own, a release's folder, Parquet metadata, a CSV file's first line.

Noisy claims and synthetic records in CSV files once had theirs in a file beside, which is still read.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import polars as pl

from crowdveil.certificates.certificate import Certificate
from crowdveil.certificates.reading import Checked, read_text
from crowdveil.certificates.signature import stated
from crowdveil.engines import on_threads
from crowdveil.errors import InputError
from crowdveil.files.exact_paths import Source, parquet_metadata, parts_of, read_csv, scan_parquet
from crowdveil.files.first_line import DIGEST, digest, line_of, take_line, unpacked
from crowdveil.files.places import File, Parts
from crowdveil.files.published import CERTIFICATE, check_files
from crowdveil.files.reservation import Reservation, reserved
from crowdveil.files.rows import ROWS_DIGEST, rows_of_frame, rows_of_parquet
from crowdveil.files.silenced_panics import quiet_stderr
from crowdveil.files.writing import STDOUT, check_stdout, is_parquet, write_to_stdout
from crowdveil.plain_data import to_json
from crowdveil.signing import SigningKey
from crowdveil.sources import STDIN

KEY = "crowdveil"  # of the Parquet metadata
NO_ROWS = frozenset({"_SUCCESS", "_metadata", "_common_metadata"})  # what other programs leave in folders
PARTS = "parts"  # the entry of a certificate's contents with the digests of the rows of parts, by name
BESIDE = (".mechanism.json", ".promise.json")  # after the name of a CSV file of noisy claims, of records
LARGEST_FILE = 2**26  # reports name all of their objects
_PARQUET = b"PAR1"  # how such a file begins
_LEVEL = 6  # of compression, as gzip has it


def read_certificate(path: str) -> Checked:
    """The certificate of a file or folder, or the one that is a file; refused unless all of it fits.

    The data that it was published with are compared with their digests: the rows of a table, the files in a
    folder.
    """
    if path == STDIN or not Path(path).is_dir():
        return _of_file(path)
    place = Path(path) / CERTIFICATE
    if not place.exists():
        in_parts = in_parquet(Path(path), path) if parts_of(Path(path)) else None
        if in_parts is not None:
            return in_parts
        raise InputError(f"{path}: there is no {CERTIFICATE} in this folder")
    checked = _of_file(str(place))
    files = check_files(Path(path), checked.certificate)
    if checked.certificate.kind != "release" or (files is None and checked.signer is not None):
        raise InputError(f"{place}: speaks for something else than the files in this folder")
    return replace(checked, files=files)


def _of_file(path: str) -> Checked:
    source = "standard input" if path == STDIN else path
    with _opened(path, source) as file:
        start = file.read(len(_PARQUET))
        file.seek(0)
        if start == _PARQUET:
            checked = in_parquet(file if isinstance(file, BytesIO) else path, source)
            if checked is None:
                raise InputError(f"{source}: carries no certificate")
            return checked
        table = unpacked(file)
        line = take_line(table, source)
        if line is not None:
            return in_first_line(line, table, source)
        beside = None if path == STDIN else beside_csv(path)
        if beside is not None:
            return beside
        text = _decoded(table.read(LARGEST_FILE + 1), source)
        if not text.lstrip().startswith(("{", "[", '"')):  # no JSON
            raise InputError(f"{source}: carries no certificate")
        return read_text(text, source)


@contextmanager
def _opened(path: str, source: str) -> Iterator[BinaryIO]:
    """A file, or all of standard input; errors of the system become ours."""
    try:
        with BytesIO(sys.stdin.buffer.read()) if path == STDIN else Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{source}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise InputError(f"{source}: cannot be read ({why})") from None


def _decoded(data: bytes, source: str) -> str:
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError
        return data.decode("utf-8-sig")
    except ValueError:
        raise InputError(f"{source}: is not a certificate") from None


# --- tables that carry their certificate --------------------------------------------------------------------


@contextmanager
def reserved_table(path: str, *, force: bool, parts: bool = False) -> Iterator[Reservation | None]:
    """A place for a table that carries its certificate; None is standard output.

    With `parts` a Parquet file is a folder of such files.
    """
    if path == STDOUT:
        check_stdout()
        yield None
        return
    target = Parts(Path(path)) if parts and is_parquet(path) else File(Path(path))
    with reserved([target], force=force) as place:
        yield place


def write_with_certificate(
    frame: pl.DataFrame, certificate: Certificate, place: Reservation | None, key: SigningKey | None = None
) -> None:
    """Write a table that carries its certificate, signed by `key`; without a place on standard output."""
    if place is None:
        # Bytes: another encoding or other ends of lines would not have the digest.
        write_to_stdout(csv_parts(frame, certificate, key))
        return
    with place.filling() as (draft,):
        if is_parquet(draft.name):
            frame.rechunk().write_parquet(draft, metadata=metadata_of(frame, certificate, key))
            return
        with draft.open("wb") as file:
            zipped = draft.suffix.lower() == ".gz"
            # Without name and time: a seed repeats all bytes.
            with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) if zipped else file as table:
                table.writelines(csv_parts(frame, certificate, key))


def csv_parts(
    frame: pl.DataFrame, certificate: Certificate, key: SigningKey | None
) -> tuple[bytes, memoryview]:
    """The first line of a CSV file, with the digest of all that follows, and what follows."""
    buffer = BytesIO()
    frame.write_csv(buffer)
    buffer.seek(0)
    return line_of(stated(_tied(certificate, DIGEST, digest(buffer)), key)), buffer.getbuffer()


def metadata_of(frame: pl.DataFrame, certificate: Certificate, key: SigningKey | None) -> dict[str, str]:
    """The certificate of a table as the metadata of a Parquet file, with the digest of the rows."""
    return metadata_for(rows_of_frame(frame), certificate, key)


def metadata_for(
    rows: str | Mapping[str, str], certificate: Certificate, key: SigningKey | None
) -> dict[str, str]:
    """The same for rows that have this digest, or these in parts of such names."""
    name = ROWS_DIGEST if isinstance(rows, str) else PARTS
    return {KEY: to_json(stated(_tied(certificate, name, rows), key))}


def _tied(certificate: Certificate, name: str, rows: str | Mapping[str, str]) -> Certificate:
    return replace(certificate, contents={**certificate.contents, name: rows})


def told_by_parquet(file: Source, source: str) -> Checked | None:
    """The certificate in the metadata of a Parquet file, if there is one; rows are not looked at."""
    with _as_parquet(source):
        text = parquet_metadata(file).get(KEY)
    return None if text is None else read_text(text, source)


def in_parquet(file: Source, source: str) -> Checked | None:
    """The certificate in the metadata of a Parquet file, if there is one; refused if the rows are others.

    Certificates of versions 1 and 2 tell no digest of the rows. Later ones do, or speak for something else.
    """
    if isinstance(file, str | Path) and Path(file).is_dir():
        return _in_parts(Path(file), source)
    checked = told_by_parquet(file, source)
    if checked is None:
        return None
    if PARTS in checked.certificate.contents:
        raise InputError(f"{source}: is one part of a table: name the folder that holds all of them")
    tied = checked.must_be_tied or ROWS_DIGEST in checked.certificate.contents
    with _as_parquet(source):
        if tied and checked.certificate.contents.get(ROWS_DIGEST) != rows_of_parquet(_from_start(file)):
            raise InputError(
                f"{source}: its rows are not those that its certificate tells of: some were changed, or all "
                "were written anew. Use the file as it was written"
            )
        _check_users(checked, lambda: scan_parquet(_from_start(file)), source)
    return replace(checked, rows=tied)


def _in_parts(folder: Path, source: str) -> Checked | None:
    """The certificate that all parts of a table carry, if there is one; refused if one part is another."""
    parts = parts_of(folder)
    with _as_parquet(source):
        texts = {parquet_metadata(part).get(KEY) for part in parts}
        text = texts.pop()
        if texts:
            raise InputError(f"{source}: its parts carry different certificates")
        if text is None:
            return None
        checked = read_text(text, source)
        digests = on_threads(lambda number: rows_of_parquet(parts[number]), len(parts))
        found = {part.name: each for part, each in zip(parts, digests, strict=True)}
        besides = any(path.name not in NO_ROWS for path in {*folder.iterdir()} - {*parts})
        if besides or checked.certificate.contents.get(PARTS) != found:
            raise InputError(
                f"{source}: its parts are not those that its certificate tells of: some were changed, added "
                "or removed. Use the folder as it was written"
            )
        _check_users(checked, lambda: scan_parquet(folder), source)
    return replace(checked, rows=True)


def _from_start(file: Source) -> Source:
    if isinstance(file, BytesIO):
        file.seek(0)
    return file


@contextmanager
def _as_parquet(source: str) -> Iterator[None]:
    try:
        with quiet_stderr():
            yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise InputError(f"{source}: cannot be read as Parquet") from None


def in_first_line(line: str, rows: BinaryIO, source: str) -> Checked:
    """The certificate in the first line of a CSV file; `rows` stands at what follows."""
    checked = read_text(line, f"{source}, first line")
    start = rows.tell()
    if checked.certificate.contents.get(DIGEST) != digest(rows):
        raise InputError(
            f"{source}: its rows are not those that its first line tells of: some were changed, or all were "
            "written anew. Use the file as it was written; or remove the line, and what it promises"
        )
    rows.seek(start)
    _check_users(checked, lambda: _users(BytesIO(rows.read())), source)
    return replace(checked, rows=True)


def beside_csv(path: str) -> Checked | None:
    """The certificate in a file beside a CSV file, if there is one; refused if it is about another table."""
    for beside in (Path(f"{path}{ending}") for ending in BESIDE):
        if beside.exists():
            return _in_file(beside, path)
    return None


def _in_file(beside: Path, path: str) -> Checked:
    """The certificate in `beside`, which must tell the digest of the table."""
    try:
        checked = read_text(beside.read_text(encoding="utf-8"), str(beside))
        with Path(path).open("rb") as file:
            same = checked.certificate.contents.get(DIGEST) == digest(file)
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: this file, or {beside}, cannot be read") from None
    if not same:
        raise InputError(
            f"{path}: is not the file that {beside} tells of, or was changed; "
            "perturb anew, or remove the latter if these are plain claims"
        )
    _check_users(checked, lambda: _users(path), path)
    return replace(checked, rows=True)


def _users(table: Source) -> pl.LazyFrame:
    return read_csv(table, columns=["user"], infer_schema=False).lazy()


def _check_users(checked: Checked, table: Callable[[], pl.LazyFrame], source: str) -> None:
    """Raise `InputError` if a user has more noisy claims in a table than its certificate tells."""
    most = checked.certificate.public.get("claims_of_a_user")
    if checked.certificate.kind != "noisy claims" or most is None:
        return
    try:
        found = table().group_by("user").len().select(pl.col("len").max()).collect().item()
    except pl.exceptions.NoDataError:
        return
    except pl.exceptions.PolarsError:
        raise InputError(f"{source}: has no column user, of which its certificate tells") from None
    if found is not None and found > most:
        raise InputError(
            f"{source}: was edited or is damaged: public.claims_of_a_user is {most}, and some user has more "
            "claims than that"
        )
