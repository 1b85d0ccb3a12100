"""`crowdveil ledger`: what was spent, the budget, what is left, and every entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from conftest import Run
from crowdveil.cli.ledger import ledger
from crowdveil.errors import CrowdveilError, InputError, OutputError
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.ledger import Ledger

app = typer.Typer()
app.command()(ledger)

CLAIM = Guarantee(0.1, 1e-6, "claim", "replace-one", "central")
COMES = Guarantee(1.0, 0.0, "claim", "add-remove", "central")
USER = Guarantee(2.5, 0.0, "user", "add-remove", "central")


def _told(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.exception
    return done.stdout


def _refuse(constant: str) -> Any:
    raise AssertionError(f"JSON is not strict: {constant}")


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    """A ledger in which everything has happened."""
    book = Ledger(tmp_path / "ledger.sqlite3")
    for _ in range(3):
        book.completed(
            book.charge("drugs", CLAIM, method="basic", seeded=False, claims_of_a_user=2, budget=1)
        )
    book.charge("drugs", CLAIM, method="basic", seeded=True)
    book.charge("trial", CLAIM, method="basic", seeded=False)
    book.charge("trial", USER, method="certified", seeded=False)
    book.completed(book.charge("marks", COMES, method="certified", seeded=False))
    book.completed(book.charge("paper", NoGuarantee("why"), method="priscrowd", seeded=False))
    return book


def _row(text: str, *cells: str) -> bool:
    """Whether a line of the table has these cells."""
    return any(line.split("  ") and _cells(line) == list(cells) for line in text.splitlines())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_spending_budget_and_what_is_left_are_shown(book: Ledger) -> None:
    text = _told("--ledger", book.path)
    assert str(book.path) in text
    assert _row(text, "drugs", "each claim, replace-one, central", "0.3", "3e-6", "1", "0.7")
    assert _row(text, "drugs", "each user, replace-one, central", "0.6", "6.31554e-6", "none", "-")
    assert _row(text, "trial", "each claim, replace-one, central", "5.1", "1e-6", "none", "-")
    assert _row(text, "trial", "each user, add-remove, central", "not bounded", "not bounded", "none", "-")
    assert _row(text, "marks", "each user, add-remove, central", "k", "0", "none", "-")
    assert _row(text, "marks", "each user, replace-one, central", "2 k", "0", "none", "-")
    assert _row(text, "marks", "each claim, add-remove, central", "1", "0", "none", "-")
    assert _row(text, "marks", "each claim, replace-one, central", "2", "0", "none", "-")
    assert "by up to twice the epsilon: see the row of replace-one" in text
    assert _row(text, "paper", "nobody", "unbounded", "unbounded", "none", "-")
    assert "drugs: seeded runs: 1. They are NOT PRIVATE" in text
    assert "trial: charges whose release was not written: 2." in text
    assert "trial: where a total is not bounded, some release promises nothing" in text
    assert "k is the number of claims of a user" in text
    assert "a person with two names is two users" in text
    assert "Every release counts in each row of its dataset" in text
    assert "paper: releases without a differential privacy guarantee: 1." in text
    assert "drugs: charges whose release" not in text


def test_large_deltas_are_told(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    half = Guarantee(0.1, 0.005, "user", "replace-one", "central")
    for _ in range(2):
        book.charge("d", half, method="certified", seeded=False)
    assert "nearly no guarantee" not in _told("--ledger", book.path)
    book.charge("d", half, method="certified", seeded=False)
    expected = "d: deltas for each user, replace-one, central add up to 0.015. With up to that probability"
    assert expected in _told("--ledger", book.path)


def test_entries_are_shown(book: Ledger) -> None:
    rows = [_cells(line)[1:] for line in _told("--ledger", book.path).splitlines() if line.startswith("20")]
    assert rows == [
        *[["drugs", "basic", "0.1", "1e-6", "private", "released"]] * 3,
        ["drugs", "basic", "0.1", "1e-6", "not private (seeded)", "recorded, not released"],
        ["trial", "basic", "0.1", "1e-6", "private", "charged, not released"],
        ["trial", "certified", "2.5", "0", "private", "charged, not released"],
        ["marks", "certified", "1", "0", "private", "released"],
        ["paper", "priscrowd", "-", "-", "no guarantee", "released"],
    ]


def test_one_dataset_alone_is_shown(book: Ledger) -> None:
    text = _told("--ledger", book.path, "--dataset", "paper")
    assert "paper" in text
    assert "drugs" not in text
    assert "Nothing is recorded about 'nobody'" in _told("--ledger", book.path, "--dataset", "nobody")


def test_json_says_the_same(book: Ledger) -> None:
    told = json.loads(_told("--ledger", book.path, "--json"), parse_constant=_refuse)
    claim = {"unit": "claim", "adjacency": "replace-one", "trust": "central"}
    user = claim | {"unit": "user"}
    drugs, trial, marks, paper = told["datasets"]
    assert drugs == {
        "dataset": "drugs",
        "spent": [
            {
                **{"scope": user, "epsilon": 0.6, "delta": 6.31554e-6, "epsilon_in_words": "0.6"},
                **{"charges": 3, "not_bounded": 0},
            },
            {
                **{"scope": claim, "epsilon": 0.3, "delta": 3e-6, "epsilon_in_words": "0.3"},
                **{"charges": 3, "not_bounded": 0},
            },
        ],
        "budget": {"epsilon": 1.0, "scope": claim},
        "left": 0.7,
        "unbounded": False,
        "without_guarantee": 0,
        "seeded": 1,
        "not_released": 0,
    }
    assert [spending["epsilon"] for spending in trial["spent"]] == [None, None, 5.1]
    assert [spending["not_bounded"] for spending in trial["spent"]] == [1, 1, 0]
    assert [spending["epsilon"] for spending in marks["spent"]] == [None, None, 1.0, 2.0]
    assert [spending["epsilon_in_words"] for spending in marks["spent"]] == ["k", "2 k", "1", "2"]
    adjacencies = [spending["scope"]["adjacency"] for spending in marks["spent"]]
    assert adjacencies == ["add-remove", "replace-one"] * 2
    assert (paper["unbounded"], paper["without_guarantee"], paper["left"]) == (True, 1, None)
    first, last = told["entries"][0], told["entries"][-1]
    assert (first["epsilon"], first["scope"], first["status"]) == (0.1, claim, "released")
    assert (last["epsilon"], last["scope"], last["privacy"]) == (None, None, "no guarantee")


def test_the_ledger_in_the_state_folder_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert "Nothing is recorded yet." in _told()
    assert json.loads(_told("--json"))["entries"] == []
    assert list(tmp_path.iterdir()) == []
    Ledger(tmp_path / "state" / "crowdveil" / "ledger.sqlite3").charge("d", CLAIM, method="m", seeded=False)
    assert len(json.loads(_told("--json"))["entries"]) == 1


@pytest.mark.parametrize("kind", ["missing", "text", "folder"])
def test_what_is_no_ledger_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path if kind == "folder" else tmp_path / "ledger"
    if kind == "text":
        path.write_text("not a ledger " * 100)
    done = CliRunner().invoke(app, ["--ledger", str(path)])
    assert isinstance(done.exception, CrowdveilError)
    assert isinstance(done.exception, InputError) or kind == "folder"
    assert str(path) in str(done.exception)
    assert str(done.exception).isprintable()
    assert done.stdout == ""


SCHEMA = '{"columns": {"object": {"values": ["o", "p"]}}}'
COMMANDS = {
    "release": ("release", "c.csv", "--method", "basic", "--epsilon", 1, "--range", "0:10", "-o", "{out}"),
    "perturb": ("perturb", "c.csv", "--epsilon", 1, "--range", "0:10", "-o", "{out}.csv"),
    "synthesize": ("synthesize", "c.csv", "--epsilon", 1, "--schema", "s.json", "-o", "{out}.csv"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_nearly_on_record_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    columns = "object\no\no\n" if command == "synthesize" else "object,user,value\no,u,1\no,v,2\n"
    Path("c.csv").write_text(columns)
    Path("s.json").write_text(SCHEMA)
    for dataset, alike in (("Trial", None), ("trial", "Trial"), ("trial", None), (" Trial ", None)):
        out = f"out{len(list(tmp_path.iterdir()))}"
        arguments = [str(argument).format(out=out) for argument in COMMANDS[command]]
        done = run(*arguments, "--dataset", dataset)
        assert done.code == 0, done.err
        assert ("the ledger knows" in done.err) == (alike is not None)
        assert alike is None or f"--dataset {alike!r}" in done.err
    totals = run("ledger", "--json").json()["datasets"]
    assert [total["dataset"] for total in totals] == ["Trial", "trial"]


def test_help_has_an_example() -> None:
    assert "Example: crowdveil ledger" in CliRunner().invoke(app, ["--help"]).stdout


def test_the_public_key_is_exported_with_its_fingerprint(book: Ledger, tmp_path: Path) -> None:
    text = _told("--ledger", book.path, "--export-key", tmp_path / "key.pem")
    key = book.key()
    assert (tmp_path / "key.pem").read_text() == key.public.to_pem()
    assert text.splitlines()[-1] == key.public.fingerprint
    told = json.loads(_told("--ledger", book.path, "--export-key", tmp_path / "again.pem", "--json"))
    assert told == {
        "ledger": str(book.path),
        "out": str(tmp_path / "again.pem"),
        "fingerprint": key.public.fingerprint,
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ledger.sqlite3.key", "would replace the key"),
        ("ledger.sqlite3", "would replace the ledger"),
        ("other.pem", "exists already"),
    ],
)
def test_an_export_replaces_nothing(book: Ledger, tmp_path: Path, name: str, words: str) -> None:
    """The private key least of all."""
    secret = book.key().to_file()
    (tmp_path / "other.pem").write_text("a key of somebody else")
    before = (tmp_path / name).read_bytes()
    done = CliRunner().invoke(app, ["--ledger", str(book.path), "--export-key", str(tmp_path / name)])
    assert isinstance(done.exception, OutputError)
    assert words in str(done.exception)
    assert secret.splitlines()[1].decode() not in done.output
    assert (tmp_path / name).read_bytes() == before


def test_a_damaged_key_is_not_in_the_way_of_the_account(book: Ledger, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3.key").write_text("not a key")
    assert "drugs" in _told("--ledger", book.path)
    done = CliRunner().invoke(app, ["--ledger", str(book.path), "--export-key", str(tmp_path / "key.pem")])
    assert isinstance(done.exception, InputError)
    assert not (tmp_path / "key.pem").exists()
