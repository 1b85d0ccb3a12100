"""A Parquet file that is written table by table, so that all of its rows are never together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import polars as pl

ROWS_OF_A_GROUP = 2**17  # so that a file has the same bytes, whatever the memory


class ParquetTable:
    """A Parquet file that is written table by table."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        self._path, self._metadata = path, dict(metadata)
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def written(self, tables: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The same tables, which are written in groups of `ROWS_OF_A_GROUP`, however many rows each has."""
        waiting: pl.DataFrame | None = None
        for table in tables:
            waiting = table if waiting is None else pl.concat([waiting, table])
            while waiting.height > ROWS_OF_A_GROUP:
                self._write(waiting[:ROWS_OF_A_GROUP])
                waiting = waiting[ROWS_OF_A_GROUP:]
            yield table
        if waiting is not None:
            self._write(waiting)

    def _write(self, table: pl.DataFrame) -> None:
        from pyarrow.parquet import ParquetWriter

        group = table.rechunk().to_arrow()  # pages follow from how a table is in pieces
        if self._writer is None:
            schema = group.schema.with_metadata(self._metadata) if self._metadata else group.schema
            self._writer = ParquetWriter(self._path, schema, compression="zstd")
        self._writer.write_table(group, row_group_size=ROWS_OF_A_GROUP)

    def add(self, metadata: Mapping[str, str]) -> None:
        """Metadata that are known at the end."""
        self._writer.add_key_value_metadata(dict(metadata))
