"""Whether the database answers: asked by one request at a time, and not more than once a second."""

from __future__ import annotations

import threading
import time

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from crowdveil.service.store.database import Database

LASTS = 1.0  # seconds
OLD = 5.0  # seconds after which an answer is worth nothing


class Readiness:
    """The last answer, which whoever asks meanwhile is given, too."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asking = threading.Lock()
        self._ready, self._until = False, 0.0

    def check(self) -> bool:
        """Whether reports can be taken."""
        if self._asking.acquire(blocking=False):
            try:
                if not self._ready or time.monotonic() >= self._until:
                    self._ready = self._ask()
                    self._until = time.monotonic() + LASTS
            finally:
                self._asking.release()
        return self._ready and time.monotonic() < self._until + OLD

    def _ask(self) -> bool:
        try:
            with self._database.reading() as connection:
                connection.execute(text("SELECT count(*) FROM leases")).scalar_one()
        except SQLAlchemyError:
            return False
        return True
