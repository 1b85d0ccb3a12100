"""The form of the memory's file: its tables, and what is refused because it has another form."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from crowdveil.errors import InputError

APPLICATION = 0x43564D31  # "CVM1"
VERSION = 2
_SCHEMA = (
    "CREATE TABLE secrets (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL)",
    "CREATE TABLE campaigns (id TEXT PRIMARY KEY, document BLOB NOT NULL)",
    """CREATE TABLE reports (
        campaign TEXT NOT NULL REFERENCES campaigns (id),
        wave INTEGER NOT NULL,
        person BLOB NOT NULL,
        name BLOB NOT NULL,
        participant TEXT NOT NULL,
        key TEXT NOT NULL,
        place INTEGER,
        round INTEGER,
        report TEXT NOT NULL,
        outcome TEXT,
        PRIMARY KEY (campaign, wave, person),
        UNIQUE (campaign, wave, participant)
    ) WITHOUT ROWID""",
    "CREATE INDEX reports_alike ON reports (campaign, wave, name)",
    "CREATE INDEX reports_unanswered ON reports (campaign, person) WHERE outcome IS NULL",
    # What was drawn stays as it is: only its outcome changes, and a token that was no invitation.
    """CREATE TRIGGER reports_stay BEFORE UPDATE OF campaign, wave, person, name, key, place, round, report
    ON reports BEGIN SELECT raise(ABORT, 'a report that was drawn stays'); END""",
    """CREATE TRIGGER reports_last BEFORE DELETE
    ON reports BEGIN SELECT raise(ABORT, 'a report that was drawn stays'); END""",
)


def prepare(path: Path, db: sqlite3.Connection) -> None:
    """Make the tables of an empty file; refuse a file that is something else."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if (application, version) == (APPLICATION, VERSION):
        return
    if application or version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise InputError(f"{path}: {_what_else(application, version)}")
    for statement in _SCHEMA:
        db.execute(statement)
    db.execute("INSERT INTO secrets VALUES (1, ?)", (secrets.token_bytes(32),))
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def _what_else(application: int, version: int) -> str:
    if application != APPLICATION:
        return "is not a memory of reports"
    if version > VERSION:
        return "is the memory of a newer version"
    return (
        "is the memory of an earlier version, which cannot tell one token under two names: use that version"
    )
