"""Results in the database: a small summary that requests read, and files that exports are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from crowdveil.service.store.schema import result_files, results


@dataclass(frozen=True)
class KeptResult:
    """The last result of a wave, and what it was computed from."""

    as_of: str
    provisional: bool
    received: int
    withdrawn: int
    seconds: float
    summary: Mapping[str, Any]


def read(connection: Connection, campaign: int, wave: int) -> KeptResult | None:
    """The last result of a wave."""
    row = connection.execute(
        select(results).where(results.c.campaign == campaign, results.c.wave == wave)
    ).first()
    if row is None:
        return None
    counted = (row.as_of, row.provisional, row.received, row.withdrawn, row.seconds)
    return KeptResult(*counted, json.loads(row.summary))


def read_file(connection: Connection, campaign: int, wave: int, name: str) -> bytes | None:
    """A file of the last result."""
    where = (result_files.c.campaign == campaign, result_files.c.wave == wave, result_files.c.name == name)
    content = connection.execute(select(result_files.c.content).where(*where)).scalar_one_or_none()
    return None if content is None else bytes(content)


def write(
    connection: Connection, campaign: int, wave: int, result: KeptResult, files: Mapping[str, bytes]
) -> None:
    """Put a result in the place of the last one."""
    connection.execute(
        delete(result_files).where(result_files.c.campaign == campaign, result_files.c.wave == wave)
    )
    connection.execute(delete(results).where(results.c.campaign == campaign, results.c.wave == wave))
    row = {
        "as_of": result.as_of,
        "provisional": result.provisional,
        "received": result.received,
        "withdrawn": result.withdrawn,
        "seconds": result.seconds,
        "summary": json.dumps(result.summary, allow_nan=False),
    }
    connection.execute(insert(results).values(campaign=campaign, wave=wave, **row))
    for name, content in files.items():
        connection.execute(
            insert(result_files).values(campaign=campaign, wave=wave, name=name, content=content)
        )
