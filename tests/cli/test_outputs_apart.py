"""What is written replaces no input and no part of a ledger: commands refuse that before they charge."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Ran, Run
from crowdveil.ledger import Ledger, default_path

PARTS = ("", ".key", "-wal", "-shm", "-journal")
LAPLACE = ("--range", "0:10", "--epsilon", "1")
CELLS = ("--range", "0:10", "--epsilon", "1", "--mechanism", "rr")


@pytest.fixture
def folder(run: Run, claims_csv: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with claims, records, their schema, noisy claims, and a ledger with one charge."""
    monkeypatch.chdir(claims_csv.parent)
    run("simulate", "records", "--rows", 50, "--columns", 2, "-o", "records.csv", "--schema", "schema.json")
    Path("objects.txt").write_text("".join(f"{name}\n" for name in ("a", "b")))
    assert run("perturb", "claims.csv", "-o", "noisy.csv", *LAPLACE, "--ledger", "book").code == 0
    return claims_csv.parent


def state(folder: Path) -> dict[Path, bytes]:
    """All files in a folder, and the default ledger's."""
    roots = (folder, default_path().parent)
    return {path: path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()}


def refused(run: Run, folder: Path, *arguments: object) -> Ran:
    """The command, which is refused in one line and changes nothing."""
    before, entries = state(folder), Ledger(folder / "book").entries()
    done = run(*arguments)
    assert done.code == 2, arguments
    assert done.err.count("\n") == 1
    assert "choose another place" in done.err or "place of its own" in done.err
    assert state(folder) == before
    assert Ledger(folder / "book").entries() == entries
    return done


@pytest.mark.parametrize(
    "command",
    [
        ("perturb", "claims.csv", *LAPLACE),
        ("perturb", "claims.csv", *CELLS),
        ("synthesize", "records.csv", "--schema", "schema.json", "--epsilon", "1"),
        ("release", "claims.csv", *LAPLACE, "--unit", "claim", "--insist"),
    ],
    ids=["perturb", "cells", "synthesize", "release"],
)
def test_the_ledger_that_is_charged_is_kept(run: Run, folder: Path, command: tuple[str, ...]) -> None:
    for part in PARTS:
        refused(run, folder, *command, "--ledger", "book", "-o", f"book{part}", "--force")
        refused(run, folder, *command, "--ledger", "new", "-o", f"new{part}")  # there is no such ledger yet
    refused(run, folder, *command, "-o", default_path())


@pytest.mark.parametrize(
    "command",
    [
        ("discover", "claims.csv"),
        ("simulate", "claims"),
        ("simulate", "sensing"),
        ("simulate", "sparse"),
        ("simulate", "records"),
        ("evaluate", "records.csv", "--real", "records.csv", "--schema", "schema.json"),
        ("plan", "sensing", *LAPLACE, "--users", "9", "--objects", "3"),
    ],
    ids=" ".join,
)
def test_commands_that_charge_nothing_keep_the_default_ledger(
    run: Run, folder: Path, command: tuple[str, ...]
) -> None:
    assert run("perturb", "claims.csv", "-o", "more.csv", *LAPLACE).code == 0
    out: Path | str = default_path()
    if command[0] in ("evaluate", "plan"):
        out = "page.svg"
        Path(out).symlink_to(default_path())
    refused(run, folder, *command, "-o", out, "--force")


def test_a_private_folder_is_not_put_where_the_ledger_is(run: Run, folder: Path) -> None:
    release = ("release", "claims.csv", *LAPLACE, "--unit", "claim", "--insist")
    refused(run, folder, *release, "-o", "out", "--ledger", "out-private", "--force")
    refused(run, folder, *release, "-o", "out", "--ledger", "out-private/ledger", "--force")
    refused(run, folder, *release, "-o", "out", "--ledger", "out/ledger", "--force")


def test_a_key_is_not_exported_over_a_part_of_the_ledger(run: Run, folder: Path) -> None:
    for part in PARTS:
        refused(run, folder, "ledger", "--ledger", "book", "--export-key", f"book{part}")


def test_an_input_is_never_replaced(run: Run, folder: Path) -> None:
    Path("noisy.weights.csv").write_bytes(Path("noisy.csv").read_bytes())
    Path("hard.csv").hardlink_to("claims.csv")
    Path("page.html").hardlink_to("records.csv")
    known = "object,value\n" + "".join(f"{i},5\n" for i in range(6))
    Path("known.csv").write_text(known)
    cells = ("perturb", "claims.csv", *CELLS, "--ledger", "book")
    made = ("synthesize", "records.csv", "--schema", "schema.json", "--epsilon", "1", "--ledger", "book")
    real = ("--real", "records.csv", "--schema", "schema.json")
    Path("objects.parquet").hardlink_to("objects.txt")
    for command in (
        ("discover", "noisy.weights.csv", "-o", "noisy.csv"),
        ("discover", "claims.csv", "-o", "claims.csv"),
        ("discover", "claims.csv", "-o", "hard.csv"),
        ("discover", "claims.csv", "--law", "noisy.csv", "-o", "noisy.csv"),
        ("discover", "claims.csv", "--truths", "known.csv", "-o", "known.csv"),
        ("perturb", "claims.csv", *LAPLACE, "--ledger", "book", "-o", "hard.csv"),
        (*cells, "--objects", "objects.txt", "-o", "objects.parquet"),
        (*cells, "--users", "objects.txt", "-o", "objects.parquet"),
        (*made, "-o", "records.csv"),
        (*made, "-o", "schema.json"),
        ("evaluate", "records.csv", *real, "-o", "page.html"),
    ):
        refused(run, folder, *command, "--force")


def test_a_bundle_does_not_take_the_place_of_what_it_is_made_from(run: Run, folder: Path) -> None:
    for name in ("old", "lists"):
        Path(name).mkdir()
    Path("old/claims.csv").write_bytes(Path("claims.csv").read_bytes())
    names = sorted({line.split(",")[0] for line in Path("claims.csv").read_text().splitlines()[1:]})
    Path("lists/claims.csv").write_text("\n".join(names))
    options = ("--unit", "claim", "--insist", "--ledger", "book", "--force")
    refused(run, folder, "release", "old/claims.csv", *LAPLACE, *options, "-o", "old")
    lists = ("--objects", "lists/claims.csv", "--adjacency", "add-remove")
    refused(run, folder, "release", "claims.csv", *LAPLACE, *lists, *options, "-o", "lists")


def test_two_outputs_are_two_files(run: Run, folder: Path) -> None:
    Path("sub").mkdir()
    Path("link.csv").symlink_to("new.csv")
    for kind in ("claims", "sensing", "sparse"):
        for truths in ("new.csv", "./new.csv", "sub/../new.csv", folder / "new.csv"):
            refused(run, folder, "simulate", kind, "-o", "new.csv", "--truths", truths)
    refused(run, folder, "simulate", "claims", "-o", "link.csv", "--truths", "new.csv", "--force")
    refused(run, folder, "simulate", "records", "-o", "new.json", "--schema", "sub/../new.json")
    refused(run, folder, "simulate", "sparse", "-o", "users.txt", "--lists")
