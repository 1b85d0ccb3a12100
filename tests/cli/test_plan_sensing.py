"""`crowdveil plan sensing`: tables, advice, a picture, strict JSON and one line for every mistake."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from conftest import Run
from crowdveil.randomness import seeded
from crowdveil.simulation.claims import SimulatedClaims

QUICK = ("--users", 30, "--range", "0:10", "--objects", 3, "--delta", 0)


def test_the_table_says_what_the_json_says(run: Run) -> None:
    wish = ("plan", "sensing", *QUICK, "--epsilon", 4, "--error", 0.05)
    told = run(*wish, "--json").json()
    printed = run(*wish)
    assert printed.code == 0
    assert told["advice"] == "laplace"
    for words in (told["command"], told["then"], f"{told['people_needed']:,} people", "spend more epsilon"):
        assert words in printed.out
    lines = {line.split("  ")[0]: line for line in printed.out.splitlines()}
    laplace = told["mechanisms"][0]
    for number in (laplace["average_noise"], *(one["error"] for one in laplace["errors"].values())):
        assert f" {number:.4g} " in lines["laplace"]
    assert "not possible: needs a delta above 0" in lines["the same with a floor"]
    assert f"{told['range_only']['error']:.4g}" in lines["nobody is asked"]
    assert "without noise" in lines


def test_where_nothing_is_worth_it_nothing_is_advised(run: Run) -> None:
    printed = run("plan", "sensing", *QUICK, "--epsilon", 0.05, "--unit", "user")
    assert printed.code == 0
    assert "advice: none" in printed.out
    assert "crowdveil perturb" not in printed.out
    assert "claims per object" in printed.out
    assert "--claims-per-user 1" in printed.out


def test_a_promise_never_looks_stronger_than_it_is(run: Run) -> None:
    wish = ("plan", "sensing", *QUICK, "--epsilon", 1.23456789, "--claims-per-user", 1)
    lines = run(*wish).out.splitlines()
    (line,) = [line for line in lines if line.startswith("laplace")]
    assert " 1.235, 0 " in line
    (weak,) = [line for line in lines if line.startswith("one variance per user  ")]
    shown = float(weak.split(", ")[1].split()[0])
    assert shown >= run(*wish, "--json").json()["mechanisms"][1]["claim"]["delta"] > 0.1


def test_the_printed_commands_run_with_the_printed_promise(run: Run, tmp_path: Path) -> None:
    # Digits that six would change: a printed command must not promise less, or mean another range.
    wish = ("--users", 30, "--range", "-1234.56789:98765.4321", "--objects", 3, "--delta", 0)
    told = run("plan", "sensing", *wish, "--epsilon", 1.9999999, "--json").json()
    SimulatedClaims(users=30, objects=3).frame(rng=seeded(1)).write_csv(tmp_path / "claims.csv")
    places = {"claims.csv": tmp_path / "claims.csv", "noisy.parquet": tmp_path / "noisy.parquet"}
    for row in told["mechanisms"][:2]:
        crowdveil, *words = [places.get(word, word) for word in shlex.split(row["command"])]
        assert crowdveil == "crowdveil"
        done = run(*words, "--force", "--json").json()
        for level, promise in (("claim", done["promise"]), ("user", done["user_promise"])):
            assert promise["epsilon"] == row[level]["epsilon"]
            assert promise["delta"] == row[level]["delta"]


def test_the_picture_is_written_once(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "trade-off.svg"
    wish = ("plan", "sensing", *QUICK, "--epsilon", 2, "-o", out)
    assert run(*wish, "--json").json()["advice"] == "laplace"
    drawn = out.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "noise ratio" in drawn
    again = run(*wish)
    assert again.code == 2
    assert len(again.err.splitlines()) == 1
    assert run(*wish, "--force").code == 0
    assert out.read_text(encoding="utf-8") == drawn


@pytest.mark.parametrize(
    "wrong",
    [
        ("--range", "1:0"),
        ("--range", "ten"),
        ("--epsilon", 0),
        ("--epsilon", "nan"),
        ("--users", 0),
        ("--users", "many"),
        ("--objects", 0),
        ("--claims-per-user", 4),
        ("--spread", 99),
        ("--delta", 1),
        ("--unit", "record"),
        ("--error", -1),
        ("--out", "picture.png"),
    ],
)
def test_impossible_wishes_are_refused(run: Run, wrong: tuple[str, object]) -> None:
    pairs = dict(zip(QUICK[::2], QUICK[1::2], strict=True)) | {"--epsilon": 1} | {wrong[0]: wrong[1]}
    done = run("plan", "sensing", *[word for pair in pairs.items() for word in pair])
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
