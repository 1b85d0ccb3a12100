"""`operations.evaluate`: the figures that `crowdveil evaluate` prints, and the warnings that go with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conftest import Run
from crowdveil.claims import Claims
from crowdveil.errors import CrowdveilError, OutputError, ParameterError
from crowdveil.evaluation import releases
from crowdveil.evaluation.comparison import compare
from crowdveil.files import read_claims, read_records, read_released, read_schema
from crowdveil.operations.evaluate import (
    NOT_HELD_OUT,
    RAW_CLAIMS,
    REAL_RECORDS,
    evaluate_records,
    evaluate_release,
)
from crowdveil.randomness import seeded


@pytest.fixture
def released(tmp_path: Path, claims_csv: Path) -> Path:
    """A release of every claim, moved a little."""
    claims: Claims = read_claims(str(claims_csv))
    path = tmp_path / "released.csv"
    moved = claims.values + np.random.default_rng(1).normal(scale=0.1, size=len(claims))
    rows = [
        f"{name},{value}" for name, value in zip(claims.objects.gather(claims.owners()), moved, strict=True)
    ]
    path.write_text("\n".join(["object,value", *rows]), encoding="utf-8")
    known = [f"{name},5,0.5" for name in claims.objects]
    (tmp_path / "truths.csv").write_text("\n".join(["object,value,spread", *known]), encoding="utf-8")
    return path


@pytest.fixture
def records(run: Run, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Synthetic records, real ones, and their schema."""
    synthetic, real, schema = tmp_path / "synthetic.csv", tmp_path / "real.csv", tmp_path / "schema.json"
    small = ("--rows", 200, "--columns", 3, "--values", 2)
    assert run("simulate", "records", *small, "-o", real, "--schema", schema).code == 0
    assert run("simulate", "records", *small, "--seed", 2, "-o", synthetic).code == 0
    return synthetic, real, schema


def test_a_release_against_truths_and_raw_claims(run: Run, released: Path, claims_csv: Path) -> None:
    truths = released.with_name("truths.csv")
    evaluated = evaluate_release(str(released), truths=str(truths), claims=str(claims_csv))
    figures = releases.evaluate(read_released(str(released)), raw=read_claims(str(claims_csv)))
    assert evaluated.figures["raw"] == figures["raw"]
    assert evaluated.warnings == (RAW_CLAIMS,)
    printed = run("evaluate", released, "--truths", truths, "--claims", claims_csv, "--json")
    assert printed.out == json.dumps(evaluated.to_dict(), indent=2) + "\n"
    public = evaluate_release(str(released), truths=str(truths))
    assert public.warnings == ()
    assert "raw" not in public.to_dict()
    with pytest.raises(ParameterError, match="--truths"):
        evaluate_release(str(released))


def test_records_against_records(run: Run, records: tuple[Path, Path, Path]) -> None:
    synthetic, real, schema = records
    evaluated = evaluate_records(str(synthetic), real=str(real), schema=schema, seed=7)
    tables = (read_records(str(path), schema=read_schema(schema)) for path in (real, synthetic))
    assert evaluated.to_dict() == compare(*tables, rng=seeded(7)).to_dict()
    assert evaluated.warnings == (REAL_RECORDS,)
    printed = run("evaluate", synthetic, "--real", real, "--schema", schema, "--seed", 7, "--json")
    assert printed.out == json.dumps(evaluated.to_dict(), indent=2) + "\n"
    assert printed.err == f"crowdveil: {REAL_RECORDS}\n"


def test_models_that_are_tested_on_rows_of_the_same_file_are_warned_of(
    records: tuple[Path, Path, Path],
) -> None:
    synthetic, real, schema = records
    common = {"real": str(real), "schema": schema, "label": "column-1"}
    split = evaluate_records(str(synthetic), **common)  # type: ignore[arg-type]
    assert split.warnings == (NOT_HELD_OUT, REAL_RECORDS)
    held = evaluate_records(str(synthetic), **common, held_out=str(synthetic))  # type: ignore[arg-type]
    assert held.warnings == (REAL_RECORDS,)
    assert held.to_dict()["learning"]["tested"] == 200


def test_a_page_is_written_for_its_owner_only_and_nothing_is_printed(
    records: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    synthetic, real, schema = records
    page = tmp_path / "page.html"
    evaluate_records(str(synthetic), real=str(real), schema=schema, out=page)
    assert page.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr() == ("", "")
    with pytest.raises(OutputError, match="exists already"):
        evaluate_records("no such file", real="no such file", schema=schema, out=page)
    evaluate_records(str(synthetic), real=str(real), schema=schema, out=page, force=True)


def test_what_cannot_be_compared_writes_nothing(records: tuple[Path, Path, Path], tmp_path: Path) -> None:
    synthetic, real, schema = records
    page = tmp_path / "page.html"
    for wrong in (
        {"out": tmp_path / "page.pdf"},
        {"out": page, "held_out": str(real)},
        {"out": page, "label": "nothing"},
        {"out": page, "real": "no such file"},
        {"out": page, "schema": real},
    ):
        with pytest.raises(CrowdveilError):
            evaluate_records(str(synthetic), **{"real": str(real), "schema": schema} | wrong)  # type: ignore[arg-type]
    assert not page.exists()
    assert not (tmp_path / "page.pdf").exists()
