"""Names: of the file, and of datasets as they are compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from charging import spend

from crowdveil.errors import ParameterError
from crowdveil.ledger import BudgetExceeded, Ledger, dataset_key, default_path


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def test_the_default_is_in_the_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert default_path() == Path("/var/state/crowdveil/ledger.sqlite3")
    for unusable in ("", "relative/state"):
        monkeypatch.setenv("XDG_STATE_HOME", unusable)
        assert default_path() == Path("/home/somebody/.local/state/crowdveil/ledger.sqlite3")


def test_a_dataset_is_known_by_its_name_or_its_real_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claims.csv").touch()
    (tmp_path / "link.csv").symlink_to("claims.csv")
    monkeypatch.chdir(tmp_path)
    real = os.path.realpath(tmp_path / "claims.csv")
    assert dataset_key(None, "link.csv") == dataset_key(None, str(tmp_path / "." / "claims.csv")) == real
    assert dataset_key("trial", "link.csv") == dataset_key("trial", "-") == "trial"
    assert dataset_key("cafe\u0301", "-") == "caf\u00e9"
    with pytest.raises(ParameterError, match="--dataset NAME"):
        dataset_key(None, "-")


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "\x1b[2J", "\udc80"])
def test_a_name_that_cannot_be_shown_is_refused(book: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="--dataset NAME"):
        dataset_key(name, "-")
    with pytest.raises(ParameterError):
        spend(book, dataset=name)


def test_names_are_compared_as_nfc(book: Ledger) -> None:
    spend(book, dataset="caf\u00e9", budget=0.1)
    with pytest.raises(BudgetExceeded):
        spend(book, dataset="cafe\u0301")
    assert len(book.entries("cafe\u0301")) == 1
