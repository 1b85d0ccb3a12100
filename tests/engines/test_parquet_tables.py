"""Parquet files have the same bytes, however the tables are cut that are written to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from crowdveil.engines.parquet import ROWS_OF_A_GROUP, ParquetTable
from crowdveil.engines.spark.writing import _written

ROWS = 2 * ROWS_OF_A_GROUP + 1_000


def table(rows: int) -> pl.DataFrame:
    """Rows for many pages, which end where pieces of a table end, near a full page."""
    names = [f"an object with a long name {number // 3}" for number in range(rows)]
    return pl.DataFrame({"object": names, "value": np.random.default_rng(1).random(rows)})


def test_the_bytes_do_not_depend_on_how_rows_come(tmp_path: Path) -> None:
    files, rows, whole = [], ROWS, table(ROWS)
    for step in (rows, ROWS_OF_A_GROUP, ROWS_OF_A_GROUP + 1, 9_999, 15_000, 16_384):
        path = tmp_path / f"{step}.parquet"
        with ParquetTable(path, {"kind": "test"}) as file:
            assert sum(table.height for table in file.written(whole.iter_slices(step))) == rows
        files.append(path.read_bytes())
    assert all(file == files[0] for file in files)
    assert pl.read_parquet(path).equals(whole)


def test_a_table_without_rows_is_a_file(tmp_path: Path) -> None:
    with ParquetTable(tmp_path / "none.parquet", {}) as file:
        for _ in file.written([pl.DataFrame({"object": ["a"]}).clear()]):
            pass
    assert pl.read_parquet(tmp_path / "none.parquet").columns == ["object"]


def test_the_bytes_of_a_part_do_not_depend_on_blocks(tmp_path: Path) -> None:
    """Where blocks end follows from how many claims there are, which may be private."""
    whole, files = table(ROWS), []
    for end in range(119_700, 120_300, 60):
        sent = [(0, whole[:end]), (1, whole[end:])]
        (tmp_path / str(end)).mkdir()
        list(_written(["part.parquet"], str(tmp_path / str(end)), {}, 0, [sent]))
        files.append((tmp_path / str(end) / "part.parquet").read_bytes())
    assert all(file == files[0] for file in files)
