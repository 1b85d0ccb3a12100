"""Reports on their way into the database: each is counted once, or refused with a reason; never half-written.

A `Desk` serves one campaign and wave within one transaction, under the lock of the wave's row. Whatever many
submissions need is read and written at once, so that a batch costs little more than its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from crowdveil.campaigns.kind import MOST_PLACES, Asked, Batch, Kind, Plans
from crowdveil.errors import InputError
from crowdveil.service.problems import Refusal
from crowdveil.service.store.bulk import among, insert_rows
from crowdveil.service.store.schema import DIGEST, campaigns, invitations, plans, reports, waves

READ_AT_ONCE = 20_000
STATES = ("paused", "closed")  # in which a report that is there is still recognized
ACCEPTED, KNOWN = 201, 200
WITHDRAWN = Refusal(409, "withdrawn", "this participant withdrew; reporting again would be fresh noise")


def digest(campaign: str, token: str) -> bytes:
    """A token as it is kept: useless in any other campaign, and to whoever reads the database."""
    return hashlib.sha256(f"{campaign}\n{token}".encode()).digest()[:DIGEST]


@dataclass(frozen=True)
class Submission:
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


@dataclass(slots=True)
class _Row:
    """A participant's place in a wave, and what was reported from it."""

    place: int
    round: int
    key: bytes | None = None
    seq: int | None = None
    payload: bytes | None = None
    gone: bool = False
    new: bool = False


_COLUMNS = ("campaign", "wave", "place", "participant", "round", "seq", "key", "payload")


class Desk:
    """Serves participants of one wave of a campaign; nothing is written before `close`."""

    def __init__(
        self, connection: Connection, campaign: Opened, wave: int, participants: Iterable[bytes]
    ) -> None:
        self._connection, self._campaign, self.wave = connection, campaign, wave
        self._changed: dict[bytes, _Row] = {}
        self._rows: dict[bytes, _Row] = {}
        self._elsewhere: dict[tuple[bytes, bytes], bool] = {}  # whether a report of another wave is gone
        self._invited: set[bytes] | None = None
        self.plans: Plans = {}
        self.refusal = self._lock()
        if self.refusal is not None and self.refusal.code not in STATES:
            return
        wanted = list(set(participants))
        self._rows = self._known(wanted)
        if self._open_wave > 1:
            self._elsewhere = self._keys_of_other_waves(wanted)
        if campaign.invited:
            self._invited = self._invitations([each for each in wanted if each not in self._rows])
        if campaign.kind.rounds > 1:
            needed = {row.round for row in self._rows.values()} | {self._round}
            self.plans = read_plans(connection, campaign.number, wave, needed)

    def _lock(self) -> Refusal | None:
        """Lock the row of the wave until the transaction ends; then the campaign's state stands still."""
        number = self._campaign.number
        row = self._connection.execute(
            select(waves).where(waves.c.campaign == number, waves.c.wave == self.wave).with_for_update()
        ).one_or_none()
        state = self._connection.execute(
            select(campaigns.c.state, campaigns.c.wave).where(campaigns.c.number == number)
        ).one_or_none()
        if state is None:
            return Refusal(404, "unknown-campaign", "there is no such campaign")
        if row is None:
            refusal = Refusal(409, "wave", f"there is no such wave: wave {state.wave} is open")
            return closed(state.state) if state.state == "draft" else refusal
        self._seats, self._received, self._round = int(row.seats), int(row.received), int(row.round)
        self._open_wave = int(state.wave)
        return None if state.state == "open" else closed(state.state)

    def _known(self, participants: Sequence[bytes]) -> dict[bytes, _Row]:
        query = select(
            reports.c.participant,
            reports.c.place,
            reports.c.round,
            reports.c.key,
            reports.c.seq,
            reports.c.payload.is_(None).label("empty"),
        ).where(  # by digests alone: the index of places begins with what all rows have in common
            among(self._connection, reports.c.participant), reports.c.wave == self.wave
        )
        found = {}
        for some in _slices(participants):
            for row in self._connection.execute(query, {"among": some}):
                gone = row.seq is not None and bool(row.empty)
                found[bytes(row.participant)] = _Row(row.place, row.round, row.key, row.seq, gone=gone)
        return found

    def _keys_of_other_waves(self, participants: Sequence[bytes]) -> dict[tuple[bytes, bytes], bool]:
        """Whose answer was lost sends the same report again, and meanwhile another wave may have opened."""
        empty = reports.c.payload.is_(None).label("empty")
        query = select(reports.c.participant, reports.c.key, empty).where(
            among(self._connection, reports.c.participant),
            reports.c.wave != self.wave,
            reports.c.key.is_not(None),
        )
        return {
            (bytes(row.participant), bytes(row.key)): bool(row.empty)
            for some in _slices(participants)
            for row in self._connection.execute(query, {"among": some})
        }

    def _invitations(self, strangers: Sequence[bytes]) -> set[bytes]:
        query = select(invitations.c.digest).where(among(self._connection, invitations.c.digest))
        found: set[bytes] = set()
        for some in _slices(strangers):
            found |= {bytes(each) for each in self._connection.execute(query, {"among": some}).scalars()}
        return found

    def seat(self, participant: bytes) -> Asked | Refusal:
        """The participant's place, the same one each time, and the round in which it was given."""
        row = self._rows.get(participant)
        refusal = self._stranger(participant) if row is None else self.refusal
        if refusal is not None:
            return refusal
        if row is None:
            row = self._new_row(participant)
        return Asked(row.place, row.round)

    def submit(self, submission: Submission) -> int | Refusal:
        """201 for a report that is counted now, 200 for one that was counted before, else why it is not."""
        participant = submission.participant
        gone = self._elsewhere.get((participant, submission.key))
        if gone is not None:
            return WITHDRAWN if gone else KNOWN
        row = self._rows.get(participant)
        if row is not None and row.seq is not None:  # whatever the state is now
            return _again(row, submission)
        refusal = self._stranger(participant) if row is None else self.refusal
        if row is None and refusal is None and self._campaign.kind.asks_by_place:
            refusal = Refusal(409, "no-place", "ask for a place first: what is asked depends on it")
        if refusal is not None:
            return refusal
        round = self._round if row is None else row.round
        if submission.round is not None and submission.round != round:
            return Refusal(409, "round", "this participant was asked in another round")
        payload = submission.payload
        if payload is None:
            try:
                asked = Asked(self._seats if row is None else row.place, round)
                payload = self._campaign.kind.receive(submission.report, self.wave, asked, self.plans)
            except InputError as error:
                return Refusal(422, "report", str(error))
        if row is None:
            row = self._new_row(participant)
        row.key, row.seq, row.payload = submission.key, self._received, payload
        self._changed[participant] = row
        self._received += 1
        return ACCEPTED

    def _stranger(self, participant: bytes) -> Refusal | None:
        """Why somebody without a place gets none."""
        if self.refusal is not None:
            return self.refusal
        if self._invited is not None and participant not in self._invited:
            return Refusal(403, "not-invited", "this is no invitation to this campaign")
        if self._seats >= MOST_PLACES:
            return Refusal(409, "full", "this campaign has no place left")
        return None

    def _new_row(self, participant: bytes) -> _Row:
        row = _Row(self._seats, self._round, new=True)
        self._rows[participant] = self._changed[participant] = row
        self._seats += 1
        return row

    def close(self) -> None:
        """Write everything; the caller commits."""
        if self.refusal is not None or not self._changed:
            return
        campaign, wave, connection = self._campaign.number, self.wave, self._connection
        new = [
            (campaign, wave, row.place, participant, row.round, row.seq, row.key, row.payload)
            for participant, row in self._changed.items()
            if row.new
        ]
        if new:
            insert_rows(connection, reports, _COLUMNS, new)
        filled = [
            {"at": row.place, "seq": row.seq, "key": row.key, "payload": row.payload}
            for row in self._changed.values()
            if not row.new
        ]
        if filled:
            own = (reports.c.campaign == campaign, reports.c.wave == wave, reports.c.place == bindparam("at"))
            connection.execute(update(reports).where(*own), filled)
        counted = update(waves).where(waves.c.campaign == campaign, waves.c.wave == wave)
        connection.execute(counted.values(seats=self._seats, received=self._received))


def _again(row: _Row, submission: Submission) -> int | Refusal:
    """What becomes of a report where there is one, or was."""
    if row.gone:
        return WITHDRAWN
    if row.key is not None and bytes(row.key) == submission.key:
        return KNOWN
    return Refusal(409, "reported", "this participant has reported already in this wave")


def withdraw(connection: Connection, campaign: Opened, participant: bytes) -> int | Refusal:
    """Delete what a participant reported, in all waves; the places stay taken. How many there were."""
    own = connection.execute(
        select(waves.c.wave)
        .where(waves.c.campaign == campaign.number)
        .order_by(waves.c.wave)
        .with_for_update()
    ).scalars()
    list(own)  # every wave is locked
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


def open_waves(connection: Connection, numbers: Iterable[int]) -> dict[int, int]:
    """The wave that is open in each of these campaigns."""
    query = select(campaigns.c.number, campaigns.c.wave).where(campaigns.c.number.in_(list(numbers)))
    return {row.number: row.wave for row in connection.execute(query)}


def read_plans(
    connection: Connection, campaign: int, wave: int, rounds: Iterable[int] | None = None
) -> Plans:
    """The plans of these rounds of a wave, or of all of them; the first round has none."""
    query = select(plans.c.round, plans.c.planned).where(plans.c.campaign == campaign, plans.c.wave == wave)
    if rounds is not None:
        query = query.where(plans.c.round.in_(sorted(rounds)))
    return {row.round: _plan(row.planned) for row in connection.execute(query)}


@lru_cache(maxsize=256)
def _plan(planned: str) -> tuple[float, ...]:
    """The probabilities of a round's questions; plans never change."""
    return tuple(json.loads(planned))


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


def _slices(items: Sequence[bytes], size: int = 5000) -> Iterator[Sequence[bytes]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]
