"""`crowdveil discover` on files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Run
from crowdveil.truth.registry import METHODS, Input, methods_for


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


@pytest.mark.parametrize("method", methods_for(Input.CLAIMS))
def test_truths_and_weights_are_written_and_compared(run: Run, claims: Path, method: str) -> None:
    out, truths = claims.with_name("out.csv"), claims.with_name("truths.csv")
    told = run("discover", claims, "-o", out, "--method", method, "--truths", truths, "--json").json()
    table, weights = pl.read_csv(out), pl.read_csv(claims.with_name("out.weights.csv"))
    assert table.columns == ["object", "estimate", "lower", "upper", "error"]
    assert table.height == told["objects"] == told["compared"] == 30
    assert told["claims"] == 360
    assert told["promise"].startswith("No guarantee")
    assert told["mae"] == pytest.approx(np.abs(table["estimate"].to_numpy() - np.arange(30.0)).mean())
    assert weights["user"].to_list() == [f"u{s:02}" for s in range(12)]
    if method not in ("mean", "median"):
        by_user = weights["weight"].to_numpy()
        assert by_user[:6].min() > by_user[6:].max()
        assert told["mae"] < 0.2


def test_truths_go_to_standard_output_by_default_and_nothing_is_promised(run: Run, claims: Path) -> None:
    done = run("discover", claims)
    assert done.code == 0
    assert done.out.startswith("object,estimate,lower,upper,error\no00,")
    assert "No guarantee" in done.err


def test_an_end_that_is_not_known_is_empty(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("object,user,value\na,u,1\nb,u,2\nb,v,2\n", encoding="utf-8")
    done = run("discover", path)
    assert done.out.splitlines()[1:] == ["a,1.0,,,", "b,2.0,2.0,2.0,0.0"]


def test_labels_are_voted_on(run: Run, tmp_path: Path) -> None:
    path, truths, out = tmp_path / "labels.csv", tmp_path / "truths.csv", tmp_path / "out.parquet"
    rows = [f"q{i},u{s},{'yes' if (i + (s == 3)) % 2 else 'no'}" for i in range(10) for s in range(4)]
    path.write_text("\n".join(["object,user,value", *rows]), encoding="utf-8")
    known = [f"q{i},{'yes' if i % 2 else 'no'}" for i in range(10)]
    truths.write_text("\n".join(["object,value", *known]), encoding="utf-8")
    for method in ("one-coin", "majority", "crh"):
        told = run(
            *(
                "discover",
                path,
                "--labels",
                "-o",
                out,
                "--method",
                method,
                "--truths",
                truths,
                "--json",
                "--force",
            )
        ).json()
        assert told["method"] == method
        assert told["accuracy"] == 1.0
    assert pl.read_parquet(out).columns == ["object", "estimate", "chance"]
    assert pl.read_parquet(tmp_path / "out.weights.parquet").height == 4
    assert run("discover", path, "--labels").out.startswith("object,estimate,chance\nq0,no,")


def test_real_labels_are_found(run: Run, datasets: Path, tmp_path: Path) -> None:
    told = run(
        *("discover", datasets / "web_wsd_claims.parquet", "--labels", "-o", tmp_path / "out.csv"),
        *("--truths", datasets / "web_wsd_truths.parquet", "--json"),
    ).json()
    assert told["compared"] == 177
    assert told["accuracy"] > 0.98


def test_bad_requests_are_refused_in_a_line(run: Run, claims: Path) -> None:
    out = claims.with_name("out.csv")
    for wrong in (
        ("discover", claims, "--json"),
        ("discover", claims, "-o", out, "--level", "1"),
        ("discover", claims, "-o", claims),
        ("discover", claims, "-o", out, "--method", "noise-aware"),
        ("discover", claims, "-o", out, "--method", "majority"),
        ("discover", claims, "-o", out, "--method", "median", "--labels"),
        ("discover", claims.with_name("none.csv")),
    ):
        done = run(*wrong)
        assert done.code == 2, wrong
        assert done.err.count("\n") == 1
    assert not out.exists()


def test_the_choices_are_the_registered_methods(run: Run, claims: Path) -> None:
    shown = " ".join(run("discover", "--help").out.split())
    assert f"--method <{'|'.join(METHODS)}>" in shown
    done = run("discover", claims, "--method", "truest")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert all(f"'{name}'" in done.err for name in METHODS)


def test_help_imports_no_method() -> None:
    code = (
        "import sys; from crowdveil.cli.main import app\n"
        "try: app(['discover', '--help'])\n"
        "except SystemExit: pass\n"
        "loaded = {'numpy', 'polars', 'numba'} | {f'crowdveil.truth.{m}' for m in ('gtm', 'one_coin')}\n"
        "sys.exit(bool(loaded & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_progress_bar_on_a_terminal_leaves_standard_output_alone(claims: Path) -> None:
    import pty

    ours, terminal = pty.openpty()
    try:
        command = [sys.executable, "-m", "crowdveil", "discover", str(claims)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, check=True)
        os.set_blocking(ours, False)
        shown = os.read(ours, 2**16).decode()
    finally:
        os.close(terminal)
        os.close(ours)
    assert done.stdout.startswith("object,estimate,lower,upper,error\no00,")
    assert len(done.stdout.splitlines()) == 31
    assert "No guarantee" in shown
    assert "o00," not in shown


def test_a_method_for_something_else_is_refused_with_what_would_do(run: Run, claims: Path) -> None:
    for method, takes in (("majority", "--labels"), ("noise-aware", "noisy"), ("randomized", "every cell")):
        done = run("discover", claims, "--method", method)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert f"{method} is for" in done.err
        assert takes in done.err
        assert "gtm, crh, catd, inverse-deviation, mean, median" in done.err
