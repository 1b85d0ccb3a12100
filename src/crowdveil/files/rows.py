"""A digest of the rows of a table: it ties the certificate in a Parquet file's metadata to what it holds.

It is about names, types, values and order, not about how they are packed. Each column has three running
hashes, of which cells are empty, of the lengths of texts, and of the values (numbers as little-endian bytes,
texts in UTF-8, one after the other); the digest is the hash of these and of the names and types.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import chain

import numpy as np
import polars as pl

from crowdveil.files.exact_paths import Source, scan_parquet

ROWS_AT_ONCE = 2**16
_NUMBERS = frozenset(
    {pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64}
    | {pl.Float32, pl.Float64, pl.Boolean}
)  # anything else is hashed as text
ROWS_DIGEST = "rows_sha256"  # the entry of a certificate's contents; never the one of bytes
_FORM = "crowdveil rows, form 1"


def rows_of_frame(frame: pl.DataFrame) -> str:
    """The digest of a table's rows."""
    return _rows(frame.schema, frame.iter_slices(ROWS_AT_ONCE))


def rows_of_tables(tables: Iterable[pl.DataFrame]) -> str:
    """The digest of the rows of tables, one after the other; there is at least one."""
    tables = iter(tables)
    first = next(tables)
    return _rows(first.schema, chain([first], tables))


def rows_of_parquet(file: Source) -> str:
    """The digest of the rows of a Parquet file, which is read in parts; errors are those of Polars."""
    table = scan_parquet(file)
    schema = table.collect_schema()
    return _rows(schema, table.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True))


def _rows(schema: pl.Schema, parts: Iterable[pl.DataFrame]) -> str:
    columns = [_Column(kind) for kind in schema.dtypes()]
    for part in parts:
        for column, cells in zip(columns, part.iter_columns(), strict=True):
            column.add(cells)
    told = [
        [name, str(kind), *column.digests()]
        for (name, kind), column in zip(schema.items(), columns, strict=True)
    ]
    return hashlib.sha256(json.dumps([_FORM, told]).encode("ascii")).hexdigest()


class _Column:
    """The running hashes of one column: which cells are empty, lengths, values."""

    def __init__(self, kind: pl.DataType) -> None:
        self._is_number = kind in _NUMBERS
        self._empty, self._lengths, self._values = (hashlib.sha256() for _ in range(3))

    def add(self, cells: pl.Series) -> None:
        self._empty.update(_little_endian(cells.is_null()))
        if self._is_number:
            self._values.update(_little_endian(cells.fill_null(value=0)))
            return
        texts = (cells if cells.dtype == pl.Binary else cells.cast(pl.String).cast(pl.Binary)).fill_null(b"")
        self._lengths.update(_little_endian(texts.bin.size().cast(pl.UInt64)))
        array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
        _, offsets, data = array.buffers()
        if data is not None:
            ends = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
            self._values.update(memoryview(data)[ends[0] : ends[-1]])

    def digests(self) -> tuple[str, str, str]:
        return self._empty.hexdigest(), self._lengths.hexdigest(), self._values.hexdigest()


def _little_endian(cells: pl.Series) -> bytes:
    numbers = cells.to_numpy()
    return numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes()
