"""`crowdveil synthesize`, `plan records`, and `evaluate` on what was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run
from crowdveil.files import read_records, read_schema

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
    made, real = pl.read_csv(records.with_name("made.csv"), skip_lines=1), pl.read_csv(records)
    assert made.columns == real.columns
    assert made.height == told["rows"] == told["records"] == 3000
    for column in real.columns:
        assert set(made[column]) <= {"v1", "v2", "v3"}


def test_dependence_is_kept_and_a_label_is_learned_from_what_was_made(run: Run, records: Path) -> None:
    synthesized(run, records, "--epsilon", "4", "--label", "column-1", "--seed", "1")
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


def test_rows_of_empty_cells_are_records_and_blank_lines_are_not(run: Run, tmp_path: Path) -> None:
    """The number of records must not depend on what the last ones hold."""
    schema, out = tmp_path / "schema.json", tmp_path / "made.csv"
    column = {"values": ["x", "y"], "missing": True}
    schema.write_text(json.dumps({"columns": {"a": column, "b": column}}), encoding="utf-8")
    one = tmp_path / "one.json"
    one.write_text(json.dumps({"columns": {"a": column}}), encoding="utf-8")
    for text, domains, many in (
        ("a,b\nx,x\n,\ny,y\n,\n,\n", schema, 5),
        ("a,b\nx,x\n,\ny,y\n,\nx,y\n", schema, 5),
        ("a,b\r\nx,x\r\n,\r\n\r\n\r\n", schema, 2),
        ("a,b,id\nx,x,7\ny,y,8\n,,9", schema, 3),
        ("a\nx\n\n\n", one, 3),
    ):
        path = tmp_path / "some.csv"
        path.write_text(text, encoding="utf-8", newline="")
        options = ("--schema", domains, "--epsilon", "1", "--force", "--json", "--rows", "40")
        told = run("synthesize", path, "-o", out, *options).json()
        assert (told["records"], told["rows"]) == (many, 40), text
        assert len(read_records(str(out), read_schema(domains))) == 40


def test_a_file_tells_what_was_promised(run: Run, records: Path) -> None:
    """In CSV and in Parquet; with a seed both tell that nothing is."""
    schema = records.with_name("schema.json")
    for name in ("told.csv", "told.parquet"):
        for seed, kind in (((), "differential privacy"), (("--seed", "1"), "none")):
            out = records.with_name(name)
            options = ("--schema", schema, "--epsilon", "1", "--force")
            assert run("synthesize", records, "-o", out, *options, *seed).code == 0
            told = (
                pl.read_parquet_metadata(out)["crowdveil"]
                if name.endswith("parquet")
                else out.read_text().split("\n", 1)[0].removeprefix("#crowdveil ")
            )
            assert json.loads(told)["promise"]["kind"] == kind
            assert json.loads(told)["seeded"] is bool(seed)
    both = ("--domain-from-data", "--seed", "1", "--epsilon", "1")
    shown = run("synthesize", records, "-o", records.with_name("both.csv"), *both).out
    assert "fixed seed" in shown
    assert "read off the data" in shown
    piped = run("synthesize", records, "-o", "-", "--schema", schema, "--epsilon", "1")
    assert "whoever ran this had the records" in piped.err
    assert "each person sent one report" in piped.err


def test_records_are_not_replaced_by_what_was_made_of_them(run: Run, records: Path) -> None:
    before = records.read_bytes()
    options = ("--schema", records.with_name("schema.json"), "--epsilon", "1", "--force")
    refused = run("synthesize", records, "-o", records, *options)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert records.read_bytes() == before


def test_two_columns_of_one_name_are_refused(run: Run, tmp_path: Path) -> None:
    path, schema = tmp_path / "twice.csv", tmp_path / "schema.json"
    path.write_text("a,a,b\nx,y,x\n", encoding="utf-8")
    schema.write_text(json.dumps({"columns": {"a": {"values": ["x", "y"]}}}), encoding="utf-8")
    for domains in (("--schema", schema), ("--domain-from-data",)):
        refused = run("synthesize", path, "-o", tmp_path / "made.csv", *domains, "--epsilon", "1")
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err


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
