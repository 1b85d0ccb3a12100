"""`crowdveil evaluate SYNTHETIC --real REAL --schema SCHEMA`: records against records."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Run

SMALL = ("--rows", 600, "--columns", 4, "--values", 3)


@pytest.fixture
def tables(run: Run, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Synthetic records, real ones, and their schema."""
    made, real, schema = tmp_path / "made.parquet", tmp_path / "real.csv", tmp_path / "schema.yaml"
    assert run("simulate", "records", *SMALL, "-o", real, "--schema", schema).code == 0
    assert run("simulate", "records", *SMALL, "--seed", 2, "-o", made).code == 0
    return made, real, schema


def test_figures_for_machines_and_for_people(run: Run, tables: tuple[Path, Path, Path]) -> None:
    made, real, schema = tables
    asked = ("evaluate", made, "--real", real, "--schema", schema)
    done = run(*asked, "--label", "column-1", "--json")
    told = done.json()
    assert "for your eyes only" in done.err
    assert told["secret"] is True
    assert told["rows"] == {"real": 600, "synthetic": 600}
    # The same population: far better than independent columns, not better than real records once more.
    pairs = told["marginals"]["2"]
    assert pairs["mean_tvd"] < 0.6 * pairs["mean_tvd_if_independent"]
    assert pairs["mean_tvd"] > 0.8 * pairs["mean_tvd_if_resampled"]
    assert told["learning"]["tested"] == 120
    shown = run(*asked, "--label", "column-1")
    assert f"{pairs['mean_tvd']:.4f}" in shown.out
    assert "boosting, trained on synthetic" in shown.out
    assert "for your eyes only" in shown.err
    assert "learning" not in run(*asked).out
    same = run("evaluate", real, "--real", real, "--schema", schema, "--json").json()
    assert same["marginals"]["3"]["largest_tvd"] == 0.0


def test_held_out_rows_are_tested_on(run: Run, tables: tuple[Path, Path, Path], tmp_path: Path) -> None:
    made, real, schema = tables
    run("simulate", "records", "--rows", 77, *SMALL[2:], "--seed", 3, "-o", tmp_path / "held.csv")
    asked = ("evaluate", made, "--real", real, "--schema", schema, "--held-out", tmp_path / "held.csv")
    assert run(*asked, "--label", "column-2", "--json").json()["learning"]["tested"] == 77
    assert "--label" in run(*asked).err


def test_a_page_and_a_picture_for_the_owner_only(
    run: Run, tables: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    made, real, schema = tables
    asked = ("evaluate", made, "--real", real, "--schema", schema)
    page, picture = tmp_path / "page.html", tmp_path / "map.svg"
    assert run(*asked, "--label", "column-1", "-o", page).code == 0
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text()
    assert "for your eyes only" in text
    assert text.count("<svg") == 4 + 4
    assert "Learning column-1" in text
    assert run(*asked, "-o", picture).code == 0
    assert picture.read_text().startswith("<svg")
    assert run(*asked, "-o", picture).code == 2
    assert run(*asked, "-o", picture, "--force").code == 0
    assert run(*asked, "-o", tmp_path / "page.pdf").code == 2


def test_numbers_beyond_the_edges(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"columns": {"x": {"edges": [0, 1, 2]}, "y": {"values": ["a", "b"]}}}')
    pl.DataFrame({"x": [0.5, 1.5, 9.0], "y": ["a", "b", "a"]}).write_csv(tmp_path / "r.csv")
    asked = ("evaluate", tmp_path / "r.csv", "--real", tmp_path / "r.csv", "--schema", tmp_path / "s.json")
    done = run(*asked)
    assert done.code == 2
    assert "column 'x'" in done.err
    assert "row 3 " in done.err
    assert "9" not in done.err.split("column")[1]
    assert run(*asked, "--clamp").code == 0


def test_what_cannot_be_compared_is_refused_in_a_line(
    run: Run, tables: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    made, real, schema = tables
    for wrong in (
        ("--real", real),
        ("--schema", schema),
        ("--truths", real, "--label", "column-1"),
        ("--truths", real, "-o", tmp_path / "p.html"),
        ("--real", real, "--schema", schema, "--truths", real),
        ("--real", real, "--schema", schema, "--claims", real),
        ("--real", real, "--schema", schema, "--label", "nothing"),
        ("--real", real, "--schema", real),
        ("--real", tmp_path / "none.csv", "--schema", schema),
        ("--real", real, "--schema", tmp_path / "none.json"),
    ):
        done = run("evaluate", made, *wrong)
        assert done.code == 2, wrong
        assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "p.html").exists()
