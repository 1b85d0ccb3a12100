"""A table in one Parquet file, or in all of a folder, that is read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from crowdveil.errors import InputError
from crowdveil.files.exact_paths import Source, open_parquet


@dataclass(frozen=True)
class ParquetParts:
    """The parts of a table, and what it is called in errors."""

    parts: Sequence[Source]
    source: str

    def count(self) -> int:
        """The number of all rows."""
        total = 0
        with _plain_errors(self.source):
            for part in self.parts:
                with open_parquet(part) as file:
                    total += file.metadata.num_rows
        return total

    def read(self, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        """The columns in tables of at most so many rows, which are as large as the parts allow."""
        kinds = None
        with _plain_errors(self.source):
            for part in self.parts:
                with open_parquet(part) as file:
                    own = _kinds(file.schema_arrow, columns)
                    kinds = kinds or own
                    if own != kinds:
                        raise InputError(f"{self.source}: its files have columns of different types")
                    yield from _joined(file.iter_batches(rows, columns=list(columns)), rows)


def _kinds(schema: Any, columns: Sequence[str]) -> list[Any]:
    """The types of columns, as Polars has them: it does not tell how wide offsets and codes are."""
    return pl.DataFrame(schema.empty_table().select(list(columns))).dtypes


def _joined(batches: Iterator[Any], rows: int) -> Iterator[pl.DataFrame]:
    """Tables of successive batches with at most so many rows together."""
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        if waiting and count + batch.num_rows > rows:
            yield _frame(waiting)
            waiting, count = [], 0
        waiting.append(batch)
        count += batch.num_rows
    if waiting:
        yield _frame(waiting)


@contextmanager
def _plain_errors(source: str) -> Iterator[None]:
    """Replace errors of the readers, whose messages may quote the data, by ours."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, PolarsError, PanicException, OSError, ValueError, KeyError):
        raise InputError(f"{source}: this is not a Parquet file that can be read") from None


def _frame(batches: list[Any]) -> pl.DataFrame:
    import pyarrow as pa

    frame = pl.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(frame, pl.DataFrame)
    return frame
