"""A clock that runs backwards: nothing is lost, counted twice, or deleted too early."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked
from crowdveil.randomness import seeded
from crowdveil.service.store import campaigns, operators, results, times
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.desk import Desk
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import Submission, digest
from crowdveil.service.store.schema import campaigns as campaigns_table
from crowdveil.service.store.schema import tokens
from crowdveil.service.worker import Worker
from devices import SENSING, until

NOON = datetime(2030, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def store(database: str) -> Iterator[Database]:
    """A database with its tables."""
    opened = Database(database)
    opened.migrate()
    yield opened
    opened.close()


def set_clock(monkeypatch: pytest.MonkeyPatch, time: datetime) -> None:
    """What the machine says the time is, wherever the service asks."""
    monkeypatch.setattr(times, "now", lambda: times.text_of(time))


def opened(store: Database, **more: Any) -> Kept:
    """An open campaign."""
    with store.writing() as connection:
        ann = operators.add(connection, "ann")
        kept = campaigns.create(
            connection, ann, Campaign.asked(SENSING), retention=more.get("retention"), round_hours=None
        )
        campaigns.move(connection, kept, "open")
        return campaigns.find(connection, kept.id)


def report(store: Database, campaign: Kept, who: str) -> Any:
    """What becomes of a report."""
    kind = campaign.campaign.kind
    sent = kind.report_one({"east": 3.0}, Asked(0), rng=seeded(1))
    participant, key = digest(campaign.id, who), digest(campaign.id, f"key {who}")
    with store.writing() as connection:
        desk = Desk(LockedCampaign(connection, campaign.intake).wave(1), [participant])
        outcome = desk.submit(Submission(participant, key, sent))
        desk.close()
    return outcome


def test_reports_are_counted_whatever_the_clock_says(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, NOON)
    campaign, worker = opened(store), Worker(store)
    assert worker.elect()
    assert report(store, campaign, "first") == 201
    worker.look()
    set_clock(monkeypatch, NOON - timedelta(days=400))
    assert report(store, campaign, "second") == 201
    assert report(store, campaign, "first") == 200
    assert worker.elect()
    until(lambda: looked(store, campaign, worker) == (2, True))
    with store.writing() as connection:
        campaigns.move(connection, campaign, "closed")
    assert looked(store, campaign, worker) == (2, False)


def looked(store: Database, campaign: Kept, worker: Worker) -> tuple[int, bool]:
    """How many reports are counted after the worker has looked, and whether that is provisional."""
    worker.look()
    with store.reading() as connection:
        last = results.read(connection, campaign.number, 1)
    assert last is not None
    return last.received, last.provisional


def test_another_worker_is_elected_whatever_the_clock_says(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, NOON)
    first, second = Worker(store), Worker(store)
    assert first.elect()
    set_clock(monkeypatch, NOON - timedelta(days=1))
    assert not second.elect()
    assert first.elect()
    set_clock(monkeypatch, NOON + timedelta(days=1))
    assert not second.elect()


def test_nothing_is_deleted_before_its_date_and_all_of_it_then(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, NOON)
    opened(store, retention=times.text_of(NOON + timedelta(hours=1)))
    worker = Worker(store)
    assert worker.elect()

    def there() -> int:
        with store.reading() as connection:
            return len(connection.execute(select(campaigns_table.c.id)).all())

    for hours, left in ((0, 1), (-5000, 1), (0.99, 1), (-1, 1), (1, 0), (-1, 0)):
        set_clock(monkeypatch, NOON + timedelta(hours=hours))
        worker.look()
        assert there() == left


def test_a_token_that_has_expired_lives_again_only_as_long_as_the_clock_says(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.writing() as connection:
        ann = operators.add(connection, "ann")
        token = operators.new_token(connection, ann, lifetime=timedelta(hours=1))
    now = datetime.now(UTC)
    for hours, valid in ((0.0, True), (2.0, False), (0.5, True)):
        set_clock(monkeypatch, now + timedelta(hours=hours))
        with store.reading() as connection:
            assert (operators.of_token(connection, token) is not None) == valid


def test_tokens_that_have_expired_are_deleted_with_the_next_one(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.writing() as connection:
        ann, ben = (operators.add(connection, name) for name in ("ann", "ben"))
        operators.new_token(connection, ann)
        for operator in (ann, ben):
            operators.new_token(connection, operator, lifetime=timedelta(hours=1))
        later = operators.new_token(connection, ann, lifetime=timedelta(hours=3))
    set_clock(monkeypatch, datetime.now(UTC) + timedelta(hours=2))
    with store.writing() as connection:
        operators.new_token(connection, ann)
        assert operators.of_token(connection, later) is not None
        assert (
            connection.scalar(select(func.count()).select_from(tokens)) == 4
        )  # ben's old one is there still
