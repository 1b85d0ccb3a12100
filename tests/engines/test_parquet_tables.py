"""A Parquet file that is written table by table has the same bytes, however the tables are cut."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from crowdveil.engines.parquet import ROWS_OF_A_GROUP, ParquetTable


def test_the_bytes_do_not_depend_on_how_rows_come(tmp_path: Path) -> None:
    rows = 2 * ROWS_OF_A_GROUP + 1_000
    whole = pl.DataFrame({"object": [f"o{number // 7}" for number in range(rows)], "value": range(rows)})
    files = []
    for step in (rows, ROWS_OF_A_GROUP, ROWS_OF_A_GROUP + 1, 9_999):
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
