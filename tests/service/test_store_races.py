"""Two transactions at once, step by step: what one decides still holds when it commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from crowdveil.service.store import campaigns, locked
from crowdveil.service.store.database import Database
from crowdveil.service.store.desk import Desk
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import lock_waves
from crowdveil.service.worker import Worker
from postgres import Postgres
from stores import counts, migrated, moved, next_wave, opened, report, rows, submission, submit, withdrawn

SENT = {"v": 1, "mechanism": "laplace", "payload": [["a", 5]]}


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    with migrated(database) as ready:
        yield ready


class Meanwhile:
    """Something that another thread does; it may have to wait."""

    def __init__(self, step: Callable[[], Any]) -> None:
        self.result: Any = None
        self._thread = threading.Thread(target=self._run, args=(step,))
        self._thread.start()

    def _run(self, step: Callable[[], Any]) -> None:
        self.result = step()

    def waits(self) -> bool:
        """Whether it is still not done after a while."""
        self._thread.join(0.4)
        return self._thread.is_alive()

    def done(self) -> Any:
        """What it gave."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.result


def test_closing_waits_for_reports_that_are_being_written(store: Database) -> None:
    """A report that was told "open" is there before the campaign is closed, or it is not accepted."""
    campaign = opened(store)
    entry = submission(campaign.intake, "ann", report=SENT)
    with store.writing() as connection:
        desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [entry.participant])
        assert desk.submit(entry) == 201
        closing = Meanwhile(lambda: (moved(store, campaign, "closed"), counts(store, campaign))[1])
        assert closing.waits()
        desk.close()
    assert closing.done() == (1, 1, 0)


def test_reports_wait_for_a_campaign_that_is_being_closed(store: Database) -> None:
    campaign = opened(store)
    with store.writing() as connection:
        campaigns.move(connection, campaign, "closed")
        reporting = Meanwhile(lambda: report(store, campaign, "ann"))
        assert reporting.waits()
    assert reporting.done() == "closed"
    assert counts(store, campaign) == (0, 0, 0)


def test_reports_wait_for_a_campaign_that_is_being_deleted(store: Database) -> None:
    campaign = opened(store)
    with store.writing() as connection:
        campaigns.remove(connection, campaign)
        reporting = Meanwhile(lambda: report(store, campaign, "ann"))
        assert reporting.waits()
    assert reporting.done() == "unknown-campaign"
    assert rows(store, campaign) == []


def test_two_reports_of_one_participant_at_once_are_one(store: Database) -> None:
    campaign = opened(store)
    first, second = (submission(campaign.intake, "ann", key, SENT) for key in "xy")
    with store.writing() as connection:
        desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [first.participant])
        assert desk.submit(first) == 201
        other = Meanwhile(lambda: submit(store, campaign, [second]))
        assert other.waits()
        desk.close()
    assert other.done() == ["reported"]
    assert counts(store, campaign) == (1, 1, 0)


def test_copies_of_a_report_in_two_waves_at_once_are_one(store: Database) -> None:
    """The second one comes through another server, and does not see what the first has not committed yet."""
    campaign = next_wave(store, opened(store, waves=2), 2)
    entry = submission(campaign.intake, "ann", report=SENT)
    with store.writing() as connection:
        desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [entry.participant])
        assert desk.submit(entry) == 201
        copy = Meanwhile(lambda: submit(store, campaign, [entry], wave=2))
        assert copy.waits()
        desk.close()
    assert copy.done() == [200]
    assert (counts(store, campaign, 1), counts(store, campaign, 2)) == ((1, 1, 0), (0, 0, 0))


def test_a_report_waits_for_a_wave_that_is_being_opened(store: Database) -> None:
    campaign = opened(store, waves=2)
    entry = submission(campaign.intake, "ann", report=SENT)

    def into_the_open_wave() -> int:
        with store.writing() as connection:
            locked = LockedCampaign(connection, campaign.intake)
            desk = Desk(locked.wave(locked.open_number), [entry.participant])
            assert desk.submit(entry) == 201
            desk.close()
            return desk.wave

    with store.writing() as connection:
        campaigns.next_wave(connection, campaign, 2)
        reporting = Meanwhile(into_the_open_wave)
        assert reporting.waits()
    assert reporting.done() == 2
    assert counts(store, campaign, 2) == (1, 1, 0)


def test_a_campaign_that_opens_and_closes_meanwhile_takes_no_report(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draft has no wave to lock: what was read before there was one is read again."""
    with migrated(postgres.new_database()) as store:
        campaign = opened(store, state="draft")
        calls: list[int] = []

        def lock(*given: Any) -> Any:
            calls.append(1)
            if len(calls) == 2:
                moved(store, moved(store, campaign, "open"), "closed")
            return lock_waves(*given)

        monkeypatch.setattr(locked, "lock_waves", lock)
        assert report(store, campaign, "ann") == "closed"
        assert rows(store, campaign) == []


def test_deleting_and_writing_a_result_do_not_wait_for_each_other(store: Database) -> None:
    campaign, worker = opened(store), Worker(store)
    worker.elect()
    report(store, campaign, "ann")
    worker.look()  # there is a result, whose place the next one takes
    report(store, campaign, "bob")
    worker._folded.clear()
    with store.writing() as connection:
        campaigns._locked(connection, campaign)
        looking = Meanwhile(worker.look)
        assert looking.waits()
        campaigns.remove(connection, campaign)
    looking.done()
    assert rows(store, campaign) == []


def test_a_withdrawal_waits_for_the_report_and_closing_for_the_withdrawal(store: Database) -> None:
    campaign = opened(store)
    entry = submission(campaign.intake, "ann", report=SENT)
    with store.writing() as connection:
        desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [entry.participant])
        desk.submit(entry)
        leaving = Meanwhile(lambda: withdrawn(store, campaign, "ann"))
        assert leaving.waits()
        desk.close()
    assert leaving.done() == 1
    assert counts(store, campaign) == (1, 1, 1)


def test_a_campaign_that_disappears_does_not_end_the_worker(store: Database) -> None:
    """It is deleted between two looks of the worker, or by an operator while its date has come."""
    old = opened(store, retention="2020-01-01T00:00:00.000000Z")
    worker = Worker(store)
    worker.elect()
    with store.writing() as connection:
        campaigns.remove(connection, old)
    worker.look()
    old = opened(store, retention="2020-01-01T00:00:00.000000Z")
    with store.writing() as connection:
        campaigns.remove(connection, old)
        looking = Meanwhile(worker.look)
        assert looking.waits()
    looking.done()


def test_a_postgresql_with_other_defaults_is_used_as_we_need(postgres: Postgres) -> None:
    """A transaction that waited for a lock must see that a campaign was closed; commits must be durable."""
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    with migrated(url) as store, store.writing() as connection:
        for setting in ("default_transaction_isolation = 'repeatable read'", "synchronous_commit = off"):
            connection.execute(text(f"ALTER DATABASE {name} SET {setting}"))
    again = Database(url)
    with again.reading() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
    campaign = opened(again)
    with again.writing() as connection:
        campaigns.move(connection, campaign, "closed")
        reporting = Meanwhile(lambda: report(again, campaign, "ann"))
        assert reporting.waits()
    assert reporting.done() == "closed"
    again.close()
