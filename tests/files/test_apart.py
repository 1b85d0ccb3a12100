"""Outputs keep apart from inputs, from ledgers and their keys, and from each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdveil.errors import OutputError
from crowdveil.files import keep_apart
from crowdveil.ledger import Ledger, default_path

PARTS = ("", ".key", "-wal", "-shm", "-journal")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where we are; the state folder is elsewhere."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (here / "claims.csv").write_text("object,user,value\n")
    return here


def refuses(*outputs: Path | str | None, ledger: Path | None = None) -> str:
    with pytest.raises(OutputError) as refused:
        keep_apart(outputs, {"the input": "claims.csv", "--law": None, "--truths": "-"}, ledger=ledger)
    return str(refused.value)


def test_what_is_elsewhere_is_let_through(folder: Path) -> None:
    (folder / "copy.csv").write_bytes((folder / "claims.csv").read_bytes())
    read = {"the input": folder / "claims.csv", "--law": None, "--truths": "-"}
    keep_apart(["copy.csv", "out", "claims", "claims.csv.key", "ledger", None, "-", "-"], read)
    keep_apart(["ledger.key.csv", "ledger.csv"], read, ledger=folder / "ledger")


def test_an_input_is_kept_whatever_its_name(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "other").symlink_to("sub")
    (folder / "link.csv").symlink_to("claims.csv")
    (folder / "hard.csv").hardlink_to("claims.csv")
    for out in ("claims.csv", folder / "claims.csv", "other/../claims.csv", "link.csv", "hard.csv"):
        assert refuses("new.csv", out) == f"{out}: would replace the input; choose another place"


def test_a_link_that_is_read_is_kept(folder: Path) -> None:
    (folder / "bundle").mkdir()
    (folder / "bundle" / "claims.csv").symlink_to(folder / "claims.csv")
    for out, words in (("bundle/claims.csv", "would replace"), ("bundle", "holds"), ("claims.csv", "would")):
        with pytest.raises(OutputError, match=words):
            keep_apart([out], {"the input": "bundle/claims.csv"})


def test_a_folder_that_holds_an_input_is_refused(folder: Path) -> None:
    assert refuses(folder) == f"{folder}: holds the input; choose another place"
    (folder / "again").symlink_to(".")
    assert "holds the input" in refuses("again")


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_a_ledger_is_replaced(folder: Path, part: str, there: bool) -> None:
    real = folder / "kept" / "ledger.sqlite3"
    real.parent.mkdir()
    if there:
        Ledger(real).key()
        for name in PARTS:
            real.with_name(f"{real.name}{name}").touch()
    link = folder / "link.sqlite3"
    link.symlink_to(real)
    for ledger in (real, link, Path("kept/ledger.sqlite3")):
        assert "the ledger; choose another place" in refuses(f"kept/ledger.sqlite3{part}", ledger=ledger)
        assert "holds the ledger" in refuses("kept", ledger=ledger)
    if there:
        hard = folder / "hard"
        hard.hardlink_to(f"{real}{part}")
        assert "would replace" in refuses(hard, ledger=real)


@pytest.mark.parametrize("part", PARTS)
def test_the_ledger_in_the_state_folder_is_kept_whichever_is_charged(folder: Path, part: str) -> None:
    for ledger in (None, folder / "another"):
        assert "the ledger; choose another place" in refuses(f"{default_path()}{part}", ledger=ledger)


def test_outputs_have_places_of_their_own(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    assert refuses("b", "c", "./b") == "b: is asked for twice; each output needs a place of its own"
    assert "asked for twice" in refuses("a", "b")
    (folder / "b").write_text("")
    (folder / "d").hardlink_to("b")
    assert "asked for twice" in refuses("b", "d")


def test_a_loop_of_links_and_a_missing_home_are_no_crash(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x").symlink_to("y")
    (folder / "y").symlink_to("x")
    keep_apart(["x"], {"the input": "claims.csv"})
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    keep_apart(["z"], {"the input": "claims.csv"})
