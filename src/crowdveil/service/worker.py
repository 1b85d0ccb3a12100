"""The background work: new reports become estimates, rounds end, and what is past its date is deleted.

One worker works, elected through the database. It keeps the reports of open campaigns in memory and reads
only new ones; a report that is withdrawn makes it read all of that wave again. Estimates of an open campaign
are provisional. Those of a closed one are computed from all reports anew, in the order of their places: then
they are what the library computes from the exported reports, to the last bit.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError

from crowdveil.campaigns.kind import Gathered, Result
from crowdveil.service import exports
from crowdveil.service.election import Election, Lost
from crowdveil.service.settings import Settings
from crowdveil.service.store import campaigns, operators, results, times
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import read_plans, read_reports
from crowdveil.service.store.results import KeptResult
from crowdveil.service.store.schema import campaigns as campaigns_table
from crowdveil.service.store.schema import waves
from crowdveil.service.store.work import Wave, counts, live_waves, waves_to_serve

PAUSE = 0.5  # seconds between looks
SHARE = 4.0  # after a computation that took t seconds the next one waits this many t
MOST_WAITING = 60.0
AFTER_FAILURE = 30.0
NICE = 10  # whoever waits for an answer goes first where processors are few
ERASE_EVERY = 60.0  # seconds; whoever deletes does it at once, if nobody reads just then
ERASE_AGAIN = 5.0

log = structlog.get_logger("crowdveil.worker")


@dataclass
class _Folded:
    """The reports of a wave that were read so far."""

    gathered: Gathered
    as_of: str = ""  # all that had come in by then was read
    after: int = 0  # the seq of the next report
    reports: int = 0  # without those that were withdrawn
    withdrawn: int = 0
    due: float = 0.0  # by the stopwatch: when the next estimate may be computed


class Worker:
    """Does the work while it is elected."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._election = Election(database)
        self._folded: dict[tuple[int, int], _Folded] = {}
        self._failed: dict[tuple[int, int], float] = {}
        self._erase_at = 0.0  # by the stopwatch
        self._stopped = threading.Event()

    def run(self) -> None:
        """Work until `stop` is called."""
        beats = threading.Thread(target=self._beat, name="beat", daemon=True)
        beats.start()
        while not self._stopped.wait(PAUSE):
            if self._election.elected:
                self._guarded(self.look)
            elif self._folded:
                self._folded.clear()
        beats.join()
        self._guarded(self._election.resign)

    def stop(self) -> None:
        """End after what is being done."""
        self._stopped.set()

    def _beat(self) -> None:
        while True:
            self._guarded(self._election.beat)
            if self._stopped.wait(1.0):
                return

    def _guarded(self, step: Any) -> None:
        """A step that may fail, and is tried again later."""
        try:
            step()
        except Lost:
            self._folded.clear()
        except SQLAlchemyError as error:
            log.warning("database", error=type(error).__name__)
        except Exception as error:  # else nobody would do the work any more, and no other server would know
            log.error("failed", error=type(error).__name__)

    def elect(self) -> bool:
        """Stand for election now; for whoever calls `look` without `run`."""
        return self._election.beat()

    def look(self) -> None:
        """Do what is due."""
        self._delete_old()
        found = waves_to_serve(self._database)
        if self._folded:
            for key in self._folded.keys() - live_waves(self._database):
                del self._folded[key]
        for each in found:
            if self._stopped.is_set():
                return
            key = (each.campaign.number, each.wave)
            if self._failed.get(key, 0.0) > time.monotonic():
                continue
            try:
                self._serve(each)
            except (Lost, SQLAlchemyError):
                raise
            except Exception as error:  # one campaign must not stop the others
                log.error("failed", campaign=each.campaign.id, error=type(error).__name__)
                self._failed[key] = time.monotonic() + AFTER_FAILURE
                self._folded.pop(key, None)

    def _serve(self, wave: Wave) -> None:
        key = (wave.campaign.number, wave.wave)
        if wave.campaign.state == "closed":
            self._folded.pop(key, None)
            self._close(wave)
            return
        changed = wave.known is None or wave.known[:2] != (wave.received, wave.withdrawn)
        folded = self._folded.get(key)
        if folded is None and not changed and not self._round_over(wave):
            return
        folded = self._read(wave, folded)
        if folded.reports and self._round_over(wave):
            self._next_round(wave, folded)
        if changed and folded.after and time.monotonic() >= folded.due:
            began = time.monotonic()
            result = folded.gathered.result() if folded.reports else _nothing(wave)
            seconds = time.monotonic() - began
            counted = (folded.after, folded.withdrawn, seconds)
            self._write(wave, result, KeptResult(folded.as_of, True, *counted, result.summary))
            folded.due = time.monotonic() + min(MOST_WAITING, SHARE * seconds)

    def _read(self, wave: Wave, folded: _Folded | None) -> _Folded:
        """New reports, added to those that were read before."""
        number, kind = wave.campaign.number, wave.campaign.campaign.kind
        if folded is None or folded.withdrawn != wave.withdrawn:
            due = 0.0 if folded is None else folded.due
            folded = _Folded(kind.gather(wave.wave), withdrawn=wave.withdrawn, due=due)
            self._folded[number, wave.wave] = folded
        folded.as_of = wave.as_of
        if folded.after >= wave.received:
            return folded
        with self._database.reading() as connection:
            for after, batch in read_reports(connection, number, wave.wave, folded.after):
                if len(batch):  # the plans of its rounds were there before it
                    folded.gathered.add(batch, read_plans(connection, number, wave.wave))
                folded.after, folded.reports = after, folded.reports + len(batch)
        return folded

    def _close(self, wave: Wave) -> None:
        """The result of a closed campaign, from all reports anew."""
        began = time.monotonic()
        reports = exports.gathered(self._database, wave.campaign, wave.wave)
        result = _nothing(wave) if reports is None else reports.result()
        files = {} if reports is None else {"reports.parquet": exports.reports_of(wave.campaign, reports)}
        counted = (*counts(self._database, wave.campaign, wave.wave), time.monotonic() - began)
        self._write(wave, result, KeptResult(wave.as_of, False, *counted, result.summary), files)

    def _write(
        self, wave: Wave, result: Result, kept: KeptResult, files: Mapping[str, bytes] | None = None
    ) -> None:
        """Keep a result, unless somebody else does the work now, or the campaign has gone on meanwhile."""
        content = {
            f"{name}.parquet": exports.published(wave.campaign, name, frame)
            for name, frame in result.tables.items()
        }
        with self._database.writing() as connection:
            self._election.fenced(connection)
            state = select(campaigns_table.c.state).where(campaigns_table.c.id == wave.campaign.id)
            # Locked before its results, as whoever deletes it does: else each could wait for the other.
            current = connection.execute(
                state.with_for_update(read=True, key_share=True)
            ).scalar_one_or_none()
            if current is None or (kept.provisional and current == "closed"):
                return  # it was deleted, or closed meanwhile
            results.write(connection, wave.campaign.number, wave.wave, kept, {**content, **(files or {})})
        log.info("computed", provisional=kept.provisional, seconds=round(kept.seconds, 3))

    # --- rounds --------------------------------------------------------------------------------------------

    def _round_over(self, wave: Wave) -> bool:
        """Whether as many have reported as were planned, or the round's time is up."""
        kind = wave.campaign.campaign.kind
        end = kind.round_end(wave.round)
        if end is None or wave.campaign.state != "open" or wave.received <= wave.withdrawn:
            return False
        if wave.received - wave.withdrawn >= end:
            return True
        hours = wave.campaign.round_hours
        if hours is None:
            return False
        ends = datetime.fromisoformat(wave.round_opened) + timedelta(hours=hours)
        return datetime.now(UTC) >= ends

    def _next_round(self, wave: Wave, folded: _Folded) -> None:
        """Open the next round, whose plan follows from all reports so far; places keep their round."""
        planned = wave.campaign.campaign.kind.next_round(folded.gathered, wave.round)
        if planned is None:
            return
        number, following = wave.campaign.number, wave.round + 1
        with self._database.writing() as connection:
            self._election.fenced(connection)
            one = (waves.c.campaign == number, waves.c.wave == wave.wave)
            now = connection.execute(select(waves.c.round).where(*one).with_for_update()).scalar_one_or_none()
            if now != wave.round:
                return
            campaigns.write_plan(connection, wave.campaign, wave.wave, following, planned)
            connection.execute(update(waves).where(*one).values(round=following, round_opened=times.now()))
        log.info("round", round=following)

    # --- retention -----------------------------------------------------------------------------------------

    def _delete_old(self) -> None:
        """Delete campaigns whose date has come, with everything in them."""
        past = (campaigns_table.c.retention.is_not(None)) & (campaigns_table.c.retention <= times.now())
        with self._database.reading() as connection:
            ids = list(connection.execute(select(campaigns_table.c.id).where(past)).scalars())
        for id in ids:
            with self._database.writing() as connection:
                self._election.fenced(connection)
                if campaigns.remove_if_past(connection, id, times.now()):
                    operators.note(connection, "(retention)", "delete", id)
            self._erase_at = 0.0
        if time.monotonic() >= self._erase_at:
            done = self._database.erase_freed()
            self._erase_at = time.monotonic() + (ERASE_EVERY if done else ERASE_AGAIN)


def _nothing(wave: Wave) -> Result:
    """What no reports amount to."""
    return Result({"tables" if wave.campaign.campaign.kind.name == "records" else "truths": []})


def main() -> None:
    """The worker's own process. It ends when told to, or when the server that started it is gone."""
    from crowdveil.service.logs import configure

    configure()
    os.nice(NICE)
    database = Database(Settings().database, connections=4)
    worker = Worker(database)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the server, which tells

    def watch() -> None:
        sys.stdin.buffer.read()  # until the server closes its end, or is gone
        worker.stop()
        time.sleep(10)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    worker.run()
    database.close()


if __name__ == "__main__":
    main()
