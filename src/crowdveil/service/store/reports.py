"""Reports as they come and as they are kept: tokens as digests, the bytes of a report, and its number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select, update

from crowdveil.campaigns.kind import Batch, Kind, Plan, Plans
from crowdveil.service.problems import Refusal
from crowdveil.service.store.schema import DIGEST, campaigns, plans, reports, waves

READ_AT_ONCE = 20_000
MOST_PLANS = 256  # of a campaign that are kept in memory
ACCEPTED, KNOWN = 201, 200
WITHDRAWN = Refusal(409, "withdrawn", "this participant withdrew; reporting again would be fresh noise")


def digest(campaign: str, token: str) -> bytes:
    """A token as it is kept: useless in any other campaign, and to whoever reads the database."""
    return hashlib.sha256(f"{campaign}\n{token}".encode()).digest()[:DIGEST]


class Submission(NamedTuple):
    """A report of a participant, under a key that the device made up for it."""

    participant: bytes
    key: bytes
    report: Any
    wave: int | None = None
    round: int | None = None
    payload: bytes | None = None  # the report as it is kept, where that does not depend on the place


@dataclass(frozen=True)
class Opened:
    """A campaign as intake needs it: its numbers, and what it asks."""

    number: int
    id: str
    kind: Kind
    invited: bool
    _plans: dict[tuple[int, int], Plan] = field(default_factory=dict, compare=False, repr=False)

    def plans(self, connection: Connection, wave: int, rounds: Iterable[int]) -> Plans:
        """The plans of these rounds of a wave, each of which is read once: they never change."""
        wanted = set(rounds)
        new = {number for number in wanted if (wave, number) not in self._plans}
        if new:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
                new = wanted
            read = read_plans(connection, self.number, wave, new)
            self._plans.update({(wave, number): plan for number, plan in read.items()})
        return {number: self._plans[wave, number] for number in wanted if (wave, number) in self._plans}


def withdraw(connection: Connection, campaign: Opened, participant: bytes) -> int | Refusal:
    """Delete what a participant reported, in all waves; the places stay taken. How many there were."""
    lock_waves(connection, campaign.number)
    state = connection.execute(
        select(campaigns.c.state).where(campaigns.c.number == campaign.number)
    ).scalar_one_or_none()
    if state is None:
        return Refusal(404, "unknown-campaign", "there is no such campaign")
    if state not in ("open", "paused"):
        return closed(state)
    mine = (reports.c.campaign == campaign.number, reports.c.participant == participant)
    rows = connection.execute(
        select(reports.c.wave, reports.c.seq, reports.c.payload.is_(None).label("empty")).where(*mine)
    ).all()
    if not rows:
        return Refusal(404, "unknown-participant", "there is no such participant in this campaign")
    received = [row.wave for row in rows if row.seq is not None and not row.empty]
    unasked = [row for row in rows if row.seq is None]
    connection.execute(update(reports).where(*mine, reports.c.seq.is_not(None)).values(payload=None))
    for wave in received:
        connection.execute(
            update(waves)
            .where(waves.c.campaign == campaign.number, waves.c.wave == wave)
            .values(withdrawn=waves.c.withdrawn + 1)
        )
    for row in unasked:  # a place without a report is used up, too
        one = (waves.c.campaign == campaign.number, waves.c.wave == row.wave)
        seq = connection.execute(select(waves.c.received).where(*one)).scalar_one()
        connection.execute(update(reports).where(*mine, reports.c.wave == row.wave).values(seq=seq))
        connection.execute(
            update(waves).where(*one).values(received=waves.c.received + 1, withdrawn=waves.c.withdrawn + 1)
        )
    return len(received)


def lock_waves(connection: Connection, campaign: int) -> dict[int, Row[Any]]:
    """The rows of all waves of a campaign, which nobody else changes until the transaction ends."""
    every = select(waves).where(waves.c.campaign == campaign).order_by(waves.c.wave)
    return {row.wave: row for row in connection.execute(every.with_for_update())}


def read_plans(
    connection: Connection, campaign: int, wave: int, rounds: Iterable[int] | None = None
) -> Plans:
    """The plans of these rounds of a wave, or of all of them."""
    query = select(plans.c.round, plans.c.planned).where(plans.c.campaign == campaign, plans.c.wave == wave)
    if rounds is not None:
        query = query.where(plans.c.round.in_(sorted(rounds)))
    return {row.round: Plan(json.loads(row.planned)) for row in connection.execute(query)}


def read_reports(
    connection: Connection, campaign: int, wave: int, after: int = 0
) -> Iterator[tuple[int, Batch]]:
    """Reports from the one with seq `after` on, in batches, each with the seq that follows it."""
    query = (
        select(reports.c.seq, reports.c.place, reports.c.round, reports.c.payload)
        .where(reports.c.campaign == campaign, reports.c.wave == wave, reports.c.seq >= bindparam("after"))
        .order_by(reports.c.seq)
        .limit(READ_AT_ONCE)
    )
    while True:
        rows = connection.execute(query, {"after": after}).all()
        if not rows:
            return
        after = rows[-1].seq + 1
        kept = [(row.place, row.round, bytes(row.payload)) for row in rows if row.payload is not None]
        yield after, Batch.of(kept)


def closed(state: str) -> Refusal:
    """Why a campaign in that state takes no reports."""
    why = {
        "draft": "this campaign is not open yet",
        "paused": "this campaign is paused: try again later",
        "closed": "this campaign is closed",
    }
    return Refusal(409, state, why[state])
