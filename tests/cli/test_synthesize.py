"""`crowdveil synthesize`, `plan records`, and `evaluate` on what was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run

METHODS = ("crowdveil", "samprivsyn", "calm", "lopub", "krr", "independent")


@pytest.fixture
def records(run: Run, tmp_path: Path) -> Path:
    """3,000 people, 4 columns of 3 values that depend on each other; the schema beside."""
    path = tmp_path / "records.csv"
    made = ("--rows", "3000", "--columns", "4", "--values", "3", "--dependence", "0.8")
    run("simulate", "records", "-o", path, "--schema", tmp_path / "schema.json", *made)
    return path


def synthesized(run: Run, records: Path, *more: Any) -> dict[str, Any]:
    out, schema = records.with_name("made.csv"), records.with_name("schema.json")
    done = run("synthesize", records, "-o", out, "--schema", schema, "--force", "--json", *more)
    assert done.code == 0, done.err
    told: dict[str, Any] = done.json()
    return told


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_records_of_the_schema_with_one_report_each(
    run: Run, records: Path, method: str
) -> None:
    told = synthesized(run, records, "--epsilon", "4", "--method", method)
    assert told["method"] == method
    assert told["private"] is True
    promise = told["promise"]
    assert (promise["unit"], promise["trust"], promise["delta"]) == ("record", "local", 0.0)
    assert 3.99 < promise["epsilon"] <= 4.0
    assert "when one record is replaced" in promise["sentence"]
    made, real = pl.read_csv(records.with_name("made.csv")), pl.read_csv(records)
    assert made.columns == real.columns
    assert made.height == told["rows"] == told["records"] == 3000
    for column in real.columns:
        assert set(made[column]) <= {"v1", "v2", "v3"}


def test_dependence_is_kept_and_a_label_is_learned_from_what_was_made(run: Run, records: Path) -> None:
    synthesized(run, records, "--epsilon", "4", "--label", "column-1")
    options = ("--real", records, "--schema", records.with_name("schema.json"), "--label", "column-1")
    found = run("evaluate", records.with_name("made.csv"), *options, "--json").json()
    pairs = found["marginals"]["2"]
    assert pairs["mean_tvd"] < 0.5 * pairs["mean_tvd_if_independent"]


def test_rows_and_seeds(run: Run, records: Path) -> None:
    told = synthesized(run, records, "--epsilon", "2", "--rows", "50", "--seed", "3")
    assert told["rows"] == 50
    assert told["private"] is False
    assert "fixed seed" in told["promise"]["sentence"]
    first = records.with_name("made.csv").read_bytes()
    synthesized(run, records, "--epsilon", "2", "--rows", "50", "--seed", "3")
    assert records.with_name("made.csv").read_bytes() == first
    shown = run(
        *("synthesize", records, "-o", records.with_name("x.csv"), "--epsilon", "2", "--seed", "3"),
        *("--schema", records.with_name("schema.json")),
    )
    assert shown.out.startswith("NOT PRIVATE")


def test_domains_are_declared_or_nothing_is_promised(run: Run, records: Path) -> None:
    out = records.with_name("made.csv")
    refused = run("synthesize", records, "-o", out, "--epsilon", "2")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--schema" in refused.err
    assert not out.exists()
    told = run("synthesize", records, "-o", out, "--epsilon", "2", "--domain-from-data", "--json").json()
    assert told["private"] is False
    assert "read off the data" in told["promise"]["sentence"]
    entry = run("ledger", "--json").json()["entries"][0]
    assert entry["kind"] == "none"


def test_everything_is_charged_before_it_is_drawn(run: Run, records: Path) -> None:
    schema = records.with_name("schema.json")
    options = ("--schema", schema, "--epsilon", "1", "--budget", "1.5")
    assert run("synthesize", records, "-o", records.with_name("a.csv"), *options).code == 0
    again = run("synthesize", records, "-o", records.with_name("b.csv"), *options)
    assert again.code == 2
    assert not records.with_name("b.csv").exists()


def test_bad_requests_are_refused_in_a_line_that_names_no_value(run: Run, records: Path) -> None:
    schema, out = records.with_name("schema.json"), records.with_name("made.csv")
    for wrong in (
        ("--epsilon", "0"),
        ("--epsilon", "-1"),
        ("--epsilon", "1", "--label", "column-9"),
        ("--epsilon", "1", "--label", "column-1", "--method", "calm"),
        ("--epsilon", "1", "--rows", "0"),
        ("--epsilon", "1", "--domain-from-data"),
    ):
        done = run("synthesize", records, "-o", out, "--schema", schema, *wrong)
        assert (done.code, done.err.count("\n")) == (2, 1), (wrong, done.err)
    told = json.loads(schema.read_text(encoding="utf-8"))
    bad = records.with_name("bad.json")
    huge = [f"w{value}" for value in range(2000)]
    for columns, why in (
        (told["columns"] | {"column-1": {"values": ["v1", "v2"]}}, "column-1"),
        (told["columns"] | {"column-9": {"values": ["a", "b"]}}, "column-9"),
        (told["columns"] | {"column-1": {"values": ["v1"]}}, "column-1"),
        ({name: {"values": ["v1", "v2", "v3", *huge]} for name in told["columns"]}, "cells"),
    ):
        bad.write_text(json.dumps({"columns": columns}), encoding="utf-8")
        done = run("synthesize", records, "-o", out, "--schema", bad, "--epsilon", "1")
        assert (done.code, done.err.count("\n")) == (2, 1), (why, done.err)
        assert why in done.err
        assert "v3" not in done.err
    assert not out.exists()


def test_a_plan_reads_no_records_and_says_what_people_are_asked(run: Run, records: Path) -> None:
    schema = records.with_name("schema.json")
    wish = ("--schema", schema, "--people", "3000", "--epsilon", "4")
    found = run("plan", "records", *wish, "--json").json()
    assert found["advice"] == "crowdveil"
    rows = {row["method"]: row["distance"] for row in found["methods"]}
    assert found["resampled"] < rows["crowdveil"] < rows["independent"]
    assert sum(row["people"] for row in found["questions"]) == pytest.approx(1.0)
    text = run("plan", "records", *wish).out
    assert "crowdveil synthesize records.csv" in text
    for wrong in (("--people", "0"), ("--epsilon", "0"), ("--dependence", "2"), ("--label", "none")):
        assert run("plan", "records", *wish, *wrong).code == 2
