"""Schemas as JSON and YAML, and tables of records in files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdveil.errors import InputError, OutputError
from crowdveil.files import read_frame, read_records, read_schema, write_records, write_schema
from crowdveil.records import Column, Records, Schema

SCHEMA = Schema((Column("age", None, (0, 30.5, 60)), Column("job", ("yes", "no", "007"), missing=True)))


@pytest.mark.parametrize("name", ["s.json", "s.yaml", "s.YML", "schema"])
def test_a_schema_is_written_and_read(tmp_path: Path, name: str) -> None:
    write_schema(SCHEMA, tmp_path / name, force=False)
    assert read_schema(tmp_path / name) == SCHEMA
    with pytest.raises(OutputError):
        write_schema(SCHEMA, tmp_path / name, force=False)


def test_yaml_is_taken_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "columns:\n  no: {values: [yes, no, 007, 1e3, 2020-01-01, ~]}\n"
        "  age:\n    edges: [0, 3e1, 60]\n    missing: true\ndeclared: False\n"
    )
    schema = read_schema(path)
    assert schema.names == ("no", "age")
    assert schema.columns[0].values == ("yes", "no", "007", "1e3", "2020-01-01", "~")
    assert schema.columns[1] == Column("age", None, (0, 30, 60), missing=True)
    assert not schema.declared


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.json", "{"),
        ("s.json", "3"),
        ("s.json", '{"columns": {"x": {"values": ["a", "b"]}, "x": {"values": ["c", "d"]}}}'),
        ("s.json", '{"columns": {"x": {"edges": [0, NaN, 3]}}}'),
        ("s.json", "[" * 100_000),
        ("s.yaml", "columns: {x: {values: [a, b]}"),
        ("s.yaml", "columns: {x: {values: [a, b]}, x: {values: [c, d]}}"),
        ("s.yaml", "columns: {x: {edges: [0, one, 2]}}"),
        ("s.yaml", "columns: {x: {values: [a, b], missing: perhaps}}"),
        ("s.yaml", "columns: {? [x] : {values: [a, b]}}"),
        ("s.yaml", "!!python/object/apply:os.system [exit]"),
        ("s.yaml", ""),
        ("s.yaml", "&a [*a]"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=name):
        read_schema(path)


def test_schemas_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_schema(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_schema(tmp_path)
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="not text"):
        read_schema(tmp_path / "b.json")


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.parquet"])
def test_records_are_written_and_read(tmp_path: Path, name: str) -> None:
    codes = np.array([[0, 0], [1, 3], [1, 2]])
    write_records(Records(SCHEMA, codes), str(tmp_path / name), force=False)
    assert read_records(str(tmp_path / name), SCHEMA).codes.tolist() == codes.tolist()
    with pytest.raises(OutputError):
        write_records(Records(SCHEMA, codes), str(tmp_path / name), force=False)


def test_a_whole_table_keeps_its_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("zip,age\n007,1\n010,2\n")
    frame = read_frame(str(tmp_path / "r.csv"))
    assert frame.to_dict(as_series=False) == {"zip": ["007", "010"], "age": ["1", "2"]}
    assert Schema.of_data(frame).columns[0].values == ("007", "010")


def test_errors_name_file_row_and_column_but_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(b"job,age\nyes,1\nhidden,2\nno,70\n"))
    with pytest.raises(InputError) as told:
        read_records(str(path), SCHEMA)
    assert "r.csv.gz: column 'age'" in str(told.value)
    assert "row 3 " in str(told.value)
    assert "70" not in str(told.value)
    with pytest.raises(InputError) as told:
        read_records(str(path), SCHEMA, clamp=True)
    assert "column 'job' is not one of the declared values in row 2 " in str(told.value)
    assert "hidden" not in str(told.value)
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(InputError, match="no column 'job'"):
        read_records(str(tmp_path / "r.parquet"), SCHEMA)


def test_aliases_are_refused_before_they_grow(tmp_path: Path) -> None:
    """Nine lines that would stand for 9^9 values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 9)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join([*lines, "columns: {a: {values: *a8}}"]), encoding="utf-8")
    with pytest.raises(InputError, match="aliases"):
        read_schema(path)
