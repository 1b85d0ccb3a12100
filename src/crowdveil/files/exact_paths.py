"""The one door to readers of Polars and Arrow: they read the very file that is named.

Left alone, Polars expands `*`, `?`, `[]` and a leading `~` in paths and takes `s3://` for an address, so that
it reads other files than those that an account is kept of. Here a path is the name of one file.
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

Source = str | Path | BytesIO
"""A path, or bytes in memory. Polars' threads would share the place in a file that is open.

The path of a folder stands for a Parquet table in parts.
"""

ENDINGS = (".parquet", ".pq")
AT_ONCE = 2**20  # bytes of a column that are read ahead


def read_csv(source: Source, **options: Any) -> pl.DataFrame:
    """A CSV file, with the options of Polars."""
    return pl.read_csv(_exactly(source), glob=False, **options)


def scan_parquet(source: Source) -> pl.LazyFrame:
    """The table in a Parquet file, of which nothing is read yet."""
    return pl.scan_parquet(_exactly(source), glob=False, hive_partitioning=False)


def read_parquet(source: Source, columns: list[str]) -> pl.DataFrame:
    """These columns of a Parquet file."""
    return pl.read_parquet(_exactly(source), columns=columns, glob=False, hive_partitioning=False)


def open_parquet(source: Source) -> Any:
    """A Parquet file that is read a little at a time: pyarrow's, which is to be closed."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    file = pa.BufferReader(source.getbuffer()) if isinstance(source, BytesIO) else pa.OSFile(_exactly(source))
    return ParquetFile(file, pre_buffer=False, buffer_size=AT_ONCE)


def parquet_metadata(source: Source) -> dict[str, str]:
    """The metadata of a Parquet file."""
    return pl.read_parquet_metadata(_exactly(source))


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files in a folder, by name: the order of the rows of a table in parts.

    Hidden ones, as other programs leave them, are no parts.
    """
    found = (path for path in folder.iterdir() if path.name.lower().endswith(ENDINGS))
    return sorted(path for path in found if path.name[0] not in "._")


def _exactly(source: Source) -> Any:
    """The source as Polars takes it: no path that begins with `~` or with the name of a protocol."""
    if isinstance(source, BytesIO):
        return source
    path = Path(source).absolute()
    return [os.fspath(part) for part in parts_of(path)] if path.is_dir() else os.fspath(path)
