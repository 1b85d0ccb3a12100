"""One of all candidates does the background work; what a former one writes is not kept."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from crowdveil.service import election
from crowdveil.service.election import Election, Lost
from crowdveil.service.store import times
from crowdveil.service.store.database import Database
from stores import migrated, opened

HOLDER = """
import sys, time
from crowdveil.service.election import Election
from crowdveil.service.store.database import Database
candidate = Election(Database(sys.argv[1]))
print(candidate.beat(), flush=True)
while True:
    time.sleep(0.1)
    candidate.beat()
"""


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(election, "PATIENCE", 0.5)
    return 0.5


def test_one_of_two_is_elected_and_stays(store: Database) -> None:
    first, second = Election(store), Election(store)
    assert first.beat()
    for _ in range(5):
        assert not second.beat()
        assert first.beat()
    assert (first.elected, second.elected) == (True, False)


def test_who_resigns_is_followed_at_once(store: Database) -> None:
    first, second = Election(store), Election(store)
    first.beat()
    assert not second.beat()
    first.resign()
    assert second.beat()
    assert not first.beat()
    first.resign()  # no longer the holder: nothing to give away
    assert second.beat()


def test_a_holder_who_beats_is_never_replaced_however_long_it_lasts(
    store: Database, impatient: float
) -> None:
    first, second = Election(store), Election(store)
    assert first.beat()
    until = time.monotonic() + 3 * impatient
    while time.monotonic() < until:
        assert not second.beat()
        assert first.beat()
        time.sleep(0.05)


@pytest.mark.no_cover
def test_a_holder_who_is_killed_is_replaced(store: Database, database: str, impatient: float) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, database], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    candidate = Election(store)
    assert not candidate.beat()
    holder.kill()
    holder.communicate()
    killed = time.monotonic()
    while not candidate.beat():
        assert time.monotonic() < killed + 20
        time.sleep(0.02)
    assert time.monotonic() > killed + 0.5 * impatient


def test_what_a_stalled_holder_writes_is_not_kept(store: Database, impatient: float) -> None:
    stalled, second = Election(store), Election(store)
    stalled.beat()
    second.beat()
    time.sleep(1.2 * impatient)
    assert second.beat()
    assert stalled.elected  # it does not know yet

    def write() -> None:
        with store.writing() as connection:
            connection.exec_driver_sql("INSERT INTO operators (name, created) VALUES ('x', 'y')")
            stalled.fenced(connection)

    with pytest.raises(Lost):
        write()
    assert not stalled.beat()
    with store.writing() as connection:
        second.fenced(connection)
        assert connection.exec_driver_sql("SELECT count(*) FROM operators").scalar_one() == 0


def test_nobody_writes_before_an_election(store: Database) -> None:
    candidate = Election(store)
    with store.writing() as connection, pytest.raises(Lost):
        candidate.fenced(connection)


def test_clocks_do_not_matter(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Election(store), Election(store)
    assert first.beat()
    for clock in ("1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"):
        monkeypatch.setattr(times, "now", lambda clock=clock: clock)
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert not second.beat()
        assert first.beat()
    assert opened(store).state == "open"
