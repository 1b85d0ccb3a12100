"""What the background work has to look at: every wave whose result is not final."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from crowdveil.service.store import campaigns, times
from crowdveil.service.store.campaigns import Kept
from crowdveil.service.store.database import Database
from crowdveil.service.store.schema import campaigns as campaigns_table
from crowdveil.service.store.schema import results as results_table
from crowdveil.service.store.schema import waves


@dataclass(frozen=True)
class Wave:
    """A wave that was opened, as it was in the database at `as_of`."""

    campaign: Kept
    wave: int
    received: int
    withdrawn: int
    round: int
    round_opened: str
    known: tuple[int, int, bool] | None  # what the last result was computed from
    as_of: str


_closing = (campaigns_table.c.state == "closed") & results_table.c.provisional.is_not(False)
_new = (waves.c.received > 0) & (
    results_table.c.received.is_(None)
    | (results_table.c.received != waves.c.received)
    | (results_table.c.withdrawn != waves.c.withdrawn)
)
_timed = campaigns_table.c.round_hours.is_not(None)


def live_waves(database: Database) -> set[tuple[int, int]]:
    """The numbers of all campaigns that are not closed, with their waves."""
    query = (
        select(waves.c.campaign, waves.c.wave)
        .join(campaigns_table, waves.c.campaign == campaigns_table.c.number)
        .where(campaigns_table.c.state != "closed")
    )
    with database.reading() as connection:
        return {(row.campaign, row.wave) for row in connection.execute(query)}


def counts(database: Database, campaign: Kept, wave: int) -> tuple[int, int]:
    """How many reports a wave received, and how many of them are gone."""
    one = (waves.c.campaign == campaign.number, waves.c.wave == wave)
    with database.reading() as connection:
        row = connection.execute(select(waves.c.received, waves.c.withdrawn).where(*one)).one()
    return row.received, row.withdrawn


def waves_to_serve(database: Database) -> list[Wave]:
    """All waves with new reports, of closed campaigns without a final result, or with a round that may end.

    Others are not looked at, however many there are: not even their campaigns are read.
    """
    columns = [waves.c[name] for name in ("wave", "received", "withdrawn", "round", "round_opened")]
    last = [results_table.c[name].label(f"last_{name}") for name in ("received", "withdrawn", "provisional")]
    of_wave = (results_table.c.campaign == waves.c.campaign) & (results_table.c.wave == waves.c.wave)
    query = (
        select(campaigns_table.c.id, *columns, *last)
        .join(waves, waves.c.campaign == campaigns_table.c.number)
        .outerjoin(results_table, of_wave)
        .where(_closing | (campaigns_table.c.state != "closed") & (_new | _timed))
        .order_by(campaigns_table.c.number, waves.c.wave)
    )
    as_of = times.now()
    with database.reading() as connection:
        rows = connection.execute(query).all()
        kept = campaigns.found(connection, {row.id for row in rows})
    return [
        Wave(
            kept[row.id],
            *(row.wave, row.received, row.withdrawn, row.round, row.round_opened),
            None
            if row.last_received is None
            else (row.last_received, row.last_withdrawn, row.last_provisional),
            as_of,
        )
        for row in rows
        if row.id in kept  # else it was deleted meanwhile
    ]
