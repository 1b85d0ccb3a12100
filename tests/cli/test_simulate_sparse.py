"""`crowdveil simulate sparse` writes the sparse paper's simulation, repeatably."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Run

SMALL = ("--users", 200, "--objects", 20)


def test_help_has_an_example(run: Run) -> None:
    assert "Example: crowdveil simulate sparse" in run("simulate", "sparse", "--help").out


def test_answers_are_repeatable_and_go_to_standard_output(run: Run, tmp_path: Path) -> None:
    out, truths = tmp_path / "a.csv", tmp_path / "t.csv"
    done = run("simulate", "sparse", *SMALL, "--seed", 3, "-o", out, "--truths", truths)
    assert done.code == 0, done.err
    assert run("simulate", "sparse", *SMALL, "--seed", 3, "-o", "-").out == out.read_text()
    assert run("simulate", "sparse", *SMALL, "--seed", 4, "-o", "-").out != out.read_text()
    answers = pl.read_csv(out)
    assert answers.columns == ["object", "user", "value"]
    assert answers.schema["value"] == pl.Int64
    # 4,000 cells, each with an answer in one of ten cases.
    assert abs(answers.height - 400) < 5 * (4000 * 0.09) ** 0.5
    assert pl.read_csv(truths).columns == ["object", "value"]
    assert pl.read_csv(truths).height == 20


def test_answers_lie_in_the_range_and_wide_truths_fill_it(run: Run, tmp_path: Path) -> None:
    out, truths = tmp_path / "a.parquet", tmp_path / "t.csv"
    asked = (*SMALL, "--sparsity", 0.5, "--range", "-3:7", "--wide", "--json")
    told = run("simulate", "sparse", *asked, "-o", out, "--truths", truths).json()
    answers, known = pl.read_parquet(out), pl.read_csv(truths)["value"]
    assert sorted(answers["value"].unique().to_list()) == list(range(-3, 8))
    assert known.is_between(-3, 7).all()
    assert known.to_numpy().std() > 2
    assert told["claims"] == answers.height
    assert told["sparsity"] == 0.5


def test_nothing_is_replaced_unasked(run: Run, tmp_path: Path) -> None:
    out, truths = tmp_path / "a.csv", tmp_path / "t.csv"
    truths.write_text("mine")
    assert run("simulate", "sparse", *SMALL, "-o", out, "--truths", truths).code == 2
    assert not out.exists()
    assert truths.read_text() == "mine"
    assert run("simulate", "sparse", *SMALL, "-o", out, "--truths", truths, "--force").code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--users", 0),
        ("--sparsity", 1),
        ("--sparsity", "nan"),
        ("--range", "0:2.5"),
        ("--range", "4"),
        ("--range", "9:0"),
        ("--range", "0:1000"),
    ],
)
def test_impossible_simulations_are_refused(run: Run, tmp_path: Path, wrong: tuple[object, ...]) -> None:
    done = run("simulate", "sparse", *wrong, "-o", tmp_path / "a.csv")
    assert done.code == 2
    assert not (tmp_path / "a.csv").exists()
