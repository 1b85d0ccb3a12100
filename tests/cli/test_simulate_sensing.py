"""`crowdveil simulate sensing` writes the sensing paper's simulation, repeatably."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Run


def test_help_has_an_example(run: Run) -> None:
    assert "Example: crowdveil simulate sensing" in run("simulate", "sensing", "--help").out


def test_claims_are_repeatable_and_go_to_standard_output(run: Run, tmp_path: Path) -> None:
    out, truths = tmp_path / "a.csv", tmp_path / "t.csv"
    done = run("simulate", "sensing", "--seed", 3, "-o", out, "--truths", truths)
    assert done.code == 0, done.err
    assert run("simulate", "sensing", "--seed", 3, "-o", "-").out == out.read_text()
    assert run("simulate", "sensing", "--seed", 4, "-o", "-").out != out.read_text()
    assert pl.read_csv(out).columns == ["object", "user", "value"]
    assert pl.read_csv(out).height == 150 * 30
    assert pl.read_csv(truths).columns == ["object", "value"]
    assert pl.read_csv(truths).height == 30


def test_the_plain_mean_is_near_the_truths_that_were_written(run: Run, tmp_path: Path) -> None:
    out, truths = tmp_path / "c.csv", tmp_path / "t.csv"
    run("simulate", "sensing", "--users", 400, "--objects", 8, "--lambda1", 4, "-o", out, "--truths", truths)
    means = pl.read_csv(out).group_by("object").agg(pl.col("value").mean().alias("mean"))
    gaps = pl.read_csv(truths).join(means, on="object").select((pl.col("mean") - pl.col("value")).abs())
    # 400 errors of variance 1/4 on average: a standard error of 0.025.
    assert gaps.height == 8
    assert float(gaps.to_series().max()) < 6 * 0.025  # type: ignore[arg-type]


def test_sparse_claims_leave_each_user_with_a_share(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "c.parquet"
    done = run("simulate", "sensing", "--share", 0.2, "-o", out, "--json").json()
    assert done["claims"] == 150 * 6
    assert pl.read_parquet(out).group_by("user").len()["len"].unique().to_list() == [6]
    assert done["lambda1"] == 1.0


def test_nothing_is_replaced_unasked(run: Run, tmp_path: Path) -> None:
    out, truths = tmp_path / "c.csv", tmp_path / "t.csv"
    truths.write_text("mine")
    assert run("simulate", "sensing", "-o", out, "--truths", truths).code == 2
    assert not out.exists()
    assert truths.read_text() == "mine"
    assert run("simulate", "sensing", "-o", out, "--truths", out).code == 2
    assert run("simulate", "sensing", "-o", out, "--truths", truths, "--force").code == 0


@pytest.mark.parametrize(
    "wrong", [("--users", 0), ("--objects", 0), ("--lambda1", 0), ("--lambda1", "nan"), ("--share", 1.5)]
)
def test_impossible_simulations_are_refused(run: Run, tmp_path: Path, wrong: tuple[object, ...]) -> None:
    done = run("simulate", "sensing", *wrong, "-o", tmp_path / "c.csv")
    assert done.code == 2
    assert not (tmp_path / "c.csv").exists()


def test_json_and_a_table_on_standard_output_exclude_each_other(run: Run, tmp_path: Path) -> None:
    for places in (("-o", "-"), ("-o", tmp_path / "claims.csv", "--truths", "-")):
        done = run("simulate", "sensing", *places, "--json")
        assert done.code == 2
        assert done.out == ""
    assert not (tmp_path / "claims.csv").exists()
