"""Participants of a wave, served one after the other: each report is counted once, or refused with a reason.

Whatever many submissions need is read and written at once, so that a batch costs little more than its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, select, update

from crowdveil.campaigns.kind import MOST_PLACES, Asked, Plans
from crowdveil.errors import InputError
from crowdveil.service.problems import Refusal
from crowdveil.service.store.bulk import among
from crowdveil.service.store.locked import KeptKey, LockedWave
from crowdveil.service.store.reports import ACCEPTED, KNOWN, WITHDRAWN, Submission
from crowdveil.service.store.schema import invitations, reports

STATES = ("paused", "closed")  # in which a report that is there is still recognized


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


class Desk:
    """Serves participants of one wave of a campaign; nothing is written before `close`."""

    def __init__(self, wave: LockedWave, participants: Iterable[bytes]) -> None:
        self._wave, self._campaign, self._connection = wave, wave.campaign, wave.connection
        self._changed: dict[bytes, _Row] = {}
        self._rows: dict[bytes, _Row] = {}
        self._keys = wave.locked.keys
        self._invited: set[bytes] | None = None
        self.plans: Plans = {}
        if wave.refusal is not None and wave.refusal.code not in STATES:
            return
        wanted = list(set(participants))
        self._rows = self._known(wanted)
        if wave.locked.open_number > 1:
            self._keys.update(self._keys_of_other_waves(wanted))
        if self._campaign.invited:
            self._invited = self._invitations([each for each in wanted if each not in self._rows])
        if self._campaign.kind.plans_rounds:
            needed = {row.round for row in self._rows.values()} | {wave.round}
            self.plans = self._campaign.plans(self._connection, wave.number, needed)

    @property
    def wave(self) -> int:
        """The number of the wave."""
        return self._wave.number

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

    def _keys_of_other_waves(self, participants: Sequence[bytes]) -> dict[tuple[bytes, bytes], KeptKey]:
        """Whose answer was lost sends the same report again, and meanwhile another wave may have opened."""
        empty = reports.c.payload.is_(None).label("empty")
        query = select(reports.c.participant, reports.c.key, reports.c.wave, empty).where(
            among(self._connection, reports.c.participant),
            reports.c.wave != self.wave,
            reports.c.key.is_not(None),
        )
        return {
            (bytes(row.participant), bytes(row.key)): KeptKey(row.wave, bool(row.empty))
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
        refusal = self._stranger(participant) if row is None else self._wave.refusal
        if refusal is not None:
            return refusal
        if row is None:
            row = self._new_row(participant)
        return Asked(row.place, row.round)

    def reported(self, participant: bytes) -> bool:
        """Whether there is a report of the participant in this wave, or was one that is withdrawn."""
        row = self._rows.get(participant)
        return row is not None and row.seq is not None

    def submit(self, submission: Submission) -> int | Refusal:
        """201 for a report that is counted now, 200 for one that was counted before, else why it is not."""
        participant = submission.participant
        kept = self._keys.get((participant, submission.key))
        if kept is not None and kept.wave != self.wave:
            return _elsewhere(kept, submission)
        row = self._rows.get(participant)
        if row is not None and row.seq is not None:  # whatever the state is now
            return _again(row, submission)
        refusal = self._stranger(participant) if row is None else self._wave.refusal
        if row is None and refusal is None and self._campaign.kind.asks_by_place:
            refusal = Refusal(409, "no-place", "ask for a place first: what is asked depends on it")
        if refusal is not None:
            return refusal
        round = self._wave.round if row is None else row.round
        if submission.round is not None and submission.round != round:
            return Refusal(409, "round", "this participant was asked in another round")
        payload = submission.payload
        if payload is None:
            try:
                asked = Asked(self._wave.seats if row is None else row.place, round)
                payload = self._campaign.kind.receive(submission.report, self.wave, asked, self.plans)
            except InputError as error:
                return Refusal(422, "report", str(error))
        if row is None:
            row = self._new_row(participant)
        row.key, row.seq, row.payload = submission.key, self._wave.received, payload
        self._changed[participant] = row
        self._keys[participant, submission.key] = KeptKey(self.wave, gone=False)
        self._wave.received += 1
        return ACCEPTED

    def _stranger(self, participant: bytes) -> Refusal | None:
        """Why somebody without a place gets none."""
        if self._wave.refusal is not None:
            return self._wave.refusal
        if self._invited is not None and participant not in self._invited:
            return Refusal(403, "not-invited", "this is no invitation to this campaign")
        if self._wave.seats >= MOST_PLACES:
            return Refusal(409, "full", "this campaign has no place left")
        return None

    def _new_row(self, participant: bytes) -> _Row:
        row = _Row(self._wave.seats, self._wave.round, new=True)
        self._rows[participant] = self._changed[participant] = row
        self._wave.seats += 1
        return row

    def close(self) -> None:
        """Write everything; the caller commits."""
        if self._wave.refusal is not None or not self._changed:
            return
        new = [
            (row.place, participant, row.round, row.seq, row.key, row.payload)
            for participant, row in self._changed.items()
            if row.new
        ]
        if new:
            self._wave.insert(new)
        filled = [
            {"at": row.place, "seq": row.seq, "key": row.key, "payload": row.payload}
            for row in self._changed.values()
            if not row.new
        ]
        if filled:
            at = (reports.c.campaign == self._campaign.number, reports.c.wave == self.wave)
            place = reports.c.place == bindparam("at")
            self._connection.execute(update(reports).where(*at, place), filled)
        self._wave.write_counts()


def _elsewhere(kept: KeptKey, submission: Submission) -> int | Refusal:
    """What becomes of a report whose key has a report in another wave."""
    if kept.gone:
        return WITHDRAWN
    if submission.wave is None:  # it was sent before, when that wave was open
        return KNOWN
    return Refusal(409, "key", f"this key has a report in wave {kept.wave}: each report has a key of its own")


def _again(row: _Row, submission: Submission) -> int | Refusal:
    """What becomes of a report where there is one, or was."""
    if row.gone:
        return WITHDRAWN
    if row.key is not None and bytes(row.key) == submission.key:
        return KNOWN
    return Refusal(409, "reported", "this participant has reported already in this wave")


def _slices(items: Sequence[bytes], size: int = 5000) -> Iterator[Sequence[bytes]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]
