"""The one way in for reports: a thread that writes whatever is waiting in one transaction.

Requests that come together share one commit, and nobody is answered before it is on the disk. What a
transaction cannot write is refused as a whole: nothing is half-written.

The thread reads the lines of batches, too: a second busy thread would make it wait for the interpreter at
every call of the database. Whoever has more cores runs more processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as NoConnection

from crowdveil.campaigns.kind import Asked, Plans
from crowdveil.service.logs import place_of
from crowdveil.service.problems import BUG, Refusal
from crowdveil.service.store.database import Database
from crowdveil.service.store.desk import Desk
from crowdveil.service.store.locked import LockedCampaign
from crowdveil.service.store.reports import ACCEPTED, Opened, Submission

MOST_AT_ONCE = 4000  # submissions of a transaction
MOST_BYTES = 2**22  # of lines that are read for one transaction: what is read takes many times as much
UNAVAILABLE = Refusal(
    503,
    "database",
    "the database cannot be written now; nothing is half-written: try again later, with the same key",
    {"Retry-After": "5"},
)

log = structlog.get_logger("crowdveil.intake")


@dataclass(frozen=True)
class Seat:
    """Somebody asks for a place."""

    participant: bytes
    wave: int | None = None


@dataclass(frozen=True)
class Seated:
    """A place was given, or had been."""

    asked: Asked
    wave: int
    plans: Plans
    reported: bool  # so that a device that forgot does not draw again


Entry = Submission | Seat
Outcome = int | Seated | Refusal


Reader = Callable[[Opened, Sequence[bytes]], Sequence[Entry | Refusal]]
"""What makes entries of the lines of a batch."""


@dataclass(eq=False)
class _Job:
    campaign: Opened
    answered: asyncio.Future[list[Outcome]]
    entries: Sequence[Entry | Refusal] = ()
    lines: Sequence[bytes] = ()
    reader: Reader | None = None
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many outcomes there will be."""
        return len(self.lines) or len(self.entries)

    @property
    def bytes(self) -> int:
        """Of its lines."""
        return sum(map(len, self.lines))

    def read(self) -> None:
        """Make entries of lines."""
        if self.reader is not None:
            self.entries = self.reader(self.campaign, self.lines)
            self.reader = None


class Intake:
    """A queue of jobs and the thread that empties it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="intake", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write."""
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        self._jobs.put(None)
        self._thread.join()

    def enqueue(self, campaign: Opened, entry: Entry) -> asyncio.Future[list[Outcome]]:
        """What becomes of an entry, once that is on the disk."""
        return self._put(_Job(campaign, self._future(), [entry]))

    def enqueue_lines(
        self, campaign: Opened, lines: Sequence[bytes], reader: Reader
    ) -> asyncio.Future[list[Outcome]]:
        """What becomes of each line, once that is on the disk."""
        return self._put(_Job(campaign, self._future(), lines=lines, reader=reader))

    def _future(self) -> asyncio.Future[list[Outcome]]:
        assert self._loop is not None
        return self._loop.create_future()

    def _put(self, job: _Job) -> asyncio.Future[list[Outcome]]:
        self._jobs.put(job)
        return job.answered

    def _run(self) -> None:
        waiting: _Job | None = self._jobs.get()
        while waiting is not None:
            jobs, stopped = self._together(waiting)
            jobs = [job for job in jobs if not job.answered.cancelled()]  # whoever sent the others is gone
            self._write(jobs)
            self._answer(jobs)
            if stopped:
                return
            del jobs, waiting  # and with them their lines, which nobody needs while this waits
            waiting = self._jobs.get()

    def _together(self, first: _Job) -> tuple[list[_Job], bool]:
        """Jobs for one transaction, and whether the end was among them."""
        jobs, count, size = [first], first.size, first.bytes
        while count < MOST_AT_ONCE and size < MOST_BYTES:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
            count, size = count + job.size, size + job.bytes
        return jobs, False

    def _write(self, jobs: list[_Job]) -> None:
        try:
            for job in jobs:
                job.read()
            outcomes = self._all_new(jobs) or self._each(jobs)
            for job, own in zip(jobs, outcomes, strict=True):
                job.outcomes = own
        except (DBAPIError, NoConnection):
            for job in jobs:
                job.outcomes = [UNAVAILABLE] * job.size
        except Exception as error:
            if len(jobs) > 1:  # let each fail alone
                for job in jobs:
                    self._write([job])
            else:
                log.error("failed", error=type(error).__name__, where=place_of(error))
                jobs[0].outcomes = [BUG] * jobs[0].size

    def _all_new(self, jobs: list[_Job]) -> list[list[Outcome]] | None:
        """What nearly always happens: all are reports of new participants. None if it did not."""
        groups: dict[int, tuple[Opened, list[Submission]]] = {}
        for job in jobs:
            own = groups.setdefault(job.campaign.number, (job.campaign, []))[1]
            for entry in job.entries:
                if isinstance(entry, Submission) and entry.wave in (None, 1):
                    own.append(entry)
                elif not isinstance(entry, Refusal):
                    return None
        try:
            with self._database.writing() as connection:
                waves = [
                    (LockedCampaign(connection, campaign).wave(1), own)
                    for _, (campaign, own) in sorted(groups.items())
                    if own
                ]
                if not all(wave.takes(own) for wave, own in waves):
                    return None
                for wave, own in waves:
                    wave.insert_new(own)
        except IntegrityError:
            return None
        return [[entry if isinstance(entry, Refusal) else ACCEPTED for entry in job.entries] for job in jobs]

    def _each(self, jobs: list[_Job]) -> list[list[Outcome]]:
        """Look up who is there, and serve one after the other."""
        with self._database.writing() as connection:
            desks = _Desks(connection, jobs)
            outcomes = [
                [entry if isinstance(entry, Refusal) else desks.outcome(job, entry) for entry in job.entries]
                for job in jobs
            ]
            desks.close()
        return outcomes

    def _answer(self, jobs: list[_Job]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            return  # the loop is gone, and with it whoever waited


class _Desks:
    """A desk for each wave that an entry goes to, by default the one that is open.

    Campaigns are locked in one fixed order, so that two servers never wait for each other.
    """

    def __init__(self, connection: Connection, jobs: Sequence[_Job]) -> None:
        wanted = {job.campaign.number: job.campaign for job in jobs}
        self._locked = {number: LockedCampaign(connection, wanted[number]) for number in sorted(wanted)}
        participants: dict[tuple[int, int], list[bytes]] = {}
        for job in jobs:
            for entry in job.entries:
                if not isinstance(entry, Refusal):
                    participants.setdefault(self._where(job, entry), []).append(entry.participant)
        self._desks = {
            (number, wave): Desk(self._locked[number].wave(wave), own)
            for (number, wave), own in participants.items()
        }

    def _where(self, job: _Job, entry: Entry) -> tuple[int, int]:
        """The number of a campaign, and a wave."""
        number = job.campaign.number
        return number, self._locked[number].open_number if entry.wave is None else entry.wave

    def outcome(self, job: _Job, entry: Entry) -> Outcome:
        """What becomes of an entry."""
        desk = self._desks[self._where(job, entry)]
        if isinstance(entry, Submission):
            return desk.submit(entry)
        asked = desk.seat(entry.participant)
        return (
            asked
            if isinstance(asked, Refusal)
            else Seated(asked, desk.wave, desk.plans, desk.reported(entry.participant))
        )

    def close(self) -> None:
        """Write everything; the caller commits."""
        for desk in self._desks.values():
            desk.close()


def _resolve(jobs: list[Any]) -> None:
    for job in jobs:
        if not job.answered.done():
            job.answered.set_result(job.outcomes)
