"""CSV (also gzipped) and Parquet in. Errors name file, row and column, never a cell."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import sys
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from crowdveil.claims import Claims, as_integers
from crowdveil.errors import InputError
from crowdveil.files.silenced_panics import quiet_stderr
from crowdveil.labels import Labels

STDIN = "-"
_PARQUET_MAGIC = b"PAR1"
_GZIP_MAGIC = b"\x1f\x8b"
_SEPARATORS = ",;\t|"
_BLOCK = 2**16  # bytes

# What a column is taken for when no option names it, in this order.
GUESSES = {
    "object": ("object", "item", "task", "entity", "question", "subject", "drug", "place"),
    "user": ("user", "worker", "source", "annotator", "participant", "respondent", "patient", "person"),
    "value": ("value", "claim", "answer", "rating", "score", "measurement", "severity", "label"),
}


COLUMNS = ("object", "value")


def read_claims(
    path: str, *, object: str | None = None, user: str | None = None, value: str | None = None
) -> Claims:
    """Claims from a file; "-" is standard input. Columns that are not named are guessed by their names."""
    return Claims.from_frame(**_three_columns(path, object, user, value))


def read_labels(
    path: str, *, object: str | None = None, user: str | None = None, value: str | None = None
) -> Labels:
    """Labels from a file, in the same way."""
    return Labels.from_frame(**_three_columns(path, object, user, value))


def _three_columns(path: str, object: str | None, user: str | None, value: str | None) -> dict[str, Any]:
    file = _TableFile(path)
    columns = {
        role: file.find(role, given) for role, given in (("object", object), ("user", user), ("value", value))
    }
    if len(set(columns.values())) < len(columns):
        raise InputError(f"{file.label}: object, user and value must be three different columns")
    return {"frame": file.read(list(columns.values())), "source": file.label, **columns}


def read_frame(path: str) -> pl.DataFrame:
    """A whole table; of a CSV file every cell as text."""
    file = _TableFile(path)
    if file.twice():
        raise InputError(f"{file.label}: two columns have the same name")
    return file.read(file.columns, empty_rows=True)


def read_columns(path: str, names: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """The columns of these names, and what to call the file in errors."""
    file = _TableFile(path)
    found = {name: file.find(f"column {name!r}", name) for name in names}
    return file.read(list(found.values()), empty_rows=True).select(
        pl.col(old).alias(new) for new, old in found.items()
    ), file.label


def read_truths(path: str) -> pl.DataFrame:
    """Known truths: columns object, value and, if the file has it, spread; one row for each object."""
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
    """Known labels: columns object and value, both as text; one row for each object."""
    file = _TableFile(path)
    known = file.read([file.find("object", None), file.find("value", None)])
    texts = known.select(as_text(column).alias(name) for column, name in zip(known, COLUMNS, strict=True))
    if texts["object"].is_duplicated().any():
        raise InputError(f"{file.label}: some object has several labels")
    return texts


def read_names(path: Path) -> tuple[str, ...]:
    """The names in a file, one in a line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text") from None
    return tuple(unicodedata.normalize("NFC", line) for line in lines if line.strip())


def as_text(names: pl.Series) -> pl.Series:
    """Names as text: whole numbers without a point, text as NFC."""
    return as_integers(names).cast(pl.String).str.normalize("NFC")


def has_parquet_magic(path: Path) -> bool:
    """Whether a file begins as Parquet files do, whatever its name."""
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def read_released(path: str) -> pl.DataFrame:
    """Released claims, columns object and value: a release folder, or its claims file."""
    folder = Path(path)
    return _TableFile(str(folder / "claims.parquet") if folder.is_dir() else path).objects_and(["value"])


def _nfc(name: str) -> str:
    return unicodedata.normalize("NFC", name)


class _TableFile:
    """A CSV or Parquet file whose columns are known and can be read."""

    def __init__(self, path: str) -> None:
        self.label = "standard input" if path == STDIN else path
        self._path = Path(path)
        self._data, head = self._peek(path)
        self._is_parquet = head == _PARQUET_MAGIC or path.lower().endswith((".parquet", ".pq"))
        with self._plain_errors():
            if head.startswith(_GZIP_MAGIC) and not self._is_parquet:
                self._data = gzip.decompress(self._data or self._path.read_bytes())
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
            else:  # a pipe can be read only once; a folder says so itself
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
        """Turn a reader's error into ours: its own words may quote the data."""
        try:
            yield
        except (PolarsError, PanicException, OSError, EOFError, zlib.error, ValueError):
            kind = "Parquet" if self._is_parquet else "CSV"
            raise InputError(f"{self.label}: this is not a {kind} file that can be read") from None

    def _stream(self) -> Path | BytesIO:
        return self._path if self._data is None else BytesIO(self._data)

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
                return list(pl.read_parquet_schema(self._stream()))
        head = pl.read_csv(self._stream(), separator=self._separator, infer_schema=False, n_rows=1)
        return head.columns

    def read(self, columns: list[str], *, empty_rows: bool = False) -> pl.DataFrame:
        """The named columns; of a CSV file every cell as text, so that names keep their leading zeros and
        a bad number is found with its row.

        Rows at the end with nothing in these columns are left out, unless they mean something: then only
        lines without any cell are.
        """
        with self._plain_errors():
            if self._separator is None:
                with quiet_stderr():
                    return pl.read_parquet(self._stream(), columns=columns)
            cells = pl.read_csv(
                self._stream(), separator=self._separator, infer_schema=False, columns=columns
            )
        if not empty_rows:
            filled = cells.select(pl.any_horizontal(pl.all().fill_null("") != "")).to_series().arg_true()
            return cells.head(int(filled[-1]) + 1 if len(filled) else 0)
        return cells.head(max(0, len(cells) - self._blank_lines_at_end()))

    def _blank_lines_at_end(self) -> int:
        """Lines at the end with nothing in them, not even a separator; a row of empty cells is a row.

        In a file of one column an empty line is an empty cell.
        """
        if len(self.columns) == 1:
            return 0
        ends = 0
        for block in self._from_the_end():
            left = block.rstrip(b"\r\n")
            ends += block[len(left) :].count(b"\n")
            if left:
                return max(0, ends - 1)
        return ends

    def _from_the_end(self) -> Iterator[bytes]:
        """The file's bytes, last blocks first."""
        with self._path.open("rb") if self._data is None else BytesIO(self._data) as file:
            place = file.seek(0, os.SEEK_END)
            while place > 0:
                size = min(place, _BLOCK)
                place = file.seek(place - size)
                yield file.read(size)

    def twice(self) -> set[str]:
        """Names that several columns of a CSV file have: the reader gives all but one of them another."""
        if self._separator is None:
            return set()
        with self._path.open("rb") if self._data is None else BytesIO(self._data) as file:
            line = file.readline().decode("utf-8-sig").rstrip("\r\n")
        names = [_nfc(name) for name in next(csv.reader([line], delimiter=self._separator), [])]
        return {name for name in names if names.count(name) > 1}

    def find(self, role: str, given: str | None) -> str:
        """The column that plays a role. Headers are not listed: a file without one would show its data."""
        if given is not None:
            same = [column for column in self.columns if _nfc(column) == _nfc(given)]
            if not same:
                raise InputError(f"{self.label}: there is no column {given!r}")
            return self._only(same, role)
        for guess in GUESSES[role]:
            same = [column for column in self.columns if column.strip().lower() == guess]
            if same:
                return self._only(same, role)
        raise InputError(f"{self.label}: which column is the {role}? Name it with --{role}")

    def _only(self, same: list[str], role: str) -> str:
        if len(same) > 1 or _nfc(same[0]) in self.twice():
            raise InputError(f"{self.label}: several columns could be the {role}; rename all but one")
        return same[0]

    def objects_and(self, numeric: list[str]) -> pl.DataFrame:
        """The column object as text, and numeric columns checked."""
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
