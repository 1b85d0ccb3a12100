"""Names: of the file, and of datasets as they are compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from charging import raw, spend

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


def test_what_is_no_regular_file_needs_a_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    reading, writing = os.pipe()
    with (tmp_path / "gone.csv").open("w") as gone:
        (tmp_path / "gone.csv").unlink()
        for source in (
            str(tmp_path / "pipe"),
            str(tmp_path / "link"),
            f"/dev/fd/{reading}",
            f"/proc/self/fd/{writing}",
            f"/dev/fd/{gone.fileno()}",
            "/dev/null",
            str(tmp_path),
            "table:claims",
            "s3://bucket/claims",
        ):
            with pytest.raises(ParameterError, match=f"{source}: this is not a regular file.*--dataset NAME"):
                dataset_key(None, source)
            assert dataset_key("trial", source) == "trial"
    os.close(reading)
    os.close(writing)


def test_a_file_that_was_opened_is_known_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").touch()
    with (tmp_path / "claims.csv").open() as opened:
        real = os.path.realpath(tmp_path / "claims.csv")
        assert dataset_key(None, f"/dev/fd/{opened.fileno()}") == real


def test_hard_links_are_one_file_with_one_budget(book: Ledger, tmp_path: Path) -> None:
    one, two, copy = (tmp_path / name for name in ("one.csv", "two.csv", "copy.csv"))
    one.write_text("a")
    copy.write_text("a")
    two.hardlink_to(one)
    (tmp_path / "link.csv").symlink_to(two)
    first = spend(book, dataset=dataset_key(None, str(one)), budget=0.2)
    second = spend(book, dataset=dataset_key(None, str(tmp_path / "link.csv")))
    assert first.dataset == second.dataset == str(one)
    book.completed(second)
    with pytest.raises(BudgetExceeded):
        spend(book, dataset=dataset_key(None, str(two)))
    assert book.entries(str(two)) == book.entries(str(one)) == book.entries()
    assert [total.left for total in book.totals(str(two))] == [0]
    assert spend(book, dataset=dataset_key(None, str(copy))).dataset == str(copy)
    # A name is a name, also where there is a file of that name.
    assert spend(book, dataset="two.csv").dataset == "two.csv"


def test_a_path_that_was_charged_keeps_its_account_whatever_lies_there(book: Ledger, tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.touch()
    two.touch()
    spend(book, dataset=str(one))
    spend(book, dataset=str(two))
    two.unlink()
    two.hardlink_to(one)
    assert spend(book, dataset=str(two)).dataset == str(two)
    one.unlink()
    assert spend(book, dataset=str(one)).dataset == str(one)


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


@pytest.mark.parametrize("spelled", ["north  side", " north side", "north side ", "  north   side  "])
def test_blanks_open_no_other_account(book: Ledger, spelled: str) -> None:
    assert dataset_key(spelled, "-") == "north side"
    spend(book, dataset="north side", budget=0.1)
    with pytest.raises(BudgetExceeded):
        spend(book, dataset=spelled)
    assert len(book.entries(spelled)) == 1


def test_names_that_were_kept_with_blanks_stay_found(book: Ledger) -> None:
    _written_before(book, "north  side ")
    for spelled in ("north side", "north  side ", "north  side"):
        assert spend(book, dataset=spelled).dataset == "north  side "
        assert book.totals(spelled) == book.totals()
    assert len(book.entries()) == 4


def test_a_hard_link_of_a_decomposed_path_is_found(book: Ledger, tmp_path: Path) -> None:
    one, two = tmp_path / "cafe\u0301.csv", tmp_path / "two.csv"
    one.touch()
    two.hardlink_to(one)
    first = spend(book, dataset=dataset_key(None, str(one)), budget=0.1)
    assert first.dataset == str(one)  # as the file system spells it
    with pytest.raises(BudgetExceeded):
        spend(book, dataset=dataset_key(None, str(two)))
    assert book.entries(str(two)) == book.entries(str(tmp_path / "caf\u00e9.csv")) == book.entries()


def test_paths_that_were_kept_composed_stay_found(book: Ledger, tmp_path: Path) -> None:
    one, two = tmp_path / "cafe\u0301.csv", tmp_path / "two.csv"
    one.touch()
    two.hardlink_to(one)
    composed = str(tmp_path / "caf\u00e9.csv")
    _written_before(book, composed)
    for path in (one, two):
        assert spend(book, dataset=dataset_key(None, str(path))).dataset == composed


def test_blanks_in_paths_tell_files_apart(book: Ledger, tmp_path: Path) -> None:
    for name in ("a b.csv", "a  b.csv", "a b.csv "):
        (tmp_path / name).touch()
        key = dataset_key(None, str(tmp_path / name))
        assert spend(book, dataset=key).dataset == key == str(tmp_path / name)
    assert len(book.totals()) == 3


def test_names_that_differ_by_case_are_told(book: Ledger) -> None:
    assert book.named_alike("trial") is None
    assert not book.path.exists()
    spend(book, dataset="Trial")
    spend(book, dataset="/data/Trial")
    assert book.named_alike("trial") == book.named_alike(" TRIAL ") == "Trial"
    assert book.named_alike("\uff34rial") == "Trial"  # a T of full width
    assert book.named_alike("Trial") is book.named_alike("trials") is book.named_alike("/data/trial") is None
    spend(book, dataset="trial")
    assert book.named_alike("trial") is None  # it has its account


def _written_before(book: Ledger, dataset: str) -> None:
    """A charge under a name that is kept otherwise today."""
    spend(book, dataset="today")
    with raw(book) as db:
        (rule,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'charges_update'").fetchone()
        db.execute("DROP TRIGGER charges_update")
        db.execute("UPDATE charges SET dataset = ?", (dataset,))
        db.execute(rule)
