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


def waves_to_serve(database: Database) -> list[Wave]:
    """All waves of campaigns that are not closed, and of those whose last result is provisional."""
    columns = [waves.c[name] for name in ("wave", "received", "withdrawn", "round", "round_opened")]
    last = [results_table.c[name].label(f"last_{name}") for name in ("received", "withdrawn", "provisional")]
    of_wave = (results_table.c.campaign == waves.c.campaign) & (results_table.c.wave == waves.c.wave)
    query = (
        select(campaigns_table.c.id, *columns, *last)
        .join(waves, waves.c.campaign == campaigns_table.c.number)
        .outerjoin(results_table, of_wave)
        .where((campaigns_table.c.state != "closed") | results_table.c.provisional.is_not(False))
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
