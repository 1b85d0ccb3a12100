"""The ledger: exact sums, a budget that holds, entries that stay, whatever is killed in between.

Run as a script, this file is what the tests start and kill: `test_ledger.py crash|race FOLDER ...`.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil import ledger as ledger_module
from crowdveil.errors import CrowdveilError, InputError, OutputError, ParameterError
from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.ledger import BudgetExceeded, Charge, Ledger, Scope, Total, dataset_key, default_path, plain

TENTH = Guarantee(0.1, 0.0, "claim", "replace-one", "central")
OTHER_SCOPES = [
    Guarantee(0.1, 0.0, "user", "replace-one", "central"),
    Guarantee(0.1, 0.0, "claim", "add-remove", "central"),
    Guarantee(0.1, 0.0, "claim", "replace-one", "local"),
]
WITHOUT = [NoGuarantee("draws repeat"), Deniability(5, 4.0, "1, all weights are equal", "draws repeat")]


def _spend(
    book: Ledger,
    promise: Promise = TENTH,
    *,
    dataset: str = "d",
    seeded: bool = False,
    budget: float | None = None,
) -> Charge:
    return book.charge(dataset, promise, method="basic", seeded=seeded, budget=budget)


def _claim(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", "replace-one", "central")


def _only(book: Ledger) -> Total:
    (total,) = book.totals()
    return total


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def _raw(book: Ledger) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(book.path, isolation_level=None))


# Sums and budgets


def test_ten_tenths_fit_a_budget_of_one_and_an_eleventh_does_not(book: Ledger) -> None:
    for _ in range(10):
        _spend(book, budget=1.0)
    with pytest.raises(BudgetExceeded, match=r"'d', epsilon 1 .* 1 is spent and this release costs 0\.1"):
        _spend(book)
    total = _only(book)
    assert total.spent[0].epsilon == total.budget.epsilon == 1  # type: ignore[union-attr]
    assert total.left == 0
    assert len(book.entries()) == 10


@settings(max_examples=25, deadline=None)
@given(
    costs=st.lists(st.floats(0, 1e6) | st.decimals(0, 3, places=2).map(float), min_size=1, max_size=6),
    fits=st.booleans(),
)
def test_a_sum_is_exact_and_a_budget_holds_to_the_last_digit(costs: list[float], fits: bool) -> None:
    exact = sum(Fraction(repr(cost)) for cost in costs)
    budget = float(exact)
    if Fraction(repr(budget)) < exact:
        fits = False
    elif not fits:
        budget = budget * 0.999999
    if not budget > 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "ledger.sqlite3")
        for cost in costs[:-1]:
            _spend(book, _claim(cost))
        if fits:
            _spend(book, _claim(costs[-1]), budget=budget)
            assert Fraction(_only(book).spent[0].epsilon) == exact
        else:
            with pytest.raises(BudgetExceeded):
                _spend(book, _claim(costs[-1]), budget=budget)
            assert len(book.entries()) == len(costs) - 1


def test_numbers_of_any_size_add_up_without_loss(book: Ledger) -> None:
    _spend(book, _claim(1e300))
    _spend(book, _claim(1e-300))
    assert Fraction(_only(book).spent[0].epsilon) == Fraction("1e300") + Fraction("1e-300")
    with pytest.raises(BudgetExceeded):
        _spend(book, _claim(0.0), budget=1e300)


def test_deltas_are_added_too(book: Ledger) -> None:
    for _ in range(3):
        _spend(book, _claim(0.5, 1e-6), budget=10)
    assert _only(book).spent[0].delta == Decimal("0.000003")


def test_deltas_that_add_up_to_one_void_a_total(book: Ledger) -> None:
    _spend(book, _claim(0.1, 0.5), dataset="with", budget=10)
    with pytest.raises(BudgetExceeded, match="deltas"):
        _spend(book, _claim(0.1, 0.5), dataset="with")
    _spend(book, _claim(0.1, 0.5), dataset="without")
    assert not any(total.unbounded for total in book.totals())
    _spend(book, _claim(0.1, 0.5), dataset="without")
    assert [total.unbounded for total in book.totals()] == [False, True]


def test_a_seeded_run_is_recorded_as_not_private_and_adds_nothing(book: Ledger) -> None:
    _spend(book, _claim(0.9), budget=1.0)
    charge = _spend(book, _claim(5.0), seeded=True)
    assert (charge.seeded, charge.privacy) == (True, "not private (seeded)")
    total = _only(book)
    assert (total.seeded, total.left, total.unbounded) == (1, Decimal("0.1"), False)
    assert [entry.epsilon for entry in book.entries()] == [Decimal("0.9"), Decimal("5.0")]


@pytest.mark.parametrize("promise", WITHOUT)
def test_a_release_without_a_guarantee_makes_the_total_unbounded_for_good(
    book: Ledger, promise: Promise
) -> None:
    assert _spend(book, promise).privacy == "no guarantee"
    _spend(book)
    total = _only(book)
    assert total.unbounded
    assert total.without_guarantee == 1
    assert total.spent[0].epsilon == Decimal("0.1")
    with pytest.raises(BudgetExceeded, match="void"):
        _spend(book, budget=100)
    assert _only(book).budget is None
    assert not Ledger(book.path).totals("another")


@pytest.mark.parametrize("promise", WITHOUT)
def test_a_budget_cannot_hold_a_release_without_a_guarantee(book: Ledger, promise: Promise) -> None:
    with pytest.raises(ParameterError, match="promises none"):
        _spend(book, promise, budget=1)
    _spend(book, budget=1)
    with pytest.raises(BudgetExceeded, match="cannot hold"):
        _spend(book, promise)
    assert len(book.entries()) == 1
    _spend(book, promise, seeded=True)
    assert not _only(book).unbounded


def test_scopes_are_totalled_apart(book: Ledger) -> None:
    for promise in [TENTH, *OTHER_SCOPES, TENTH]:
        _spend(book, promise)
    assert [(spending.epsilon, spending.charges) for spending in _only(book).spent] == [
        (Decimal("0.2"), 2),
        *[(Decimal("0.1"), 1)] * 3,
    ]


@pytest.mark.parametrize("other", OTHER_SCOPES)
def test_a_budget_refuses_what_it_cannot_count(book: Ledger, other: Guarantee) -> None:
    _spend(book, dataset="first", budget=1)
    with pytest.raises(ParameterError, match="does not count") as refused:
        _spend(book, other, dataset="first")
    assert not isinstance(refused.value, BudgetExceeded)
    _spend(book, other, dataset="later")
    with pytest.raises(ParameterError, match="would not count"):
        _spend(book, dataset="later", budget=1)
    assert [entry.dataset for entry in book.entries()] == ["first", "later"]


def test_the_first_budget_stands(book: Ledger) -> None:
    _spend(book, budget=1)
    _spend(book, budget=1.0)
    for budget in (2, 0.5):
        with pytest.raises(ParameterError, match="stands at epsilon 1 for each claim, replace-one, central"):
            _spend(book, budget=budget)
    with pytest.raises(ParameterError, match="stands"):
        _spend(book, OTHER_SCOPES[0], budget=1)
    _spend(book, dataset="another", budget=2)
    assert [total.left for total in book.totals()] == [Decimal("0.8"), Decimal("1.9")]


def test_a_refused_charge_declares_nothing(book: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        _spend(book, _claim(3.0), budget=2)
    assert book.entries() == []
    _spend(book, _claim(3.0), budget=4)
    assert _only(book).left == 1


def test_what_was_spent_before_counts_against_a_later_budget(book: Ledger) -> None:
    _spend(book, _claim(0.7))
    with pytest.raises(BudgetExceeded):
        _spend(book, _claim(0.4), budget=1)
    _spend(book, _claim(0.3), budget=1)
    assert _only(book).left == 0


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bad_budget_is_refused(book: Ledger, budget: float) -> None:
    with pytest.raises(ParameterError, match="budget must be a number above 0"):
        _spend(book, budget=budget)
    assert book.entries() == []


def test_an_exceeded_budget_is_the_callers_to_mend() -> None:
    assert issubclass(BudgetExceeded, ParameterError)
    assert issubclass(BudgetExceeded, CrowdveilError)


# Entries


def test_an_entry_holds_what_was_promised_and_no_more(book: Ledger) -> None:
    charge = _spend(book, _claim(0.5, 1e-6))
    assert book.entries() == [charge]
    assert charge.scope == Scope("claim", "replace-one", "central")
    assert (charge.id, charge.dataset, charge.method, charge.kind) == (
        1,
        "d",
        "basic",
        "differential privacy",
    )
    assert charge.time.endswith("+00:00")
    with _raw(book) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(charges)")}
    assert columns == {
        *("id", "time", "dataset", "method", "kind", "epsilon", "delta"),
        *("unit", "adjacency", "trust", "seeded"),
    }


def test_a_charge_shows_whether_its_release_was_written(book: Ledger) -> None:
    first, second = _spend(book), _spend(book)
    book.completed(second)
    book.completed(second)
    assert [entry.status for entry in book.entries()] == ["charged, not released", "released"]
    total = _only(book)
    assert total.not_released == 1
    assert total.spent[0].epsilon == Decimal("0.2")
    assert first.released is None


def test_a_charge_of_another_ledger_cannot_be_completed(book: Ledger, tmp_path: Path) -> None:
    charge = _spend(book)
    other = Ledger(tmp_path / "other.sqlite3")
    with pytest.raises(ParameterError, match="no charge 1"):
        other.completed(charge)
    _spend(other, dataset="e")
    with pytest.raises(ParameterError, match="no charge 1"):
        other.completed(charge)


def test_entries_are_of_one_dataset_or_of_all(book: Ledger) -> None:
    for dataset in ("a", "b", "a"):
        _spend(book, dataset=dataset)
    assert [entry.id for entry in book.entries("a")] == [1, 3]
    assert [entry.id for entry in book.entries()] == [1, 2, 3]
    assert [total.dataset for total in book.totals("b")] == ["b"]


@pytest.mark.parametrize("table", ["charges", "budgets", "releases"])
def test_the_database_itself_refuses_to_change_or_remove(book: Ledger, table: str) -> None:
    book.completed(_spend(book, budget=1))
    with _raw(book) as db:
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
    _spend(book)
    with _raw(book) as db, pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        db.execute(
            "INSERT INTO charges "
            "(time, dataset, method, kind, epsilon, delta, unit, adjacency, trust, seeded) "
            "VALUES ('t', 'd', 'm', 'differential privacy', ?, ?, 'claim', 'replace-one', 'central', 0)",
            (epsilon, delta),
        )


# Files and names


def test_a_new_ledger_and_its_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "state" / "crowdveil" / "ledger.sqlite3")
    before = os.umask(0o022)
    try:
        _spend(book)
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
    _spend(book)
    assert len(book.entries()) == 1


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
        _spend(book, dataset=name)


def test_names_are_compared_as_nfc(book: Ledger) -> None:
    _spend(book, dataset="caf\u00e9", budget=0.1)
    with pytest.raises(BudgetExceeded):
        _spend(book, dataset="cafe\u0301")
    assert len(book.entries("cafe\u0301")) == 1


def _text(book: Ledger) -> None:
    book.path.write_text("object,user,value\n" * 100)


def _another_database(book: Ledger) -> None:
    with _raw(book) as db:
        db.execute("CREATE TABLE charges (id INTEGER)")


def _another_version(book: Ledger) -> None:
    _spend(book)
    with _raw(book) as db:
        db.execute("PRAGMA user_version = 7")


def _without_a_rule(book: Ledger) -> None:
    _spend(book)
    with _raw(book) as db:
        db.execute("DROP TRIGGER charges_delete")


def _without_an_entry(book: Ledger, which: int = 1) -> None:
    for _ in range(3):
        _spend(book)
    with _raw(book) as db:
        (rule,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'charges_delete'").fetchone()
        db.execute("DROP TRIGGER charges_delete")
        db.execute("DELETE FROM charges WHERE id = ?", (which,))
        db.execute(rule)


def _without_the_last_entry(book: Ledger) -> None:
    _without_an_entry(book, 3)


def _truncated(book: Ledger) -> None:
    _spend(book)
    book.path.write_bytes(book.path.read_bytes()[:5000])


def _odd_number(book: Ledger) -> None:
    _spend(book)
    with _raw(book) as db:
        db.execute(
            "INSERT INTO charges "
            "(time, dataset, method, kind, epsilon, delta, unit, adjacency, trust, seeded) "
            "VALUES ('t', 'd', 'm', 'differential privacy', '1.2.3', '0', 'u', 'a', 't', 0)"
        )


NOT_LEDGERS: dict[str, tuple[Callable[[Ledger], None], str]] = {
    "text": (_text, "is not a crowdveil ledger"),
    "another database": (_another_database, "is not a crowdveil ledger"),
    "another version": (_another_version, "version 7; this crowdveil reads version 1"),
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
    for use in (book.entries, book.totals, lambda: _spend(book)):
        with pytest.raises(InputError, match=words) as refused:
            use()
        assert str(book.path) in str(refused.value)
    assert book.path.read_bytes() == before


def test_a_ledger_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "ledger.sqlite3"):
        with pytest.raises(OutputError, match=str(path)):
            _spend(Ledger(path))


def test_a_ledger_in_use_is_waited_for_and_then_refused(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    _spend(book)
    monkeypatch.setattr(ledger_module, "PATIENCE", 0.1)
    with _raw(book) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutputError, match="in use by another process"):
            _spend(book)
        assert len(book.entries()) == 1
    _spend(book)
    assert len(book.entries()) == 2


def test_odd_characters_in_a_path_are_only_a_path(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "100%?mode=ro#x" / "le dger.sqlite3")
    _spend(book)
    assert len(book.entries()) == 1
    assert book.path.exists()


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("1.0", "1"),
        ("0.30", "0.3"),
        ("100", "100"),
        ("0.000001", "1e-6"),
        ("0", "0"),
        ("1e300", "1e+300"),
        ("1.00000000000000000000000000000001", "1.00000000000000000000000000000001"),
    ],
)
def test_numbers_are_shown_in_full(number: str, shown: str) -> None:
    assert plain(Decimal(number)) == shown


# Processes that race, and processes that are killed


def _run(*arguments: object) -> str:
    command = [sys.executable, "-W", "error", __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_of_processes_that_race_exactly_ten_get_a_tenth(book: Ledger) -> None:
    got = [int(count) for count in _run("race", book.path, 8).split()]
    assert len(got) == 8
    assert sum(got) == 10
    assert sum(count > 0 for count in got) > 1, "one process got everything: there was no race"
    assert _only(book).left == 0
    assert len(book.entries()) == 10


def test_killed_at_any_moment_the_ledger_never_shows_less_than_was_released(book: Ledger) -> None:
    charged, released = _crash(book, "charge-first")
    assert released <= charged
    assert len(charged - released) >= 10, "too few were killed between charge and release to say anything"
    assert len(released) >= 10
    assert _only(book).spent[0].epsilon == Decimal("0.1") * len(charged)
    for entry in book.entries():
        assert entry.released is None or entry.method in released
    _spend(book)


def test_the_crash_test_would_notice_a_release_before_its_charge(book: Ledger) -> None:
    charged, released = _crash(book, "release-first")
    assert released - charged


def _crash(book: Ledger, order: str) -> tuple[set[str], set[str]]:
    """What was charged and what was released after 200 kills."""
    assert _run("crash", book.path, order, 200).split() == ["200"]
    with _raw(book) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    charged = [entry.method for entry in book.entries()]
    assert len(set(charged)) == len(charged)
    return set(charged), {path.name for path in _released_folder(book).iterdir()}


def _released_folder(book: Ledger) -> Path:
    return book.path.with_name("released")


def _fork(work: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    return child


def _race(book: Ledger, runners: int) -> None:
    """Fork runners that all take tenths until they are refused, from a ledger that is not there yet."""
    gate, starter = os.pipe()

    def take() -> int:
        os.close(starter)
        os.read(gate, 1)  # returns when the starter is closed
        got = 0
        while True:
            try:
                _spend(book, budget=1.0)
            except BudgetExceeded:
                return 100 + got
            got += 1
            time.sleep(0.005)  # let the others have a go

    children = [_fork(take) for _ in range(runners)]
    os.close(starter)
    for child in children:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) - 100)


def _release_for_ever(book: Ledger, order: str) -> int:
    mine = random.Random(os.getpid())
    number = 0
    while True:
        name = f"{os.getpid()}-{number}"
        number += 1
        if order == "release-first":
            (_released_folder(book) / name).touch()
            time.sleep(mine.uniform(0, 0.004))
        charge = book.charge("d", TENTH, method=name, seeded=False)
        if order == "charge-first":
            time.sleep(mine.uniform(0, 0.004))
            (_released_folder(book) / name).touch()
        book.completed(charge)


def _kill_again_and_again(book: Ledger, order: str, kills: int) -> None:
    """Four processes at a time that charge and release, each killed at a moment of its own."""
    _released_folder(book).mkdir()
    moments = random.Random(1)
    killed = 0
    while killed < kills:
        children = [_fork(lambda: _release_for_ever(book, order)) for _ in range(4)]
        for child in children:
            time.sleep(moments.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
        for child in children:
            status = os.waitpid(child, 0)[1]
            killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    print(killed)


if __name__ == "__main__":
    if sys.argv[1] == "race":
        _race(Ledger(sys.argv[2]), int(sys.argv[3]))
    else:
        _kill_again_and_again(Ledger(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
