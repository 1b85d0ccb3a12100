"""A campaign that is locked: counts of its waves and its state stand still until the transaction ends.

Whoever writes reports holds this lock, which is that of all waves together: a report under one key is counted
in one wave, however many copies of it come in at once.

Nearly all reports are those of participants who are new: these are inserted without a look at who is there,
since the database refuses a participant who is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select, update

from crowdveil.campaigns.kind import MOST_PLACES
from crowdveil.service.problems import Refusal
from crowdveil.service.store.bulk import insert_rows
from crowdveil.service.store.reports import Opened, Submission, closed, lock_waves
from crowdveil.service.store.schema import campaigns, reports, waves

_COLUMNS = ("campaign", "wave", "place", "participant", "round", "seq", "key", "payload")


class KeptKey(NamedTuple):
    """Where the report of a participant under some key was counted."""

    wave: int
    gone: bool  # withdrawn since


class LockedCampaign:
    """The state of a campaign, and its waves.

    `keys` has what is known of reports by participant and key: the desks of all waves share it.
    """

    def __init__(self, connection: Connection, campaign: Opened) -> None:
        self.connection, self.campaign = connection, campaign
        self.keys: dict[tuple[bytes, bytes], KeptKey] = {}
        self._waves, self._row = self._lock()
        if self._row is not None and self.open_number not in self._waves:
            self._waves, self._row = self._lock()  # a wave was opened while we waited, or there is none yet

    def _lock(self) -> tuple[dict[int, Row[Any]], Row[Any, Any] | None]:
        """The rows of all waves and, read after they were locked, the campaign's state."""
        number = self.campaign.number
        locked = lock_waves(self.connection, number)
        query = select(campaigns.c.state, campaigns.c.wave).where(campaigns.c.number == number)
        return locked, self.connection.execute(query).one_or_none()

    @property
    def open_number(self) -> int:
        """The wave that is open."""
        return 1 if self._row is None else int(self._row.wave)

    def wave(self, number: int) -> LockedWave:
        """One of the waves."""
        row = self._waves.get(number)
        return LockedWave(self, number, row, self._refusal(row))

    def _refusal(self, row: Row[Any] | None) -> Refusal | None:
        if self._row is None:
            return Refusal(404, "unknown-campaign", "there is no such campaign")
        if self._row.state == "draft":
            return closed("draft")
        if row is None:
            return Refusal(409, "wave", f"there is no such wave: wave {self.open_number} is open")
        return None if self._row.state == "open" else closed(self._row.state)


class LockedWave:
    """The counts of a wave, and why it takes no reports, if it does not."""

    def __init__(
        self, locked: LockedCampaign, number: int, row: Row[Any] | None, refusal: Refusal | None
    ) -> None:
        self.locked, self.number, self.refusal = locked, number, refusal
        self.connection, self.campaign = locked.connection, locked.campaign
        self.seats: int = row.seats if row else 0
        self.received: int = row.received if row else 0
        self.round: int = row.round if row else 0

    def takes(self, submissions: Sequence[Submission]) -> bool:
        """Whether all of these may be inserted if their participants are new."""
        return (
            self.refusal is None
            and self.locked.open_number == self.number == 1  # a later wave has to know earlier keys
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
