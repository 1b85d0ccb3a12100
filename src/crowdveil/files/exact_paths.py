"""The one door to readers of Polars and Arrow: they read the very file that is named.

Left alone, Polars expands `*`, `?`, `[]` and a leading `~` in paths and takes `s3://` for an address, so that
it reads other files than those that an account is kept of. Here a path is the name of one file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

Source = str | Path | BytesIO
"""A path, or bytes in memory. Polars' threads would share the place in a file that is open."""

AT_ONCE = 2**20  # bytes of a column that are read ahead


def read_csv(source: Source, **options: Any) -> pl.DataFrame:
    """A CSV file, with the options of Polars."""
    return pl.read_csv(_exactly(source), glob=False, **options)


def scan_parquet(source: Source | Sequence[Path]) -> pl.LazyFrame:
    """The table in a Parquet file, or in several, of which nothing is read yet."""
    return pl.scan_parquet(_all(source), glob=False, hive_partitioning=False)


def read_parquet(source: Source | Sequence[Path], columns: list[str]) -> pl.DataFrame:
    """These columns of a Parquet file, or of several, one after the other."""
    return pl.read_parquet(_all(source), columns=columns, glob=False, hive_partitioning=False)


def open_parquet(source: Source) -> Any:
    """A Parquet file that is read a little at a time: pyarrow's, which is to be closed."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    file = pa.BufferReader(source.getbuffer()) if isinstance(source, BytesIO) else pa.OSFile(_exactly(source))
    return ParquetFile(file, pre_buffer=False, buffer_size=AT_ONCE)


def parquet_metadata(source: Source) -> dict[str, str]:
    """The metadata of a Parquet file."""
    return pl.read_parquet_metadata(_exactly(source))


def _all(source: Source | Sequence[Path]) -> str | BytesIO | list[str]:
    return (
        _exactly(source)
        if isinstance(source, str | Path | BytesIO)
        else [str(_exactly(each)) for each in source]
    )


def _exactly(source: Source) -> str | BytesIO:
    """The source as Polars takes it: no path that begins with `~` or with the name of a protocol."""
    return source if isinstance(source, BytesIO) else os.fspath(Path(source).absolute())
