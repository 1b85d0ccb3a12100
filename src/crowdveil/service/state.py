"""What all requests of a server process share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from crowdveil.service.intake import Intake
from crowdveil.service.limits import Limits
from crowdveil.service.readiness import Readiness
from crowdveil.service.settings import Settings
from crowdveil.service.store import campaigns
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import Opened

MOST_KNOWN = 10_000


@dataclass(eq=False)
class Previews:
    """Previews of new campaigns: one is computed at a time, and of each operator's the newest alone."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    newest: dict[int, object] = field(default_factory=dict)  # requests by the operator's id


@dataclass(eq=False)
class State:
    """The database, the way in for reports, limits, and campaigns that were looked up before.

    What intake needs to know of a campaign never changes, so it is looked up once.
    """

    settings: Settings
    database: Database
    intake: Intake
    limits: Limits
    readiness: Readiness
    previews: Previews = field(default_factory=Previews)
    _known: dict[str, Opened] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> State:
        """For a new process; the database is migrated when it starts."""
        database = Database(settings.database)
        return cls(settings, database, Intake(database), Limits(settings), Readiness(database))

    async def opened(self, id: str) -> Opened:
        """The campaign of that id, as intake needs it."""
        known = self._known.get(id)
        return await run_in_threadpool(self.look_up, id) if known is None else known

    def look_up(self, id: str) -> Opened:
        """The same for whoever has a thread."""
        known = self._known.get(id)
        if known is not None:
            return known
        with self.database.reading() as connection:
            found = campaigns.find(connection, id).intake
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[id] = found
        return found

    def forget(self, id: str) -> None:
        """A campaign is gone."""
        self._known.pop(id, None)
