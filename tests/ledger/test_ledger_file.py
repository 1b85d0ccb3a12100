"""The file: entries that stay, for their owner's eyes only, and files that cannot be relied on."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from charging import claim, only, raw, spend, spent

from crowdveil.errors import InputError, OutputError, ParameterError
from crowdveil.guarantee import Scope
from crowdveil.ledger import Ledger, store


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def test_an_entry_holds_what_was_promised_and_no_more(book: Ledger) -> None:
    charge = spend(book, claim(0.5, 1e-6))
    assert book.entries() == [charge]
    assert charge.scope == Scope("claim", "replace-one", "central")
    assert (charge.id, charge.dataset, charge.method, charge.kind) == (
        1,
        "d",
        "basic",
        "differential privacy",
    )
    assert charge.time.endswith("+00:00")
    with raw(book) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(charges)")}
    assert columns == {
        *("id", "time", "dataset", "method", "kind", "epsilon", "delta"),
        *("unit", "adjacency", "trust", "seeded"),
    }


def test_a_charge_shows_whether_its_release_was_written(book: Ledger) -> None:
    first, second = spend(book), spend(book)
    book.completed(second)
    book.completed(second)
    assert [entry.status for entry in book.entries()] == ["charged, not released", "released"]
    total = only(book)
    assert total.not_released == 1
    assert spent(book) == Decimal("0.2")
    assert first.released is None


def test_a_charge_of_another_ledger_cannot_be_completed(book: Ledger, tmp_path: Path) -> None:
    charge = spend(book)
    other = Ledger(tmp_path / "other.sqlite3")
    with pytest.raises(ParameterError, match="no charge 1"):
        other.completed(charge)
    spend(other, dataset="e")
    with pytest.raises(ParameterError, match="no charge 1"):
        other.completed(charge)


def test_entries_are_of_one_dataset_or_of_all(book: Ledger) -> None:
    for dataset in ("a", "b", "a"):
        spend(book, dataset=dataset)
    assert [entry.id for entry in book.entries("a")] == [1, 3]
    assert [entry.id for entry in book.entries()] == [1, 2, 3]
    assert [total.dataset for total in book.totals("b")] == ["b"]


@pytest.mark.parametrize("table", ["charges", "budgets", "releases"])
def test_the_database_itself_refuses_to_change_or_remove(book: Ledger, table: str) -> None:
    book.completed(spend(book, budget=1))
    with raw(book) as db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        before = db.execute(f"SELECT * FROM {table}").fetchall()
        (row,) = before
        attempts = [
            f"UPDATE {table} SET time = 'never'",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) "
            f"VALUES ({', '.join('NULL' if value is None else repr(value) for value in row)})",
            f"REPLACE INTO {table} SELECT * FROM {table}",
        ]
        for attempt in attempts:
            with pytest.raises(sqlite3.IntegrityError, match="only added to"):
                db.execute(attempt)
        assert db.execute(f"SELECT * FROM {table}").fetchall() == before


@pytest.mark.parametrize(("epsilon", "delta"), [("-1", "0"), ("1", "-1e-3"), ("none", "0"), ("1", "x")])
def test_the_database_itself_refuses_to_give_back(book: Ledger, epsilon: str, delta: str) -> None:
    spend(book)
    with raw(book) as db, pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        db.execute(
            "INSERT INTO charges "
            "(time, dataset, method, kind, epsilon, delta, unit, adjacency, trust, seeded) "
            "VALUES ('t', 'd', 'm', 'differential privacy', ?, ?, 'claim', 'replace-one', 'central', 0)",
            (epsilon, delta),
        )


def test_a_new_ledger_and_its_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "state" / "crowdveil" / "ledger.sqlite3")
    before = os.umask(0o022)
    try:
        spend(book)
    finally:
        os.umask(before)
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    for folder in (book.path.parent, book.path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in book.path.parent.iterdir()] == ["ledger.sqlite3"]


def test_looking_at_a_ledger_that_is_not_there_creates_nothing(book: Ledger) -> None:
    assert (book.entries(), book.totals()) == ([], [])
    assert not book.path.exists()


def test_an_empty_file_becomes_a_ledger(book: Ledger) -> None:
    book.path.touch()
    assert book.totals() == []
    spend(book)
    assert len(book.entries()) == 1


def _text(book: Ledger) -> None:
    book.path.write_text("object,user,value\n" * 100)


def _another_database(book: Ledger) -> None:
    with raw(book) as db:
        db.execute("CREATE TABLE charges (id INTEGER)")


def _another_version(book: Ledger) -> None:
    spend(book)
    with raw(book) as db:
        db.execute("PRAGMA user_version = 7")


def _without_a_rule(book: Ledger) -> None:
    spend(book)
    with raw(book) as db:
        db.execute("DROP TRIGGER charges_delete")


def _without_an_entry(book: Ledger, which: int = 1) -> None:
    for _ in range(3):
        spend(book)
    with raw(book) as db:
        (rule,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'charges_delete'").fetchone()
        db.execute("DROP TRIGGER charges_delete")
        db.execute("DELETE FROM charges WHERE id = ?", (which,))
        db.execute(rule)


def _without_the_last_entry(book: Ledger) -> None:
    _without_an_entry(book, 3)


def _truncated(book: Ledger) -> None:
    spend(book)
    book.path.write_bytes(book.path.read_bytes()[:5000])


def _odd_number(book: Ledger) -> None:
    spend(book)
    with raw(book) as db:
        db.execute(
            "INSERT INTO charges "
            "(time, dataset, method, kind, epsilon, delta, unit, adjacency, trust, seeded) "
            "VALUES ('t', 'd', 'm', 'differential privacy', '1.2.3', '0', 'u', 'a', 't', 0)"
        )


NOT_LEDGERS: dict[str, tuple[Callable[[Ledger], None], str]] = {
    "text": (_text, "is not a crowdveil ledger"),
    "another database": (_another_database, "is not a crowdveil ledger"),
    "another version": (_another_version, "version 7; this crowdveil reads versions up to 3"),
    "without a rule": (_without_a_rule, "rules of this ledger were changed"),
    "without an entry": (_without_an_entry, "entries of this ledger are missing"),
    "without the last entry": (_without_the_last_entry, "entries of this ledger are missing"),
    "truncated": (_truncated, "damaged"),
    "an odd number": (_odd_number, "not a number"),
}


@pytest.mark.parametrize("kind", NOT_LEDGERS)
def test_a_file_that_cannot_be_relied_on_is_refused_and_left_alone(book: Ledger, kind: str) -> None:
    spoil, words = NOT_LEDGERS[kind]
    spoil(book)
    before = book.path.read_bytes()
    for use in (book.entries, book.totals, lambda: spend(book)):
        with pytest.raises(InputError, match=words) as refused:
            use()
        assert str(book.path) in str(refused.value)
    assert book.path.read_bytes() == before


def test_a_ledger_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "ledger.sqlite3"):
        with pytest.raises(OutputError, match=str(path)):
            spend(Ledger(path))


def test_a_ledger_in_use_is_waited_for_and_then_refused(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(book)
    monkeypatch.setattr(store, "PATIENCE", 0.1)
    with raw(book) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutputError, match="in use by another process"):
            spend(book)
        assert len(book.entries()) == 1
    spend(book)
    assert len(book.entries()) == 2


def test_odd_characters_in_a_path_are_only_a_path(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "100%?mode=ro#x" / "le dger.sqlite3")
    spend(book)
    assert len(book.entries()) == 1
    assert book.path.exists()
