"""How to reach the database: SQLite in a file, or PostgreSQL; one schema for both.

A transaction is `reading()` or `writing()`. On SQLite a writing one takes the write lock when it begins, so
that it never fails half-way because somebody else writes too; on PostgreSQL rows are locked where it matters,
and whatever is read after a lock was waited for is read as it is then (READ COMMITTED, whatever the
server's own default is). What is committed is on the disk: both databases sync their log with every commit.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SQLAlchemyError

from crowdveil.errors import InputError, ParameterError
from crowdveil.state_folder import state_folder

BUSY_SECONDS = 30
TURN_SECONDS = 0.001  # between two tries to write
ERASE_MILLISECONDS = 100  # all writers wait so long at most while the log is emptied
MIGRATION_LOCK = 0x63726F7764  # of PostgreSQL's advisory locks; "crowd"
POSTGRES = (  # settings of every connection
    "timezone=UTC",
    "lock_timeout=30s",
    "synchronous_commit=on",
)


def default_url() -> str:
    """An SQLite file in the state folder, beside the ledger."""
    return f"sqlite:///{state_folder('database: name one with --database URL') / 'service.sqlite3'}"


class Database:
    """A pool of connections."""

    def __init__(self, url: str, *, connections: int = 8) -> None:
        try:
            parsed = make_url(url)
            kind = parsed.get_backend_name()
        except (ArgumentError, NoSuchModuleError):
            raise ParameterError(
                "--database takes sqlite:////path or postgresql+psycopg://user@host/name"
            ) from None
        if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
            raise ParameterError("--database takes sqlite:////path or postgresql+psycopg://user@host/name")
        self.sqlite = kind == "sqlite"
        if self.sqlite:
            if not parsed.database or parsed.database == ":memory:":
                raise ParameterError("--database takes an SQLite file: sqlite:////path")
            _create(Path(parsed.database))
        options: dict[str, Any] = {"pool_size": connections, "max_overflow": 4, "hide_parameters": True}
        if self.sqlite:
            options["connect_args"] = {"timeout": BUSY_SECONDS, "check_same_thread": False}
        else:
            options |= {"pool_pre_ping": True, "pool_recycle": 1800, "isolation_level": "READ COMMITTED"}
            options["connect_args"] = {
                "options": " ".join(f"-c {setting}" for setting in POSTGRES),
                "connect_timeout": 10,
                "prepare_threshold": None,  # a plan that was made while tables were small stays slow for good
            }
        self.engine: Engine = create_engine(parsed, **options)
        if self.sqlite:
            event.listen(self.engine, "connect", lambda connection, _: configure(connection))
            event.listen(self.engine, "begin", _begin)
        self._writer = self.engine.execution_options(writes=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing, and sees one state of the database on SQLite."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed as a whole, or not at all."""
        with self._writer.connect() as connection, connection.begin():
            yield connection

    def migrate(self) -> None:
        """Bring the tables to this version, one process at a time; refuses those of a newer one."""
        if self._is_current():
            return  # the usual start, which is a quick one
        from alembic import command
        from alembic.config import Config
        from alembic.script import ScriptDirectory
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
        config.attributes["configure_logger"] = False
        try:
            with self.writing() as connection:
                if not self.sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
                config.attributes["connection"] = connection
                command.upgrade(config, ScriptDirectory.from_config(config).get_current_head() or "head")
        except CommandError:
            raise InputError(
                "the database belongs to a newer version of crowdveil: upgrade crowdveil, or restore a backup"
            ) from None
        except SQLAlchemyError as error:
            raise InputError(f"the database cannot be used ({reason(error)})") from None

    def _is_current(self) -> bool:
        """Whether the tables are those of this version."""
        steps = Path(__file__).with_name("migrations") / "versions"
        newest = max(step.name[1:5] for step in steps.glob("m[0-9]*.py"))
        try:
            with self.reading() as connection:
                found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
        except SQLAlchemyError:
            return False  # there are no tables yet, or the migration will say what is wrong
        return list(found) == [newest]

    def erase_freed(self) -> bool:
        """Let go of what was deleted: SQLite overwrites it, and then the log is emptied.

        Whether that was possible: somebody who reads may need the log still, and nobody is made to wait for
        that. The worker tries again.
        """
        if not self.sqlite:
            return True
        with self.engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            raw.execute(f"PRAGMA busy_timeout={ERASE_MILLISECONDS}")
            try:
                busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError:
                return False
            finally:
                raw.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
        return not busy

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def reason(error: SQLAlchemyError) -> str:
    """Why the database refused, in its own words, without statement, parameters or address."""
    original = getattr(error, "orig", None)
    if original is None:
        return type(error).__name__
    lines = str(original).strip().splitlines()
    return lines[0][:200] if isinstance(original, sqlite3.Error) and lines else type(original).__name__


def _create(path: Path) -> None:
    """A new file is for its owner alone; SQLite gives its log the same rights."""
    with suppress(OSError):  # whatever is wrong, SQLite tells when it opens the file
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def configure(connection: sqlite3.Connection) -> None:
    """The settings of every connection to an SQLite file."""
    connection.isolation_level = None  # transactions are begun below, not guessed
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
        f"busy_timeout={BUSY_SECONDS * 1000}",
        "cache_size=-65536",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("writes"):
        _take_turn(connection.connection.driver_connection)
    else:
        connection.exec_driver_sql("BEGIN")


def _take_turn(connection: Any) -> None:
    """Begin to write when nobody else does; SQLite's own waiting would sleep up to a tenth of a second."""
    deadline = time.monotonic() + BUSY_SECONDS
    connection.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise OperationalError("BEGIN IMMEDIATE", None, error) from error
            time.sleep(TURN_SECONDS)
    finally:
        connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
