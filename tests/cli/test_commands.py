"""Every command answers, quickly, and repeats what it was told to repeat."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from conftest import Run

CROWDVEIL = [sys.executable, "-m", "crowdveil"]


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["demo"],
        ["release"],
        ["evaluate"],
        ["explain"],
        ["ledger"],
        ["audit"],
        ["bench"],
        ["discover"],
        ["synthesize"],
        ["perturb"],
        ["plan", "release"],
        ["plan", "sensing"],
        ["plan", "sparse"],
        ["plan", "records"],
        ["reproduce"],
        ["simulate"],
        ["simulate", "claims"],
        ["simulate", "sensing"],
        ["simulate", "sparse"],
        ["simulate", "records"],
    ],
)
def test_every_command_has_help_with_an_example(run: Run, command: list[str]) -> None:
    done = run(*command, "--help")
    assert done.code == 0
    assert "Usage: crowdveil" in done.out
    if command and command != ["simulate"]:
        assert "Example: crowdveil" in done.out


def test_help_loads_neither_numba_nor_tables() -> None:
    code = (
        "import sys; sys.argv = ['crowdveil', '--help']\n"
        "from crowdveil.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'numpy', 'polars', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_version_is_told(run: Run) -> None:
    from crowdveil.version import __version__

    assert run("--version").out == f"crowdveil {__version__}\n"


def test_the_demo_makes_a_bundle(run: Run, tmp_path: Path) -> None:
    done = run("demo", "-o", tmp_path / "demo")
    assert done.code == 0, done.err
    assert (tmp_path / "demo" / "public.html").exists()
    assert "released" in done.out


def test_simulated_claims_are_repeatable_and_go_to_standard_output(run: Run, tmp_path: Path) -> None:
    run("simulate", "claims", "--seed", 3, "-o", tmp_path / "a.csv", "--truths", tmp_path / "t.csv")
    assert run("simulate", "claims", "--seed", 3, "-o", "-").out == (tmp_path / "a.csv").read_text()
    assert run("simulate", "claims", "--seed", 4, "-o", "-").out != (tmp_path / "a.csv").read_text()
    assert pl.read_csv(tmp_path / "t.csv").columns == ["object", "value", "spread"]
    assert run("simulate", "claims", "-o", tmp_path / "a.csv").code == 2


def test_evaluate_ranks_paper_mode_before_its_baseline(run: Run, tmp_path: Path) -> None:
    run("simulate", "claims", "-o", tmp_path / "c.csv", "--truths", tmp_path / "t.csv")
    errors = {}
    for method in ("priscrowd", "uniform"):
        run("release", tmp_path / "c.csv", "--method", method, "--seed", 1, "-o", tmp_path / method)
        told = run(
            "evaluate",
            tmp_path / method,
            "--truths",
            tmp_path / "t.csv",
            "--claims",
            tmp_path / "c.csv",
            "--json",
        ).json()
        errors[method] = told["truths"]["density"]["ise"]
        assert told["raw"]["objects"] == 50
    assert errors["priscrowd"] < errors["uniform"]


def test_evaluate_refuses_what_it_cannot_compare(run: Run, tmp_path: Path) -> None:
    run("simulate", "claims", "-o", tmp_path / "c.csv")
    run("release", tmp_path / "c.csv", "--method", "uniform", "-o", tmp_path / "out")
    assert run("evaluate", tmp_path / "out").code == 2
    (tmp_path / "t.csv").write_text("object,value\nsomething else,1\n")
    assert run("evaluate", tmp_path / "out", "--truths", tmp_path / "t.csv").code == 2
    (tmp_path / "t.csv").write_text("object,value\nobject-01,x\n")
    assert "row 1" in run("evaluate", tmp_path / "out", "--truths", tmp_path / "t.csv").err
    (tmp_path / "t.csv").write_text("object,value\nobject-01,1\nobject-01,2\n")
    assert "several truths" in run("evaluate", tmp_path / "out", "--truths", tmp_path / "t.csv").err


def test_reproduce_lists_runs_and_refuses(run: Run, tmp_path: Path) -> None:
    assert "priscrowd-simulated" in run("reproduce").out
    assert run("reproduce", "nothing").code == 2
    assert run("reproduce", "priscrowd-real", "--data", tmp_path / "nowhere").code == 2
    done = run("reproduce", "priscrowd-simulated", "--seeds", 1, "-o", tmp_path / "figures", "--json")
    assert done.code == 0, done.err
    assert len(done.json()["rows"]) == 25
    assert (tmp_path / "figures" / "priscrowd-simulated.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_release_leaves_nothing(tmp_path: Path, stop: signal.Signals) -> None:
    # Objects of many claims keep the loops busy for longer than any machine takes to be interrupted.
    rows = 500_000
    pl.DataFrame(
        {"object": ["o"] * rows, "user": range(rows), "value": pl.Series(range(rows)).cast(pl.Float64)}
    ).write_parquet(tmp_path / "claims.parquet")
    (tmp_path / "work").mkdir()
    process = subprocess.Popen(
        [*CROWDVEIL, "release", "claims.parquet", "--method", "priscrowd", "-o", "work/out"],
        cwd=tmp_path,
        env=os.environ,
        stderr=subprocess.PIPE,
    )
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(stop)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert list((tmp_path / "work").iterdir()) == []
