"""Deletions that a restored backup must not undo: save which there were, and do them again.

    python deploy/deletions.py save FILE   # from the running service, often, to another disk
    python deploy/deletions.py redo FILE   # into the restored database, before a server starts on it

The database is the one of CROWDVEIL_DATABASE, as for `crowdveil serve`. FILE holds ids of campaigns and
digests of participants' tokens: no report, no token, no name. It replaces an older FILE whole.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from crowdveil.service.problems import Refusal, Refused
from crowdveil.service.settings import Settings
from crowdveil.service.store import campaigns, operators
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import withdraw
from crowdveil.service.store.schema import campaigns as campaigns_table
from crowdveil.service.store.schema import journal, reports


def deletions(connection: Connection) -> dict[str, Any]:
    """Campaigns that were deleted, and for each other one the participants who withdrew."""
    deleted = select(journal.c.campaign).where(journal.c.action == "delete").distinct()
    gone = (
        select(campaigns_table.c.id, reports.c.participant)
        .join(reports, reports.c.campaign == campaigns_table.c.number)
        .where(reports.c.seq.is_not(None), reports.c.payload.is_(None))
        .distinct()
    )
    withdrawn: dict[str, list[str]] = {}
    for row in connection.execute(gone):
        withdrawn.setdefault(row.id, []).append(bytes(row.participant).hex())
    return {"campaigns": sorted(connection.execute(deleted).scalars()), "withdrawn": withdrawn}


def redo(connection: Connection, saved: dict[str, Any]) -> dict[str, int]:
    """Delete again what came back: how many campaigns, and how many reports."""
    removed = 0
    for id in saved["campaigns"]:
        try:
            campaigns.remove(connection, campaigns.find(connection, id))
        except Refused:
            continue  # it did not come back
        operators.note(connection, "(restore)", "delete", id)
        removed += 1
    reports_gone = 0
    for id, participants in saved["withdrawn"].items():
        try:
            campaign = campaigns.find(connection, id).intake
        except Refused:
            continue  # it began after the backup
        for participant in participants:
            outcome = withdraw(connection, campaign, bytes.fromhex(participant))
            reports_gone += 0 if isinstance(outcome, Refusal) else outcome
    return {"campaigns": removed, "reports": reports_gone}


def main() -> None:
    """Save or redo."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("save", "redo"):
        sys.exit("usage: deletions.py save|redo FILE")
    path, database = Path(sys.argv[2]), Database(Settings().database)
    try:
        if sys.argv[1] == "save":
            with database.reading() as connection:
                content = json.dumps(deletions(connection))
            draft = path.with_name(f"{path.name}.new")
            draft.touch(mode=0o600)
            draft.write_text(content)
            os.replace(draft, path)  # noqa: PTH105, whole or not at all
        else:
            database.migrate()
            with database.writing() as connection:
                done = redo(connection, json.loads(path.read_text()))
            database.erase_freed()
            sys.stdout.write(f"deleted again: {done['campaigns']} campaigns, {done['reports']} reports\n")
    finally:
        database.close()


if __name__ == "__main__":
    main()
