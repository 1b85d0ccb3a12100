"""`crowdveil simulate records` writes a population whose dependence is known, repeatably."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Run
from crowdveil.files import read_records, read_schema

SMALL = ("--rows", 200, "--columns", 3, "--values", 4)


def test_records_are_repeatable_and_fit_their_schema(run: Run, tmp_path: Path) -> None:
    out, schema = tmp_path / "r.csv", tmp_path / "s.json"
    told = run("simulate", "records", *SMALL, "--seed", 3, "-o", out, "--schema", schema, "--json").json()
    assert (told["rows"], told["columns"], told["schema"]) == (200, 3, str(schema))
    assert run("simulate", "records", *SMALL, "--seed", 3, "-o", "-").out == out.read_text()
    assert run("simulate", "records", *SMALL, "--seed", 4, "-o", "-").out != out.read_text()
    assert pl.read_csv(out).columns == ["column-1", "column-2", "column-3"]
    domains = read_schema(schema)
    assert domains.declared
    assert domains.sizes == (4, 4, 4)
    assert len(read_records(str(out), domains)) == 200


def test_nothing_is_replaced_unasked(run: Run, tmp_path: Path) -> None:
    out, schema = tmp_path / "r.csv", tmp_path / "s.json"
    schema.write_text("mine")
    assert run("simulate", "records", *SMALL, "-o", out, "--schema", schema).code == 2
    assert not out.exists()
    assert schema.read_text() == "mine"
    assert run("simulate", "records", *SMALL, "-o", out, "--schema", schema, "--force").code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--rows", 0),
        ("--columns", 0),
        ("--values", 1),
        ("--values", 10**6),
        ("--dependence", 1.1),
        ("--dependence", "nan"),
        ("--classes", 0),
        ("--rows", 10**9),
        ("--seed", -1),
    ],
)
def test_impossible_simulations_are_refused(run: Run, tmp_path: Path, wrong: tuple[object, ...]) -> None:
    assert run("simulate", "records", *wrong, "-o", tmp_path / "r.csv").code == 2
    assert not (tmp_path / "r.csv").exists()


def test_one_file_cannot_be_two_things(run: Run, tmp_path: Path) -> None:
    assert run("simulate", "records", "-o", tmp_path / "r", "--schema", tmp_path / "r").code == 2
    assert run("simulate", "records", "-o", "-", "--json").code == 2
