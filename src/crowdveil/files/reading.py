"""Reading of CSV (also gzipped) and Parquet files. Errors name file, row and column, never a cell."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import polars as pl
from polars.exceptions import PanicException, PolarsError

from crowdveil.cells import as_integers
from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
from crowdveil.engines.stored.rows import Rows
from crowdveil.errors import InputError
from crowdveil.files.columns import column_of_role, nfc, three_columns
from crowdveil.files.exact_paths import parts_of, read_csv, read_parquet, scan_parquet
from crowdveil.files.first_line import take_line, unpacked
from crowdveil.files.large_tables import check_csv, large_claims, large_labels, large_rows
from crowdveil.files.silenced_panics import quiet_stderr
from crowdveil.labels import Labels
from crowdveil.sources import STDIN, has_no_path

if TYPE_CHECKING:
    from crowdveil.certificates.certificate import Certificate
    from crowdveil.certificates.reading import Checked
    from crowdveil.files.spark_table import SparkTable

_PARQUET_MAGIC = b"PAR1"
_SEPARATORS = ",;\t|"
_BLOCK = 2**16  # bytes

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
        The names of the three columns; by default they are guessed (`columns.GUESSES`).

    """
    return _TableFile(path).claims({"object": object, "user": user, "value": value})


def read_claims_as_told(
    path: str,
    engine: Engine | None = None,
    if_any: bool = False,
    saturate: bool = False,
    /,
    **columns: str | None,
) -> tuple[Claims, Certificate | None]:
    """Claims where the engine wants them, and the certificate that the file carries.

    `if_any` and `saturate` are those of `Claims.from_frame`; the columns are those of `read_claims`. Parquet
    that does not fit in the memory of an engine is read into claims on disk.
    """
    table = _table(path, engine)
    certificate = table.certificate()
    return table.claims(columns, if_any=if_any, saturate=saturate), certificate


def read_labels_as_told(
    path: str, engine: Engine | None = None, /, **columns: str | None
) -> tuple[Labels, Certificate | None]:
    """Labels where the engine wants them, and the certificate that the file carries."""
    table = _table(path, engine)
    certificate = table.certificate()
    return table.labels(columns), certificate


def read_here(path: str, engine: Engine | None) -> bool:
    """Whether this engine wants what it reads on this machine; refuses what only Spark finds."""
    here = engine is None or isinstance(engine, LocalEngine)
    if here and has_no_path(path):
        raise InputError(f"{path}: only --engine spark finds this")
    return here


def _table(path: str, engine: Engine | None) -> _TableFile | SparkTable:
    """The table, as this engine reads it."""
    if read_here(path, engine):
        return _TableFile(path, engine)
    from crowdveil.files.spark_table import SparkTable

    return SparkTable(path, engine)


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
    claims = Path(path) / "claims.parquet"
    return _TableFile(str(claims) if claims.exists() else path).objects_and(["value"])


class _TableFile:
    """A CSV or Parquet file, or a folder of Parquet files: certificate, column names, reading of columns.

    A CSV file with a certificate is read at once: what was checked is what is used. One that does not fit in
    the memory of `engine` is refused.
    """

    def __init__(self, path: str, engine: Engine | None = None) -> None:
        self.label = "standard input" if path == STDIN else path
        self._path = Path(path)
        memory = None if engine is None else engine.memory
        self._engine = engine
        self._data, head = self._peek(path)
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
            elif self._path.is_dir() and parts_of(self._path):
                data, head = None, _PARQUET_MAGIC
            else:  # a pipe can be read only once; a folder raises an error
                data = self._path.read_bytes()
                head = data[:4]
        except FileNotFoundError:
            raise InputError(f"{self.label}: no such file") from None
        except IsADirectoryError:
            raise InputError(f"{self.label}: is a folder without Parquet files") from None
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
            told = in_parquet(self._stream(), self.label)
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
                return scan_parquet(self._stream()).collect_schema().names()
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
                    return read_parquet(self._stream(), columns)
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
        names = [nfc(name) for name in next(csv.reader([line], delimiter=self._separator), [])]
        return {name for name in names if names.count(name) > 1}

    def find(self, role: str, given: str | None) -> str:
        """The column of a role, named `given` or guessed."""
        return column_of_role(role, given, self.columns, self.label, self.duplicate_names())

    def claims(
        self, given: Mapping[str, str | None], *, if_any: bool = False, saturate: bool = False
    ) -> Claims:
        """The claims in three columns, named or guessed."""
        found = three_columns(self.columns, self.label, given, self.duplicate_names())
        rows = self._large(found)
        if rows is not None and self._engine is not None:
            return large_claims(rows, self._engine, saturate=saturate)
        frame = self.read(list(found.values()))
        return Claims.from_frame(frame, **found, source=self.label, if_any=if_any, saturate=saturate)

    def labels(self, given: Mapping[str, str | None]) -> Labels:
        """The labels in three columns, named or guessed."""
        found = three_columns(self.columns, self.label, given, self.duplicate_names())
        rows = self._large(found)
        if rows is not None and self._engine is not None:
            return large_labels(rows, self._engine)
        return Labels.from_frame(self.read(list(found.values())), **found, source=self.label)

    def _large(self, found: Mapping[str, str]) -> Rows | None:
        """The rows of these columns if they are Parquet that does not fit in the engine's memory."""
        if not self._is_parquet or self._engine is None or self._engine.memory is None:
            return None
        table = self._stream()
        parts = parts_of(table) if isinstance(table, Path) and table.is_dir() else [table]
        columns = found["object"], found["user"], found["value"]
        return large_rows(parts, columns, self.label, self._engine.memory)

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
