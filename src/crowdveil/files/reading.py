"""Reading of CSV (also gzipped) and Parquet files. Errors name file, row and column, never a cell."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl
from polars.exceptions import PanicException, PolarsError

from crowdveil.claims import Claims, as_integers
from crowdveil.engines import Engine
from crowdveil.engines.stored.rows import Rows
from crowdveil.errors import InputError
from crowdveil.files.exact_paths import read_csv, read_parquet, scan_parquet
from crowdveil.files.first_line import take_line, unpacked
from crowdveil.files.large_tables import check_csv, large_claims, large_labels, large_rows
from crowdveil.files.parquet_parts import parts_in
from crowdveil.files.silenced_panics import quiet_stderr
from crowdveil.labels import Labels

if TYPE_CHECKING:
    from crowdveil.certificates.certificate import Certificate
    from crowdveil.certificates.reading import Checked

STDIN = "-"
_PARQUET_MAGIC = b"PAR1"
_SEPARATORS = ",;\t|"
_BLOCK = 2**16  # bytes

# Names by which the column of a role is guessed if no option names it, in this order.
GUESSES = {
    "object": ("object", "item", "task", "entity", "question", "subject", "drug", "place"),
    "user": ("user", "worker", "source", "annotator", "participant", "respondent", "patient", "person"),
    "value": ("value", "claim", "answer", "rating", "score", "measurement", "severity", "label"),
}


COLUMNS = ("object", "value")


def read_claims(
    path: str, *, object: str | None = None, user: str | None = None, value: str | None = None
) -> Claims:
    """Claims from a file.

    Parameters
    ----------
    path:
        A CSV or Parquet file, or "-" for standard input.
    object, user, value:
        The names of the three columns; by default they are guessed (`GUESSES`).

    """
    return Claims.from_frame(**_three_columns(_TableFile(path), object, user, value))


def read_claims_as_told(
    path: str,
    if_any: bool = False,
    saturate: bool = False,
    /,
    *,
    object: str | None = None,
    user: str | None = None,
    value: str | None = None,
    engine: Engine | None = None,
) -> tuple[Claims, Certificate | None]:
    """Claims, and the certificate that the file carries; with the parameters of `read_claims`.

    `if_any` and `saturate` are those of `Claims.from_frame`. Parquet that does not fit in the memory of
    `engine` is read into claims on disk.
    """
    file = _TableFile(path, engine)
    certificate = file.certificate()
    rows = _large_rows(file, engine, object, user, value)
    if rows is not None and engine is not None:
        return large_claims(rows, engine, saturate=saturate), certificate
    columns = _three_columns(file, object, user, value)
    return Claims.from_frame(**columns, if_any=if_any, saturate=saturate), certificate


def read_labels_as_told(
    path: str,
    *,
    object: str | None = None,
    user: str | None = None,
    value: str | None = None,
    engine: Engine | None = None,
) -> tuple[Labels, Certificate | None]:
    """Labels, and the certificate that the file carries; with the parameters of `read_claims_as_told`."""
    file = _TableFile(path, engine)
    certificate = file.certificate()
    rows = _large_rows(file, engine, object, user, value)
    if rows is not None and engine is not None:
        return large_labels(rows, engine), certificate
    return Labels.from_frame(**_three_columns(file, object, user, value)), certificate


def _roles(file: _TableFile, object: str | None, user: str | None, value: str | None) -> dict[str, str]:
    columns = {
        role: file.find(role, name) for role, name in (("object", object), ("user", user), ("value", value))
    }
    if len(set(columns.values())) < len(columns):
        raise InputError(f"{file.label}: object, user and value must be three different columns")
    return columns


def _three_columns(
    file: _TableFile, object: str | None, user: str | None, value: str | None
) -> dict[str, Any]:
    columns = _roles(file, object, user, value)
    return {"frame": file.read(list(columns.values())), "source": file.label, **columns}


def _large_rows(
    file: _TableFile, engine: Engine | None, object: str | None, user: str | None, value: str | None
) -> Rows | None:
    """The rows of a table in Parquet that does not fit in the memory of an engine; else None."""
    parts = file.parts()
    if engine is None or parts is None:
        return None
    roles = _roles(file, object, user, value)
    columns = roles["object"], roles["user"], roles["value"]
    return large_rows(parts, columns, file.label, engine.memory)


def read_frame(path: str) -> pl.DataFrame:
    """All columns of a table; cells of a CSV file are text."""
    file = _TableFile(path)
    if file.duplicate_names():
        raise InputError(f"{file.label}: two columns have the same name")
    return file.read(file.columns, empty_rows=True)


def read_columns(path: str, names: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """The columns of these names, and the name of the file in errors."""
    file = _TableFile(path)
    column_of = {name: file.find(f"column {name!r}", name) for name in names}
    return file.read(list(column_of.values()), empty_rows=True).select(
        pl.col(old).alias(new) for new, old in column_of.items()
    ), file.label


def read_truths(path: str) -> pl.DataFrame:
    """Known truths, one row for each object: columns object, value and, if the file has it, spread."""
    file = _TableFile(path)
    truths = file.objects_and(["value", "spread"] if "spread" in file.columns else ["value"])
    if truths["object"].is_duplicated().any():
        raise InputError(f"{file.label}: some object has several truths")
    if "spread" in truths.columns and (truths["spread"] <= 0).any():
        row = int((truths["spread"] <= 0).arg_true()[0]) + 1
        raise InputError(
            f"{file.label}: column 'spread' is not above 0 in row {row} (the header not counted)"
        )
    return truths


def read_known_labels(path: str) -> pl.DataFrame:
    """Known labels, one row for each object: columns object and value, both as text."""
    file = _TableFile(path)
    labels = file.read([file.find("object", None), file.find("value", None)])
    texts = labels.select(as_text(column).alias(name) for column, name in zip(labels, COLUMNS, strict=True))
    if texts["object"].is_duplicated().any():
        raise InputError(f"{file.label}: some object has several labels")
    return texts


def read_names(path: Path) -> tuple[str, ...]:
    """The names in a file with one name per line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text") from None
    return tuple(unicodedata.normalize("NFC", line) for line in lines if line.strip())


def as_text(names: pl.Series) -> pl.Series:
    """Names as text: integers without a decimal point, text in Unicode normal form C."""
    return as_integers(names).cast(pl.String).str.normalize("NFC")


def has_parquet_magic(path: Path) -> bool:
    """Whether a file begins with the Parquet magic bytes, whatever its name."""
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def read_released(path: str) -> pl.DataFrame:
    """Released claims with columns object and value, from a release folder or a claims file."""
    folder = Path(path)
    return _TableFile(str(folder / "claims.parquet") if folder.is_dir() else path).objects_and(["value"])


def _nfc(name: str) -> str:
    return unicodedata.normalize("NFC", name)


class _TableFile:
    """A CSV or Parquet file, or a folder of Parquet files: certificate, column names, reading of columns.

    A CSV file with a certificate is read at once: what was checked is what is used. One that does not fit in
    the memory of `engine` is refused.
    """

    def __init__(self, path: str, engine: Engine | None = None) -> None:
        self.label = "standard input" if path == STDIN else path
        self._path = Path(path)
        memory = None if engine is None else engine.memory
        self._folder = parts_in(self._path) if path != STDIN and self._path.is_dir() else None
        self._data, head = (None, _PARQUET_MAGIC) if self._folder else self._peek(path)
        self._is_parquet = head == _PARQUET_MAGIC or path.lower().endswith((".parquet", ".pq"))
        self._in_csv = None
        if not self._is_parquet:
            check_csv(self._size(), self.label, memory)
            self._in_csv = self._unpack()
            check_csv(self._size(), self.label, memory)
        with self._plain_errors():
            self._separator = None if self._is_parquet else self._guess_separator()
            self.columns = self._names()

    def _peek(self, path: str) -> tuple[bytes | None, bytes]:
        try:
            if path == STDIN:
                data: bytes | None = sys.stdin.buffer.read()
                head = (data or b"")[:4]
            elif self._path.is_file():
                data = None
                with self._path.open("rb") as file:
                    head = file.read(4)
            else:  # a pipe can be read only once; a folder raises an error
                data = self._path.read_bytes()
                head = data[:4]
        except FileNotFoundError:
            raise InputError(f"{self.label}: no such file") from None
        except IsADirectoryError:
            raise InputError(f"{self.label}: is a folder, not a file") from None
        except OSError as error:
            raise InputError(f"{self.label}: cannot be read ({error.strerror})") from None
        if not head:
            raise InputError(f"{self.label}: the file is empty")
        return data, head

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Replace errors of the readers, whose messages may quote the data, by ours."""
        try:
            yield
        except (PolarsError, PanicException, OSError, EOFError, zlib.error, ValueError):
            kind = "Parquet" if self._is_parquet else "CSV"
            raise InputError(f"{self.label}: this is not a {kind} file that can be read") from None

    def _unpack(self) -> Checked | None:
        """Take the certificate off a CSV file, if there is one, and the file out of a gzipped one."""
        with self._plain_errors(), self._open() as packed:
            file = unpacked(packed)
            line = take_line(file, self.label)
            if file is not packed or line is not None:
                self._data = file.read()
        if line is None or self._data is None:
            return None
        from crowdveil.files.certificates import in_first_line  # which loads the mechanisms

        return in_first_line(line, BytesIO(self._data), self.label)

    def certificate(self) -> Certificate | None:
        """The certificate that the file carries, or that was written beside it."""
        from crowdveil.files.certificates import beside_csv, in_parquet

        told = self._in_csv
        if self._is_parquet:
            certified = [in_parquet(part, self.label) for part in self.parts() or ()]
            told = certified[0] if len(certified) == 1 else None
            if told is None and any(each is not None for each in certified):
                raise InputError(
                    f"{self.label}: one of its files carries a certificate, which tells nothing of the "
                    "others: name that file alone"
                )
        elif told is None and str(self._path) != STDIN and self._path.is_file():
            told = beside_csv(str(self._path))
        if told is not None and told.certificate.kind == "reports":
            raise InputError(
                f"{self.label}: holds reports about every cell, not claims; discover takes them from a file"
            )
        return None if told is None else told.certificate

    def _open(self) -> BinaryIO:
        return self._path.open("rb") if self._data is None else BytesIO(self._data)

    def _stream(self) -> Path | BytesIO:
        return self._path if self._data is None else BytesIO(self._data)

    def _size(self) -> int:
        return self._path.stat().st_size if self._data is None else len(self._data)

    def parts(self) -> Sequence[Path | BytesIO] | None:
        """The file, or the files of the folder, if these are Parquet."""
        if not self._is_parquet:
            return None
        return self._folder or [self._stream()]

    def _guess_separator(self) -> str:
        if self._data is None:
            with self._path.open("rb") as file:
                header = file.readline()
        else:
            header = self._data.split(b"\n", 1)[0]
        return max(_SEPARATORS, key=header.decode("utf-8-sig").count)

    def _names(self) -> list[str]:
        if self._separator is None:
            with quiet_stderr():
                return scan_parquet(self._folder or self._stream()).collect_schema().names()
        head = read_csv(self._stream(), separator=self._separator, infer_schema=False, n_rows=1)
        return head.columns

    def read(self, columns: list[str], *, empty_rows: bool = False) -> pl.DataFrame:
        """The named columns; cells of a CSV file are text.

        So names keep leading zeros, and errors can name the row of a bad number. Rows at the end of a CSV
        file that are empty in these columns are dropped. With `empty_rows` such rows have a meaning, and only
        blank lines at the end are dropped.
        """
        with self._plain_errors():
            if self._separator is None:
                with quiet_stderr():
                    return read_parquet(self._folder or self._stream(), columns)
            cells = read_csv(self._stream(), separator=self._separator, infer_schema=False, columns=columns)
        if not empty_rows:
            filled = cells.select(pl.any_horizontal(pl.all().fill_null("") != "")).to_series().arg_true()
            return cells.head(int(filled[-1]) + 1 if len(filled) else 0)
        return cells.head(max(0, len(cells) - self._blank_lines_at_end()))

    def _blank_lines_at_end(self) -> int:
        """The number of blank lines at the end; a row of empty cells has separators and is not blank.

        In a file with one column an empty line is an empty cell.
        """
        if len(self.columns) == 1:
            return 0
        line_ends = 0
        for block in self._from_the_end():
            content = block.rstrip(b"\r\n")
            line_ends += block[len(content) :].count(b"\n")
            if content:
                return max(0, line_ends - 1)
        return line_ends

    def _from_the_end(self) -> Iterator[bytes]:
        """The file's bytes in blocks, the last block first."""
        with self._open() as file:
            position = file.seek(0, os.SEEK_END)
            while position > 0:
                size = min(position, _BLOCK)
                position = file.seek(position - size)
                yield file.read(size)

    def duplicate_names(self) -> set[str]:
        """Names of several columns of a CSV file; the reader renames all but one of these columns."""
        if self._separator is None:
            return set()
        with self._open() as file:
            line = file.readline().decode("utf-8-sig").rstrip("\r\n")
        names = [_nfc(name) for name in next(csv.reader([line], delimiter=self._separator), [])]
        return {name for name in names if names.count(name) > 1}

    def find(self, role: str, given: str | None) -> str:
        """The column of a role, named `given` or guessed.

        Errors do not list the headers: in a file without a header they would show data.
        """
        if given is not None:
            matching = [column for column in self.columns if _nfc(column) == _nfc(given)]
            if not matching:
                raise InputError(f"{self.label}: there is no column {given!r}")
            return self._only(matching, role)
        for guess in GUESSES[role]:
            matching = [column for column in self.columns if column.strip().lower() == guess]
            if matching:
                return self._only(matching, role)
        raise InputError(f"{self.label}: which column is the {role}? Name it with --{role}")

    def _only(self, matching: list[str], role: str) -> str:
        if len(matching) > 1 or _nfc(matching[0]) in self.duplicate_names():
            raise InputError(f"{self.label}: several columns could be the {role}; rename all but one")
        return matching[0]

    def objects_and(self, numeric: list[str]) -> pl.DataFrame:
        """The column object as text, and numeric columns, checked to be finite."""
        table = self.read([self.find(column, column) for column in ["object", *numeric]])
        return table.select(
            as_text(table["object"]),
            *[self._finite(table[column]) for column in numeric],
        )

    def _finite(self, column: pl.Series) -> pl.Series:
        numbers = column.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() | ~numbers.is_finite()).fill_null(value=True)
        if bad.any():
            row = int(bad.arg_true()[0]) + 1
            raise InputError(
                f"{self.label}: column {column.name!r} is not a finite number in row {row} "
                "(the header not counted)"
            )
        return numbers
