"""`operations.discover`: it checks before it computes, writes what it returns, and prints nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Run
from crowdveil.answers import Answers, CellReports, Domain
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import CrowdveilError, OutputError, ParameterError
from crowdveil.local import (
    CellResponse,
    Factorization,
    LaplaceCells,
    SlotResponse,
    SoundFactorization,
    report,
)
from crowdveil.operations.cell_truths import STATE_SPARSITY, estimators
from crowdveil.operations.discover import UNKNOWN_ORIGIN, discover, weights_file
from crowdveil.randomness import seeded
from crowdveil.truths import Truths, Voted

FIVE = Domain(0, 4)


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    objects, users = np.divmod(np.arange(200), 10)
    values = objects + np.random.default_rng(1).normal(size=200)
    path = tmp_path / "claims.csv"
    names = {"object": [f"o{i:02}" for i in objects], "user": [f"u{s}" for s in users]}
    pl.DataFrame({**names, "value": values}).write_csv(path)
    known = {"object": [f"o{i:02}" for i in range(20)], "value": np.arange(20.0)}
    pl.DataFrame(known).write_csv(tmp_path / "known.csv")
    return path


def received(mechanism: Any) -> Any:
    objects, users = np.divmod(np.arange(600), 40)
    some = np.random.default_rng(2).random(600) < 0.5
    claims = Claims.from_columns(objects[some], users[some], (objects % 5)[some])
    return report(Answers.from_claims(claims, FIVE), mechanism, rng=seeded(1)).read()


def test_what_is_returned_is_written_and_is_what_the_command_prints(run: Run, claims: Path) -> None:
    out, known = claims.with_name("out.csv"), claims.with_name("known.csv")
    discovered = discover(str(claims), out=str(out), truths=str(known), engine=LocalEngine(1))
    assert isinstance(discovered.truths, Truths)
    assert pl.read_csv(out)["estimate"].to_list() == pytest.approx(discovered.truths.estimates.tolist())
    assert pl.read_csv(weights_file(str(out))).height == 10
    assert discovered.promise == discovered.user_promise == UNKNOWN_ORIGIN
    assert discovered.warnings == ()
    printed = run("discover", claims, "-o", out, "--truths", known, "--json", "--force").out
    assert printed == json.dumps(discovered.to_dict(), indent=2) + "\n"


def test_labels_are_compared_by_accuracy(tmp_path: Path) -> None:
    path, known, out = tmp_path / "labels.csv", tmp_path / "known.csv", tmp_path / "out.parquet"
    path.write_text("object,user,value\na,u,x\na,v,x\nb,u,y\nb,v,y\nc,u,x\n", encoding="utf-8")
    known.write_text("object,value\na,x\nb,x\n", encoding="utf-8")
    discovered = discover(str(path), labels=True, out=str(out), truths=str(known))
    assert isinstance(discovered.truths, Voted)
    assert discovered.scores == {"compared": 2, "accuracy": 0.5}
    assert discovered.to_dict()["claims"] == 5


def test_truths_on_standard_output_have_no_file_of_weights(
    claims: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    discovered = discover(str(claims))
    assert capsys.readouterr().out == discovered.table.write_csv()
    assert discovered.weights is None
    assert sorted(path.name for path in claims.parent.iterdir()) == ["claims.csv", "known.csv"]


def test_warnings_are_in_the_result_and_nothing_is_printed(
    claims: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = str(claims.with_name("t.csv"))
    assert discover(str(claims), labels=True, out=out).warnings == ()
    monkeypatch.setattr("crowdveil.truth.one_coin.CAP", 1)
    (warning,) = discover(str(claims), labels=True, out=out, force=True).warnings
    assert warning.startswith("still moving after 1 sweeps")
    _, warnings = estimators(received(LaplaceCells(4.0, FIVE)), None).infer(None, None)
    assert warnings == (STATE_SPARSITY,)
    assert capsys.readouterr() == ("", "")


def test_what_is_there_already_is_found_before_anything_is_read(claims: Path) -> None:
    out = claims.with_name("out.csv")
    weights_file(str(out)).write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        discover("no such file", out=str(out))
    assert not out.exists()


def test_what_cannot_be_done_writes_nothing(claims: Path) -> None:
    out = claims.with_name("out.csv")
    other = claims.with_name("other.csv")
    other.write_text("object,value\nelsewhere,1\n", encoding="utf-8")
    for wrong in (
        {"method": "majority"},
        {"method": "gtm", "labels": True},
        {"level": 1.0},
        {"sparsity": 0.5},
        {"truths": str(other)},
        {"truths": "no such file"},
        {"user": "no such column"},
    ):
        with pytest.raises(CrowdveilError):
            discover(str(claims), out=str(out), **wrong)
    assert not out.exists()
    assert not weights_file(str(out)).exists()


@pytest.mark.parametrize(
    ("mechanism", "sparsity", "methods"),
    [
        (CellResponse(4.0, FIVE), None, ["randomized", "inverse-deviation"]),
        (LaplaceCells(4.0, FIVE), None, ["inverse-deviation"]),
        (LaplaceCells(4.0, FIVE), 0.5, ["randomized", "inverse-deviation"]),
        (SoundFactorization(4.0, FIVE), None, ["inverse-deviation"]),
        (Factorization(4.0, FIVE), None, ["inverse-deviation"]),
        (SlotResponse(4.0, FIVE), None, ["slot response"]),
        (SlotResponse(4.0, FIVE), 0.5, ["slot response"]),
    ],
    ids=lambda value: getattr(value, "method", None),
)
def test_each_kind_of_reports_has_its_estimators(
    mechanism: Any, sparsity: float | None, methods: list[str]
) -> None:
    choices = estimators(received(mechanism), sparsity)
    assert list(choices.by_method) == methods
    for method in (None, *methods):
        truths, warnings = choices.infer(method, LocalEngine(1))
        assert truths.method == (method or methods[0])
        assert truths.estimates.size == 15
        assert warnings == ((choices.warning,) if choices.warning and method is None else ())
    with pytest.raises(ParameterError, match=r"these reports take .* --method"):
        choices.infer("gtm", None)


def test_only_reports_that_do_not_tell_their_sparsity_take_it() -> None:
    for mechanism in (CellResponse(4.0, FIVE), SoundFactorization(4.0, FIVE)):
        with pytest.raises(ParameterError, match="lp and slots"):
            estimators(received(mechanism), 0.5)


def test_a_stated_sparsity_is_used() -> None:
    assert isinstance(received(CellResponse(4.0, FIVE)), CellReports)
    for mechanism in (LaplaceCells(4.0, FIVE), SlotResponse(1.0, FIVE)):
        reports = received(mechanism)
        low, high = (estimators(reports, sparsity).infer(None, None)[0].estimates for sparsity in (0.1, 0.9))
        assert not np.array_equal(low, high)
