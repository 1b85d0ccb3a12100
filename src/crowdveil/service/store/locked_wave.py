"""A wave whose row is locked: its counts and its campaign's state stand still until the transaction ends.

Whoever writes reports holds this lock. Nearly all reports are those of participants who are new: these are
inserted without a look at who is there, since the database refuses a participant who is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat
from typing import Any

from sqlalchemy import Connection, select, update

from crowdveil.campaigns.kind import MOST_PLACES
from crowdveil.service.problems import Refusal
from crowdveil.service.store.bulk import insert_rows
from crowdveil.service.store.reports import Opened, Submission, closed
from crowdveil.service.store.schema import campaigns, reports, waves

_COLUMNS = ("campaign", "wave", "place", "participant", "round", "seq", "key", "payload")


class LockedWave:
    """The counts of a wave, and why it takes no reports, if it does not."""

    def __init__(self, connection: Connection, campaign: Opened, number: int) -> None:
        self.connection, self.campaign, self.number = connection, campaign, number
        self.seats, self.received, self.round, self.open_number = 0, 0, 0, 0
        self.refusal = self._lock()

    def _lock(self) -> Refusal | None:
        of_campaign = self.campaign.number
        row = self.connection.execute(
            select(waves)
            .where(waves.c.campaign == of_campaign, waves.c.wave == self.number)
            .with_for_update()
        ).one_or_none()
        state = self.connection.execute(
            select(campaigns.c.state, campaigns.c.wave).where(campaigns.c.number == of_campaign)
        ).one_or_none()
        if state is None:
            return Refusal(404, "unknown-campaign", "there is no such campaign")
        if row is None:
            refusal = Refusal(409, "wave", f"there is no such wave: wave {state.wave} is open")
            return closed(state.state) if state.state == "draft" else refusal
        self.seats, self.received, self.round = int(row.seats), int(row.received), int(row.round)
        self.open_number = int(state.wave)
        return None if state.state == "open" else closed(state.state)

    def takes(self, submissions: Sequence[Submission]) -> bool:
        """Whether all of these may be inserted if their participants are new."""
        return (
            self.refusal is None
            and self.open_number == self.number == 1  # a later wave has to know the keys of earlier ones
            and not self.campaign.invited
            and self.seats + len(submissions) <= MOST_PLACES
            and all(each.payload is not None for each in submissions)
            and all(each.round is None or each.round == self.round for each in submissions)
        )

    def insert_new(self, submissions: Sequence[Submission]) -> None:
        """Insert the reports of participants who are new; `IntegrityError` if one of them is not."""
        whole = zip(
            count(self.seats),
            [each.participant for each in submissions],
            repeat(self.round),
            count(self.received),
            [each.key for each in submissions],
            [each.payload for each in submissions],
            strict=False,  # two of them have no end
        )
        self.insert(list(whole))
        self.seats += len(submissions)
        self.received += len(submissions)
        self.write_counts()

    def insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows of place, participant, round, seq, key and payload."""
        own = (self.campaign.number, self.number)
        insert_rows(self.connection, reports, _COLUMNS, [own + row for row in rows])

    def write_counts(self) -> None:
        """Write how many places were given, and how many reports came in."""
        own = (waves.c.campaign == self.campaign.number, waves.c.wave == self.number)
        self.connection.execute(update(waves).where(*own).values(seats=self.seats, received=self.received))
