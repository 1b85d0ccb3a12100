"""Synthesizing a file: what is refused costs nothing, and everything is charged before it is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run
from crowdveil.errors import CrowdveilError, OutputError, ParameterError
from crowdveil.files import File, read_records, read_schema, reserved, write_records, write_schema
from crowdveil.files.certificates import read_certificate
from crowdveil.ledger import BudgetExceeded, Ledger
from crowdveil.operations.spending import Account
from crowdveil.operations.synthesize import Synthesized, synthesize
from crowdveil.randomness import Randomness, Streams, seeded
from crowdveil.simulation.records import SimulatedRecords
from crowdveil.synthesis.registry import METHODS

Charges = list[tuple[str, bool]]  # status and whether the output was there, at each draw


class Watched(Randomness):
    """Secure randomness that notes what the ledger and the output look like whenever something is drawn."""

    def watch(self, look: Callable[[], tuple[str, bool]]) -> Charges:
        noted: Charges = []
        object.__setattr__(self, "_noted", (noted, look))
        return noted

    def all_streams(self, *, purpose: str) -> Streams:
        noted, look = self._noted  # type: ignore[attr-defined]
        noted.append(look())
        return super().all_streams(purpose=purpose)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with records.csv, 200 people with 3 columns, and schema.json."""
    records = SimulatedRecords(200, 3, 3, 0.8, 2).records(rng=seeded(1))
    write_records(records, str(tmp_path / "records.csv"), force=False)
    write_schema(records.schema, tmp_path / "schema.json", force=False)
    return tmp_path


def _account(files: Path, budget: float | None = None) -> Account:
    return Account(Ledger(files / "ledger.db"), "people", budget)


def _run(files: Path, out: str = "made.csv", budget: float | None = None, **options: Any) -> Synthesized:
    asked: dict[str, Any] = {
        "epsilon": 1.0,
        "schema": files / "schema.json",
        "method": "independent",
    } | options
    return synthesize(str(files / "records.csv"), str(files / out), _account(files, budget), **asked)


def _statuses(files: Path) -> list[str]:
    return [charge.status for charge in _account(files).ledger.entries()]


def test_everything_is_charged_then_drawn_then_written_then_completed(files: Path) -> None:
    rng = Watched(None)
    noted = rng.watch(lambda: (_statuses(files)[-1], (files / "made.csv").exists()))
    result = _run(files, rng=rng)
    assert len(noted) > 2
    assert set(noted) == {("charged, not released", False)}  # at every single draw
    assert _statuses(files) == ["released"]
    (charge,) = _account(files).ledger.entries()
    assert charge.method == "synthesize independent"
    assert float(charge.epsilon or 0) == pytest.approx(result.synthetic.promise.epsilon)  # type: ignore[union-attr]
    assert len(read_records(str(files / "made.csv"), read_schema(files / "schema.json"))) == 200


def test_a_ledger_that_refuses_leaves_nothing_drawn_and_no_file(files: Path) -> None:
    rng = Watched(None)
    noted = rng.watch(lambda: ("drawn", True))
    with pytest.raises(BudgetExceeded):
        _run(files, budget=0.5, rng=rng)
    assert noted == []
    assert _statuses(files) == []
    assert sorted(path.name for path in files.iterdir() if "ledger" not in path.name) == [
        "records.csv",
        "schema.json",
    ]


def test_an_output_that_cannot_be_written_stays_charged_and_is_not_completed(files: Path) -> None:
    rng = Watched(None)
    rng.watch(lambda: ("in the way", bool((files / "made.csv").write_text("in the way"))))
    with pytest.raises(OutputError):
        _run(files, rng=rng)
    assert _statuses(files) == ["charged, not released"]
    assert (files / "made.csv").read_text() == "in the way"
    assert not (files / "made.csv.promise.json").exists()


def test_a_place_where_another_run_is_writing_costs_nothing(files: Path) -> None:
    with reserved([File(files / "made.csv")], force=False), pytest.raises(OutputError, match="another run"):
        _run(files)
    assert _statuses(files) == []


@pytest.mark.parametrize(
    "options",
    [
        {"out": "/proc/made.csv"},
        {"out": "records.csv/made.csv"},
        {"out": "n" * 300},  # too long a name
        {"epsilon": 0.0},
        {"epsilon": float("nan")},
        {"method": "other"},
        {"label": "column-1"},
        {"method": "crowdveil", "label": "none"},
        {"rows": 0},
        {"rows": 10**9},
        {"schema": None},
        {"domain_from_data": True},
        {"out": "records.csv"},
        {"out": "records.csv", "force": True},
        {"out": "schema.json"},
    ],
    ids=str,
)
def test_what_is_refused_costs_nothing(files: Path, options: dict[str, Any]) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    rng = Watched(None)
    noted = rng.watch(lambda: ("drawn", True))
    with pytest.raises(CrowdveilError):
        _run(files, rng=rng, **options)
    assert noted == []
    assert _statuses(files) == []
    after = {path.name: path.read_bytes() for path in files.iterdir() if "ledger" not in path.name}
    assert after == before


def test_records_outside_their_domains_and_schemas_that_cannot_be_asked_cost_nothing(files: Path) -> None:
    schema = json.loads((files / "schema.json").read_text())
    narrow, huge = dict(schema["columns"]), dict(schema["columns"])
    narrow["column-1"] = {"values": ["v1", "v2"]}
    many = {"values": ["v1", "v2", "v3", *map(str, range(2000))]}
    huge |= {"column-1": many, "column-2": many}
    for columns in (narrow, huge):
        (files / "bad.json").write_text(json.dumps({"columns": columns}))
        with pytest.raises(CrowdveilError):
            _run(files, schema=files / "bad.json", method="calm")
    assert _statuses(files) == []


def _named(files: Path, name: str) -> dict[str, Any]:
    """Records, in a Parquet file, whose first column has that name, and their schema."""
    columns = {name: {"values": ["a", "b"]}, "y": {"values": ["a", "b"]}}
    (files / "named.json").write_text(json.dumps({"columns": columns}))
    pl.DataFrame({name: ["a", "b"] * 50, "y": ["a", "a"] * 50}).write_parquet(files / "named.parquet")
    return {"epsilon": 1.0, "schema": files / "named.json", "method": "independent"}


@pytest.mark.parametrize("name", ["#crowdveil x", "#crowdveil ", "#crowdveil {"])
def test_what_is_written_can_be_read_whatever_the_first_column_is_called(files: Path, name: str) -> None:
    source, asked = str(files / "named.parquet"), _named(files, name)
    outs = ["made.parquet"] if name.endswith("{") else ["made.parquet", "made.csv", "made.csv.gz"]
    for out in outs:
        synthesize(source, str(files / out), _account(files), **asked)
        assert len(read_records(str(files / out), read_schema(files / "named.json"))) == 100
        assert read_certificate(str(files / out)).certificate.kind == "synthetic records"


@pytest.mark.parametrize("out", ["made.csv", "made.csv.gz", "-"])
def test_a_first_column_that_looks_like_a_certificate_costs_nothing(files: Path, out: str) -> None:
    asked = _named(files, '#crowdveil {"version')
    with pytest.raises(ParameterError, match="rename the column"):
        place = out if out == "-" else str(files / out)
        synthesize(str(files / "named.parquet"), place, _account(files), **asked)
    assert _statuses(files) == []


def test_a_seed_is_recorded_as_not_private(files: Path) -> None:
    result = _run(files, rng=seeded(3))
    assert not result.private
    assert _statuses(files) == ["released"]
    assert _account(files).ledger.entries()[0].seeded


@pytest.mark.parametrize("method", METHODS)
def test_the_command_prints_the_result(files: Path, run: Run, method: str) -> None:
    """Under one seed for both, as questions are drawn anew otherwise, and with them the bits of reports."""
    options = ("--schema", files / "schema.json", "--epsilon", "2", "--method", method, "--force", "--json")
    out = files / "made.csv"
    printed = run("synthesize", files / "records.csv", "-o", out, *options, "--seed", 3).json()
    result = _run(files, epsilon=2.0, method=method, force=True, rng=seeded(3))
    assert printed == json.loads(json.dumps(result.to_dict()))
    assert list(printed) == [
        *("out", "method", "parameters", "records", "rows", "columns", "bits_per_report"),
        *("private", "domains_declared", "promise", "against"),
    ]


def test_more_people_than_can_take_part_cost_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.synthesis.collection.MOST_PEOPLE", 199)
    with pytest.raises(ParameterError, match="at most 199 people can take part, not 200"):
        _run(files, rows=10)
    assert not _account(files).ledger.entries()
