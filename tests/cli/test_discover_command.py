"""`crowdveil discover` on files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Run
from crowdveil.cli.discover import Method
from crowdveil.truth.methods import METHODS


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    sd = np.array([0.1] * 6 + [3.0] * 6)
    values = np.arange(30.0)[:, None] + sd * rng.normal(size=(30, 12))
    objects, users = np.divmod(np.arange(360), 12)
    path = tmp_path / "claims.csv"
    pl.DataFrame(
        {
            "object": [f"o{i:02}" for i in objects],
            "user": [f"u{s:02}" for s in users],
            "value": values.ravel(),
        }
    ).write_csv(path)
    pl.DataFrame({"object": [f"o{i:02}" for i in range(30)], "value": np.arange(30.0)}).write_csv(
        tmp_path / "truths.csv"
    )
    return path


@pytest.mark.parametrize("method", ["gtm", "crh", "catd", "deviation", "mean", "median"])
def test_truths_and_weights_are_written_and_compared(run: Run, claims: Path, method: str) -> None:
    out, users = claims.with_name("out.csv"), claims.with_name("users.csv")
    truths = claims.with_name("truths.csv")
    told = run(
        *("discover", claims, "-o", out, "--users", users, "--method", method),
        *("--truths", truths, "--json"),
    ).json()
    table, weights = pl.read_csv(out), pl.read_csv(users)
    assert table.columns == ["object", "value", "error", "low", "high"]
    assert table.height == told["objects"] == told["compared"] == 30
    assert told["claims"] == 360
    assert told["mae"] == pytest.approx(np.abs(table["value"].to_numpy() - np.arange(30.0)).mean())
    assert weights["user"].to_list() == [f"u{s:02}" for s in range(12)]
    if method not in ("mean", "median"):
        by_user = weights["weight"].to_numpy()
        assert by_user[:6].min() > by_user[6:].max()
        assert told["mae"] < 0.2


def test_truths_go_to_standard_output_by_default(run: Run, claims: Path) -> None:
    done = run("discover", claims)
    assert done.code == 0
    assert done.out.startswith("object,value,error,low,high\no00,")


def test_bad_requests_are_refused_in_a_line(run: Run, claims: Path) -> None:
    out = claims.with_name("out.csv")
    for wrong in (
        ("discover", claims, "--json"),
        ("discover", claims, "-o", out, "--users", out),
        ("discover", claims, "-o", out, "--level", "1"),
        ("discover", claims, "-o", claims),
        ("discover", claims.with_name("none.csv")),
    ):
        done = run(*wrong)
        assert done.code == 2
        assert done.err.count("\n") == 1
    assert not out.exists()


def test_every_method_can_be_asked_for() -> None:
    assert [method.value for method in Method] == list(METHODS)
