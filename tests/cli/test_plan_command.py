"""`crowdveil plan`: advice that follows the wish, and commands that do what the table says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Run
from crowdveil.planning.releases import ReleasePlan, plan_release
from crowdveil.public_range import Range
from crowdveil.randomness import seeded


@pytest.mark.parametrize(
    ("claims", "objects", "epsilon", "advice"),
    [(40, 30, 2, "certified"), (3, 200, 0.5, "pooled"), (1, 2, 0.1, "none")],
)
def test_the_advice_follows_claims_and_epsilon(
    run: Run, claims: int, objects: int, epsilon: float, advice: str
) -> None:
    wish = ("--claims-per-object", claims, "--objects", objects, "--epsilon", epsilon, "--range", "0:10")
    told = run("plan", "release", *wish, "--json").json()
    assert told["advice"] == advice
    assert (told["command"] is None) == (advice == "none")
    printed = run("plan", "release", *wish)
    assert printed.code == 0
    assert told["command"] is None or told["command"] in printed.out
    for row in told["methods"]:
        (line,) = [line for line in printed.out.splitlines() if line.startswith(f"{row['method']}  ")]
        assert row["possible"] or line.endswith(f"not possible: {row['why']}")


def test_errors_shrink_with_epsilon_and_certified_beats_basic(run: Run) -> None:
    errors = []
    for epsilon in (0.5, 2, 8):
        wish = (
            "--claims-per-object",
            30,
            "--objects",
            40,
            "--epsilon",
            epsilon,
            "--range",
            "0:10",
            "--unit",
            "claim",
        )
        rows = {
            r["method"]: r["relative_ise"] for r in run("plan", "release", *wish, "--json").json()["methods"]
        }
        assert rows["certified"] < rows["basic"]
        errors.append(rows["certified"])
    assert errors == sorted(errors, reverse=True)


# --- the commands that are printed

ROUND = ReleasePlan(8, 247, Range(0.0, 10.0), 1.0, unit="claim")
# Numbers that six digits would change: a printed command must not cost more, or mean another range.
LONG = ReleasePlan(
    8,
    300,
    Range(-1234.56789, 98765.4321),
    1.9999999,
    spread=7000.0,
    per_object=12,
    delta=1.234567891e-5,
    unit="claim",
)
SINGLE = ["certified", "smoothed", "attempts", "basic"]
USERS = ReleasePlan(20, 60, Range(0.0, 10.0), 2.0, unit="user", cap=4)


def expected_claims(plan: ReleasePlan, path: Path) -> None:
    """As many claims as the plan has, of users with no more of them than the cap."""
    total = plan.objects * plan.claims_per_object
    noise = seeded(5).stream("claims", purpose="test").normals(total)
    middle = 0.5 * (plan.range.low + plan.range.high)
    claims = {
        "object": [f"o{i % plan.objects}" for i in range(total)],
        "user": [f"u{i // (plan.cap or plan.objects)}" for i in range(total)],
        "value": middle + plan.width * noise,
    }
    pl.DataFrame(claims).write_csv(path)


def released(run: Run, plan: ReleasePlan, row: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The certificate of the release that a row's command makes."""
    expected_claims(plan, folder / "claims.csv")
    places = {"CLAIMS": folder / "claims.csv", "OUT": folder / row["method"]}
    crowdveil, *words = [str(places.get(word, word)) for word in shlex.split(row["command"])]
    assert crowdveil == "crowdveil"
    done = run(*words)
    assert done.code == 0, (words, done.err)
    made: dict[str, Any] = json.loads((places["OUT"] / "certificate.json").read_text())
    return made


@pytest.mark.parametrize(
    ("plan", "methods"),
    [(ROUND, SINGLE), (LONG, SINGLE), (USERS, SINGLE[:1])],
    ids=["round", "long", "users"],
)
def test_the_printed_commands_run_at_the_printed_cost(
    run: Run, tmp_path: Path, plan: ReleasePlan, methods: list[str]
) -> None:
    rows = {row["method"]: row for row in plan_release(plan)["methods"] if row["possible"]}
    assert list(rows) == [methods[0], "pooled", *methods[1:]]
    for method in methods:
        row = rows[method]
        certificate = released(run, plan, row, tmp_path)
        promise, parameters = certificate["promise"], certificate["parameters"]
        assert certificate["method"] == method
        assert 0 < promise["epsilon"] <= plan.epsilon
        assert (promise["epsilon"], promise["delta"]) == (row["epsilon"], row["delta"])
        assert promise["delta"] in (0, plan.delta)
        assert promise["unit"] == plan.unit
        assert parameters["range"] == [plan.range.low, plan.range.high]
        assert {name: parameters[name] for name in row["parameters"]} == row["parameters"]


@pytest.mark.parametrize("cap", [None, 2])
def test_the_printed_command_of_a_pooled_release_runs(run: Run, tmp_path: Path, cap: int | None) -> None:
    plan = ReleasePlan(60, 3, Range(0.0, 10.0), 0.5, unit="user" if cap else "claim", cap=cap)
    told = plan_release(plan)
    assert told["advice"] == "pooled"
    (row,) = [row for row in told["methods"] if row["method"] == "pooled"]
    assert told["command"] == row["command"]
    promise = released(run, plan, row, tmp_path)["promise"]
    assert promise["epsilon"] == row["epsilon"] == plan.epsilon
    assert promise["unit"] == plan.unit


def test_a_plan_for_users_advises_a_command_for_users(run: Run) -> None:
    wish = ("--claims-per-object", 300, "--epsilon", 1, "--range", "0:10", "--unit", "user", "--cap", 5)
    told = run("plan", "release", *wish)
    assert told.code == 0
    assert "--unit user --cap 5" in told.out
    assert told.out.count("not possible: protects claims, not users") == 3


@pytest.mark.parametrize(
    "wrong",
    [
        ("--range", "1:0"),
        ("--epsilon", 0),
        ("--claims-per-object", 0),
        ("--spread", 99),
        ("--delta", 1),
        ("--cap", 0),
        ("--claims-per-user", 51),
    ],
)
def test_impossible_wishes_are_refused(run: Run, wrong: tuple[str, object]) -> None:
    wish = {"--claims-per-object": 30, "--range": "0:10", "--epsilon": 1, wrong[0]: wrong[1]}
    done = run("plan", "release", *[word for pair in wish.items() for word in pair])
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
