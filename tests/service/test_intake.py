"""The one way in for reports: nobody is answered before the commit, and what cannot be written is refused."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from campaign_cases import wire
from crowdveil.campaigns.kind import Asked
from crowdveil.service.intake import Entry, Intake, Outcome, Seat, Seated
from crowdveil.service.problems import Refusal
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import digest
from stores import counts, migrated, next_wave, opened, rows, submission

SENT = {"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


def put(intake: Intake, campaign: Kept, entries: list[Entry]) -> asyncio.Future[list[Outcome]]:
    """One job with all of these entries: each is read from a line, which here is its number."""
    lines = [b"%d" % at for at in range(len(entries))]
    return intake.enqueue_lines(campaign.intake, lines, lambda _, some: [entries[int(line)] for line in some])


def sent(database: Database, jobs: list[tuple[Kept, list[Entry]]]) -> list[Any]:
    """What becomes of jobs that are all waiting when the thread begins; exceptions are returned."""

    async def run() -> list[Any]:
        intake = Intake(database)
        intake._loop = asyncio.get_running_loop()
        waiting = [put(intake, campaign, entries) for campaign, entries in jobs]
        intake.start(asyncio.get_running_loop())
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.to_thread(intake.stop)
        return answers

    return asyncio.run(run())


def short(outcomes: list[Outcome]) -> list[Any]:
    return [each.code if isinstance(each, Refusal) else each for each in outcomes]


def entries_of(campaign: Kept, *tokens: str, key: str = "key", **more: Any) -> list[Entry]:
    return [submission(campaign.intake, token, key, SENT, **more) for token in tokens]


def test_jobs_that_wait_together_are_answered_each_for_itself(store: Database) -> None:
    first, second, draft = opened(store), opened(store), opened(store, state="draft")
    answers = sent(
        store,
        [
            (first, entries_of(first, "ann", "bob")),
            (second, entries_of(second, "ann")),
            (draft, entries_of(draft, "ann")),
            (first, entries_of(first, "ann", key="other")),
            (first, entries_of(first, "bob")),
            (first, []),
        ],
    )
    assert [short(each) for each in answers] == [[201, 201], [201], ["draft"], ["reported"], [200], []]
    assert counts(store, first) == (2, 2, 0)
    assert counts(store, second) == (1, 1, 0)


def test_places_and_reports_may_come_together(store: Database) -> None:
    campaign = opened(store, "slots")
    participant = digest(campaign.id, "ann")
    report = submission(campaign.intake, "ann", report=wire(campaign.campaign, Asked(0)))
    ((seated, accepted), (again,)) = sent(
        store, [(campaign, [Seat(participant), report]), (campaign, [Seat(participant)])]
    )
    assert seated == Seated(Asked(0), 1, {}, reported=False)
    assert again == Seated(Asked(0), 1, {}, reported=True)
    assert accepted == 201


def test_without_a_wave_an_entry_goes_into_the_open_one(store: Database) -> None:
    campaign = opened(store, waves=3)
    campaign = next_wave(store, campaign, 2)
    entries = [*entries_of(campaign, "ann"), *entries_of(campaign, "bob", wave=1)]
    entries += entries_of(campaign, "eve", wave=3)
    assert [short(each) for each in sent(store, [(campaign, entries)])] == [[201, 201, "wave"]]
    assert counts(store, campaign, 1) == counts(store, campaign, 2) == (1, 1, 0)


def test_an_entry_that_breaks_the_code_harms_no_other(store: Database) -> None:
    """A job that fails for another reason than the database fails alone."""
    campaign = opened(store)
    wrong: Any = "no wave is a text"
    broken, good = entries_of(campaign, "eve", wave=wrong), entries_of(campaign, "ann", wave=1)
    refused, accepted = sent(store, [(campaign, broken), (campaign, good)])
    assert accepted == [201]
    assert short(refused) in (["wave"], ["database"])
    assert counts(store, campaign) == (1, 1, 0)


def test_nobody_is_answered_before_the_commit(tmp_path: Path) -> None:
    """While somebody else holds the database no report is acknowledged; then each is there."""
    path = tmp_path / "service.sqlite3"
    with migrated(f"sqlite:///{path}") as store:
        campaign = opened(store)
        answered_at: list[float] = []
        released_at: list[float] = []

        def hold(ready: threading.Event) -> None:
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                ready.set()
                time.sleep(0.5)
                released_at.append(time.monotonic())
                other.execute("COMMIT")

        ready = threading.Event()
        holder = threading.Thread(target=hold, args=(ready,))
        holder.start()
        ready.wait()
        (answers,) = sent(store, [(campaign, entries_of(campaign, "ann"))])
        answered_at.append(time.monotonic())
        holder.join()
        assert answers == [201]
        assert answered_at[0] > released_at[0]


def test_an_answer_means_that_another_connection_sees_the_report(store: Database, database: str) -> None:
    campaign = opened(store)
    other = Database(database)
    seen: list[int] = []

    async def run() -> None:
        intake = Intake(store)
        intake.start(asyncio.get_running_loop())
        for number in range(20):
            (entry,) = entries_of(campaign, str(number))
            assert await intake.enqueue(campaign.intake, entry) == [201]
            seen.append(len(rows(other, campaign)))
        await asyncio.to_thread(intake.stop)

    asyncio.run(run())
    other.close()
    assert seen == list(range(1, 21))


def test_a_commit_that_fails_is_no_acceptance(store: Database) -> None:
    """A constraint that is checked with the commit, as a full disk shows then: all are told to try again."""
    if store.sqlite:
        trigger = "CREATE TRIGGER full BEFORE INSERT ON reports BEGIN SELECT RAISE(ABORT, 'full'); END"
        undo = ["DROP TRIGGER full"]
        statements = [trigger]
    else:
        statements = [
            "CREATE FUNCTION full_() RETURNS trigger LANGUAGE plpgsql "
            "AS $$ BEGIN RAISE EXCEPTION 'full'; END $$",
            "CREATE CONSTRAINT TRIGGER full_ AFTER INSERT ON reports DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION full_()",
        ]
        undo = ["DROP TRIGGER full_ ON reports"]
    campaign = opened(store)
    with store.writing() as connection:
        for statement in statements:
            connection.execute(text(statement))
    few, many = entries_of(campaign, "ann"), entries_of(campaign, *map(str, range(100)))
    for entries in (few, many):
        (outcomes,) = sent(store, [(campaign, entries)])
        assert set(short(outcomes)) == {"database"}
        assert outcomes[0].status == 503
        assert "Retry-After" in outcomes[0].headers
    assert counts(store, campaign) == (0, 0, 0)
    with store.writing() as connection:
        for statement in undo:
            connection.execute(text(statement))
    assert short(sent(store, [(campaign, many)])[0]) == [201] * 100


def test_a_database_without_a_free_connection_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with migrated(f"sqlite:///{tmp_path / 'service.sqlite3'}") as store:
        campaign = opened(store)
        monkeypatch.setattr(store.engine.pool, "_timeout", 0.1)
        monkeypatch.setattr(store.engine.pool, "_max_overflow", 0)
        held = [store.engine.connect() for _ in range(8)]
        (first, second) = sent(
            store, [(campaign, entries_of(campaign, "ann")), (campaign, entries_of(campaign, "bob"))]
        )
        for connection in held:
            connection.close()
        assert short(first) == short(second) == ["database"]


def test_what_is_waiting_when_a_server_stops_is_written(store: Database) -> None:
    campaign = opened(store)

    async def run() -> list[Outcome]:
        intake = Intake(store)
        intake.start(asyncio.get_running_loop())
        waiting = [put(intake, campaign, entries_of(campaign, str(at))) for at in range(30)]
        await asyncio.to_thread(intake.stop)
        return [outcome for each in waiting for outcome in await each]

    assert asyncio.run(run()) == [201] * 30
    assert counts(store, campaign) == (30, 30, 0)
