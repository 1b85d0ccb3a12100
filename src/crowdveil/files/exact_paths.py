"""The one door to Polars' readers: they read the very file that is named.

Left alone, Polars expands `*`, `?`, `[]` and a leading `~` in paths and takes `s3://` for an address, so that
it reads other files than those that an account is kept of. Here a path is the name of one file.
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from crowdveil.files.places import PART

Source = str | Path | BytesIO
"""A path, or bytes in memory. Polars' threads would share the place in a file that is open.

The path of a folder stands for a Parquet table in parts.
"""


def read_csv(source: Source, **options: Any) -> pl.DataFrame:
    """A CSV file, with the options of Polars."""
    return pl.read_csv(_exactly(source), glob=False, **options)


def scan_parquet(source: Source) -> pl.LazyFrame:
    """The table in a Parquet file, of which nothing is read yet."""
    return pl.scan_parquet(_exactly(source), glob=False, hive_partitioning=False)


def read_parquet(source: Source, columns: list[str]) -> pl.DataFrame:
    """These columns of a Parquet file."""
    return pl.read_parquet(_exactly(source), columns=columns, glob=False, hive_partitioning=False)


def parquet_metadata(source: Source) -> dict[str, str]:
    """The metadata of a Parquet file."""
    return pl.read_parquet_metadata(_exactly(source))


def parts_of(folder: Path) -> list[Path]:
    """The files of a table in parts, in the order of its rows."""
    return sorted(path for path in folder.iterdir() if PART.fullmatch(path.name))


def _exactly(source: Source) -> Any:
    """The source as Polars takes it: no path that begins with `~` or with the name of a protocol."""
    if isinstance(source, BytesIO):
        return source
    path = Path(source).absolute()
    return [os.fspath(part) for part in parts_of(path)] if path.is_dir() else os.fspath(path)
