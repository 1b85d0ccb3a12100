"""A campaign in a real database for tests: created, opened, and reported to without HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select

from campaign_cases import asked, wire
from crowdveil.campaigns.kind import Asked
from crowdveil.service.problems import Refusal
from crowdveil.service.store import campaigns, operators
from crowdveil.service.store.campaigns import Kept, State
from crowdveil.service.store.database import Database
from crowdveil.service.store.desk import Desk
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import Opened, Submission, digest, read_plans, withdraw
from crowdveil.service.store.schema import reports, waves


@contextmanager
def migrated(url: str) -> Iterator[Database]:
    """The database at that address, with its tables."""
    database = Database(url)
    try:
        database.migrate()
        yield database
    finally:
        database.close()


def opened(
    database: Database,
    name: str = "sensing",
    *,
    state: State = "open",
    retention: str | None = None,
    **more: Any,
) -> Kept:
    """A campaign of an operator of its own."""
    with database.writing() as connection:
        number = len(operators.listed(connection))
        operator = operators.add(connection, f"operator {number}")
        hours = more.pop("round_hours", None)
        campaign = campaigns.create(
            connection, operator, asked(name, **more), retention=retention, round_hours=hours
        )
        if state != "draft":
            campaigns.move(connection, campaign, "open")
        if state in ("paused", "closed"):
            campaigns.move(connection, campaign, state)
        return campaigns.find(connection, campaign.id)


def moved(database: Database, campaign: Kept, state: State) -> Kept:
    """The campaign in another state."""
    with database.writing() as connection:
        campaigns.move(connection, campaign, state)
        return campaigns.find(connection, campaign.id)


def next_wave(database: Database, campaign: Kept, wave: int) -> Kept:
    """The campaign with its next wave open."""
    with database.writing() as connection:
        campaigns.next_wave(connection, campaign, wave)
        return campaigns.find(connection, campaign.id)


def submission(campaign: Opened, token: str, key: str = "key", report: Any = None, **more: Any) -> Submission:
    """A report of a participant."""
    return Submission(digest(campaign.id, token), digest(campaign.id, f"{token} {key}"), report, **more)


def submit(
    database: Database, campaign: Kept, entries: Sequence[Submission], *, wave: int = 1
) -> list[int | str]:
    """What becomes of each of them in one transaction: a status, or the code of a refusal."""
    with database.writing() as connection:
        desk = Desk(
            LockedCampaign(connection, campaign.intake).wave(wave), [entry.participant for entry in entries]
        )
        outcomes = [desk.submit(entry) for entry in entries]
        desk.close()
    return [each.code if isinstance(each, Refusal) else each for each in outcomes]


def seat(database: Database, campaign: Kept, token: str, *, wave: int = 1) -> Asked | str:
    """The place of a participant, or the code of a refusal."""
    participant = digest(campaign.id, token)
    with database.writing() as connection:
        desk = Desk(LockedCampaign(connection, campaign.intake).wave(wave), [participant])
        where = desk.seat(participant)
        desk.close()
    return where.code if isinstance(where, Refusal) else where


def report(
    database: Database, campaign: Kept, token: str, key: str = "key", *, person: int = 0, wave: int = 1
) -> int | str:
    """Take part as a device does: ask for a place where that matters, draw, send."""
    where: Asked | str = Asked(person)
    plans = {}
    if campaign.campaign.kind.asks_by_place:
        where = seat(database, campaign, token, wave=wave)
        if isinstance(where, str):
            return where
        with database.reading() as connection:
            plans = dict(read_plans(connection, campaign.number, wave))
    assert isinstance(where, Asked)
    sent = wire(campaign.campaign, where, plans, wave=wave, seed=person)
    entry = submission(campaign.intake, token, key, sent)
    return submit(database, campaign, [entry], wave=wave)[0]


def withdrawn(database: Database, campaign: Kept, token: str) -> int | str:
    """How many reports of a participant were deleted, or the code of a refusal."""
    with database.writing() as connection:
        outcome = withdraw(connection, campaign.intake, digest(campaign.id, token))
    return outcome.code if isinstance(outcome, Refusal) else outcome


def rows(database: Database, campaign: Kept, wave: int = 1) -> list[Any]:
    """All rows of reports, by place."""
    with database.reading() as connection:
        own = (reports.c.campaign == campaign.number, reports.c.wave == wave)
        return list(connection.execute(select(reports).where(*own).order_by(reports.c.place)))


def counts(database: Database, campaign: Kept, wave: int = 1) -> tuple[int, int, int]:
    """Seats, reports that came in, and how many of them were withdrawn."""
    with database.reading() as connection:
        own = (waves.c.campaign == campaign.number, waves.c.wave == wave)
        row = connection.execute(select(waves).where(*own)).one()
    return row.seats, row.received, row.withdrawn
