"""Who does the background work: one of all servers, elected through the database.

No clock is compared with another: the holder counts up a number once a second, and whoever sees it stand
still for long, by their own stopwatch, takes over. A holder who was only slow finds out with the next count,
and nothing that it writes is kept after that (`fenced`).
"""

from __future__ import annotations

import secrets
import time

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from crowdveil.service.store.database import Database
from crowdveil.service.store.schema import leases

NAME = "worker"
PATIENCE = 5.0  # seconds without a beat, then the holder is taken for dead


class Lost(Exception):  # noqa: N818, it reads as what happened
    """Somebody else does the work now."""


class Election:
    """One candidate."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._me = secrets.token_hex(8)
        self._seen: tuple[str | None, int] | None = None
        self._since = time.monotonic()
        self.elected = False

    def beat(self) -> bool:
        """Count up if elected, else stand; whether this one is elected now."""
        with self._database.writing() as connection:
            row = connection.execute(select(leases).where(leases.c.name == NAME).with_for_update()).first()
            if row is None:
                try:
                    with connection.begin_nested():
                        connection.execute(insert(leases).values(name=NAME, holder=self._me, beat=0))
                except IntegrityError:
                    return False
                self.elected = True
                return True
            state = (row.holder, row.beat)
            if state != self._seen:
                self._seen, self._since = state, time.monotonic()
            stands_still = time.monotonic() - self._since > PATIENCE
            self.elected = row.holder == self._me or row.holder is None or stands_still
            if self.elected:
                connection.execute(
                    update(leases).where(leases.c.name == NAME).values(holder=self._me, beat=row.beat + 1)
                )
        return self.elected

    def fenced(self, connection: Connection) -> None:
        """Raise `Lost` unless this one is still elected; then nobody else is until the transaction ends."""
        holder = connection.execute(
            select(leases.c.holder).where(leases.c.name == NAME).with_for_update()
        ).scalar_one_or_none()
        if holder != self._me:
            self.elected = False
            raise Lost

    def resign(self) -> None:
        """Let another one take over at once."""
        with self._database.writing() as connection:
            connection.execute(
                update(leases).where(leases.c.name == NAME, leases.c.holder == self._me).values(holder=None)
            )
        self.elected = False
