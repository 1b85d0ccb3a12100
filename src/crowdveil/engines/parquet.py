"""A Parquet file that is written table by table, so that all of its rows are never together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import polars as pl


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
        """The same tables, each of which is written before whoever asked looks at it."""
        from pyarrow.parquet import ParquetWriter

        for table in tables:
            part = table.to_arrow()
            if self._writer is None:
                schema = part.schema.with_metadata(self._metadata) if self._metadata else part.schema
                self._writer = ParquetWriter(self._path, schema, compression="zstd")
            self._writer.write_table(part)
            yield table

    def add(self, metadata: Mapping[str, str]) -> None:
        """Metadata that are known at the end."""
        self._writer.add_key_value_metadata(dict(metadata))
