"""`crowdveil audit`: lists, attacks, and says no more than it knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from crowdveil.audit.planted import PLANTED
from crowdveil.audit.registry import AUDITS
from crowdveil.cli.audit import audit
from crowdveil.errors import ParameterError

PAGE = Path(__file__).parents[2] / "docs" / "guarantees" / "audits.md"

app = typer.Typer(pretty_exceptions_enable=False)
app.command("audit")(audit)


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def strict(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"JSON is not strict: {constant}")

    return json.loads(text, parse_constant=refuse)


def test_without_arguments_mechanisms_are_listed() -> None:
    done = invoke()
    assert done.exit_code == 0
    assert all(name in done.stdout for name in AUDITS)
    assert strict(invoke("--json").stdout) == {"mechanisms": list(AUDITS)}


def test_help_has_an_example() -> None:
    assert "Example: crowdveil audit" in invoke("--help").stdout


def test_one_mechanism_is_attacked() -> None:
    done = invoke("basic", "--draws", 20_000, "--seed", 1)
    assert done.exit_code == 0
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("basic")]
    assert "epsilon 1.000" in row
    assert row.endswith("not refuted")
    assert "proved" not in done.stdout


def test_all_mechanisms_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in AUDITS if name.startswith("whole-")]:  # a draw of these takes milliseconds
        monkeypatch.delitem(AUDITS, name)
    done = invoke("--all", "--draws", 4_000, "--seed", 2, "--json")
    assert done.exit_code == 0, done.stdout
    audits = strict(done.stdout)["audits"]
    assert [one["mechanism"] for one in audits] == list(AUDITS)
    for one in audits:
        assert one["verdict"] == ("refuted" if "paper" in one["mechanism"] else "not refuted")
        assert set(one["claimed"]) == set(one["measured"]) == {"epsilon", "delta"}
        assert one["tested_draws"] == 2_000


def test_a_seed_repeats_an_audit() -> None:
    names = ("laplace", "--draws", 4_000, "--seed", 2, "--json")
    assert invoke(*names).stdout == invoke(*names).stdout


def test_exact_ratios_are_told_as_such() -> None:
    done = invoke("whole-certified-claim", "--draws", 100, "--seed", 1)
    assert "epsilon 1.000, exact" in done.stdout
    (one,) = strict(invoke("whole-certified-claim", "--draws", 100, "--seed", 1, "--json").stdout)["audits"]
    assert one["exact"]
    assert one["measured"]["epsilon"] == pytest.approx(1.0)


def test_a_refuted_claim_of_ours_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = PLANTED["half the noise"]
    monkeypatch.setitem(AUDITS, broken.name, broken)
    done = invoke(broken.name, "--draws", 20_000, "--seed", 1, "--json")
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert strict(done.stdout)["audits"][0]["verdict"] == "refuted"
    assert invoke(broken.name, "--draws", 20_000, "--seed", 1).exit_code == 1


def test_a_refuted_claim_of_a_paper_exits_with_0() -> None:
    done = invoke("priscrowd-paper", "--seed", 1, "--draws", 2_000)
    assert done.exit_code == 0
    assert " refuted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["basics"], "certified-histogram"),
        (["basic", "--all"], "not both"),
        (["basic", "--draws", 3], "draws"),
        (["basic", "--alpha", 2], "alpha"),
        (["basic", "--seed", -1], "seed"),
        (["basic", "--threads", 0], "threads"),
    ],
)
def test_bad_usage_is_the_callers_to_mend(arguments: list[object], words: str) -> None:
    done = invoke(*arguments)
    assert isinstance(done.exception, ParameterError)  # one line and exit 2, see main
    assert words in str(done.exception)


def test_the_page_names_every_audit_with_its_claim_and_verdict() -> None:
    rows = {
        line.split("|")[1].strip(): line for line in PAGE.read_text().splitlines() if line.startswith("| `")
    }
    assert set(rows) == {f"`{name}`" for name in AUDITS}
    for name, one in AUDITS.items():
        row = rows[f"`{name}`"]
        assert f"ε {one.epsilon:.3f}" + (f", δ {one.delta:.5f}" if one.delta else "") in row
        assert row.endswith("| **refuted** |" if one.whose == "paper" else "| not refuted |")
