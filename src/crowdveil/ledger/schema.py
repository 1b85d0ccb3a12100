"""The tables of a ledger file, and the triggers that refuse to change or remove entries."""

from __future__ import annotations

LEDGER_VERSION = 3
APPLICATION = 0x43564C47  # SQLite application id of the file: "CVLG"

_TABLES = {
    # table: (its key, its columns)
    "budgets": (
        "dataset",
        """dataset TEXT PRIMARY KEY NOT NULL, time TEXT NOT NULL, epsilon TEXT NOT NULL,
        unit TEXT NOT NULL, adjacency TEXT NOT NULL, trust TEXT NOT NULL,
        CHECK (epsilon NOT GLOB '*[^0-9.eE+-]*' AND CAST(epsilon AS REAL) > 0)""",
    ),
    "charges": (
        "id",
        """id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, dataset TEXT NOT NULL,
        method TEXT NOT NULL, kind TEXT NOT NULL, epsilon TEXT, delta TEXT,
        unit TEXT, adjacency TEXT, trust TEXT, seeded INTEGER NOT NULL CHECK (seeded IN (0, 1)),
        CHECK ((kind = 'differential privacy') = (epsilon IS NOT NULL)),
        CHECK ((epsilon IS NULL) = (delta IS NULL) AND (epsilon IS NULL) = (unit IS NULL)),
        CHECK ((epsilon IS NULL) = (adjacency IS NULL) AND (epsilon IS NULL) = (trust IS NULL)),
        CHECK (epsilon NOT GLOB '*[^0-9.eE+-]*' AND CAST(epsilon AS REAL) >= 0),
        CHECK (delta NOT GLOB '*[^0-9.eE+-]*' AND CAST(delta AS REAL) >= 0)""",
    ),
    "releases": ("charge", "charge INTEGER PRIMARY KEY NOT NULL REFERENCES charges (id), time TEXT NOT NULL"),
    "details": (
        "charge",
        """charge INTEGER PRIMARY KEY NOT NULL REFERENCES charges (id),
        parameters TEXT NOT NULL CHECK (json_valid(parameters)),
        events TEXT NOT NULL CHECK (json_valid(events))""",
    ),
    "bounds": (
        "charge",
        """charge INTEGER PRIMARY KEY NOT NULL REFERENCES charges (id),
        claims_of_a_user INTEGER NOT NULL CHECK (claims_of_a_user >= 1)""",
    ),
}
_SINCE = {"details": 2, "bounds": 3}  # the version that added a table; the others exist since version 1


def schema(version: int = LEDGER_VERSION) -> dict[str, str]:
    """The SQL statements of all tables and triggers of a version, by name.

    INSERT OR REPLACE removes rows without firing the trigger against DELETE, so it has its own trigger.
    """
    refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    statements = {}
    for table, (key, columns) in _TABLES.items():
        if _SINCE.get(table, 1) > version:
            continue
        statements[table] = f"CREATE TABLE {table} ({columns})"
        for change in ("update", "delete"):
            name = f"{table}_{change}"
            statements[name] = f"CREATE TRIGGER {name} BEFORE {change.upper()} ON {table} {refuse}"
        exists = f"(SELECT 1 FROM {table} WHERE {key} = NEW.{key})"  # noqa: S608, both are named above
        statements[f"{table}_replace"] = (
            f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} WHEN EXISTS {exists} {refuse}"
        )
    return statements
