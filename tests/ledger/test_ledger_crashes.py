"""Processes that race, and processes that are killed: the ledger never shows less than was released.

Run as a script, this file is what the tests start and kill: `test_ledger_crashes.py crash|race FILE ...`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path

import pytest
from charging import TENTH, only, raw, spend, spent

from crowdveil.ledger import BudgetExceeded, Ledger

KILLS, ENOUGH = 200, 10


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


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
    assert min(got) >= 1  # each took one before any of them took a second
    assert only(book).left == 0
    assert len(book.entries()) == 10


def test_killed_at_any_moment_the_ledger_never_shows_less_than_was_released(book: Ledger) -> None:
    charged, released = _crash(book, "charge-first")
    assert released <= charged
    assert len(charged - released) >= ENOUGH, "too few were killed between charge and release to say anything"
    assert len(released) >= ENOUGH
    assert spent(book) == Decimal("0.1") * len(charged)
    for entry in book.entries():
        assert entry.released is None or entry.method in released
    spend(book)


def test_the_crash_test_would_notice_a_release_before_its_charge(book: Ledger) -> None:
    charged, released = _crash(book, "release-first")
    assert released - charged


def _crash(book: Ledger, order: str) -> tuple[set[str], set[str]]:
    """What was charged and what was released after 200 kills, or more on a slow machine."""
    assert int(_run("crash", book.path, order)) >= KILLS
    with raw(book) as db:
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
    """Fork runners that all take tenths until they are refused, from a ledger that is not there yet.

    They meet twice: all of them start at once, and none takes a second tenth before each has its first.
    """
    meet = get_context("fork").Barrier(runners, timeout=60)

    def take() -> int:
        got = 0
        while True:
            if got < 2:
                meet.wait()
            try:
                spend(book, budget=1.0)
            except BudgetExceeded:
                return 100 + got
            got += 1

    children = [_fork(take) for _ in range(runners)]
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


def _kill_again_and_again(book: Ledger, order: str) -> None:
    """Four processes at a time that charge and release, each killed at a moment of its own.

    It goes on until enough were killed between charge and release.
    """
    _released_folder(book).mkdir()
    moments = random.Random(1)
    killed = 0
    while killed < KILLS or (killed < 10 * KILLS and _between(book) < ENOUGH):
        children = [_fork(lambda: _release_for_ever(book, order)) for _ in range(4)]
        for child in children:
            time.sleep(moments.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
        for child in children:
            status = os.waitpid(child, 0)[1]
            killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    print(killed)


def _between(book: Ledger) -> int:
    """How many did one of both and not the other."""
    return abs(len(book.entries()) - len(list(_released_folder(book).iterdir())))


if __name__ == "__main__":
    if sys.argv[1] == "race":
        _race(Ledger(sys.argv[2]), int(sys.argv[3]))
    else:
        _kill_again_and_again(Ledger(sys.argv[2]), sys.argv[3])
