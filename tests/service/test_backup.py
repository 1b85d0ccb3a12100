"""Backups of a server under load: what was acknowledged before is in them once, and nothing is counted twice.

The ways to back up and to restore are those of docs/deploy.md.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked
from crowdveil.randomness import seeded
from crowdveil.service.store.database import Database
from postgres import Postgres
from serving import Server

ROOT = Path(__file__).parents[2]
AT_ONCE = 10
Start = Callable[..., Server]
ASKED = {
    "title": "noise",
    "kind": "sensing",
    "objects": ["elm", "oak"],
    "range": [30, 90],
    "epsilon": 1,
}


@dataclass
class Crowd:
    """Devices that report one after the other, each with a report that it drew once."""

    campaign: str
    lines: list[dict[str, Any]]
    acknowledged: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, document: dict[str, Any], people: int) -> Crowd:
        kind, rng = Campaign.from_dict(document).kind, seeded(17)
        drawn = [kind.report_one({"elm": 55.0, "oak": 61.0}, Asked(0), rng=rng) for _ in range(20)]
        lines = [
            {"participant": f"device-{number}", "key": f"key-{number}", "report": drawn[number % 20]}
            for number in range(people)
        ]
        return cls(document["id"], lines)

    def send(self, client: httpx.Client, numbers: range) -> list[int]:
        """The status of each report."""
        body = "\n".join(json.dumps(self.lines[number]) for number in numbers)
        answer = client.post(
            f"/campaigns/{self.campaign}/reports/batch",
            content=body,
            headers={"Content-Type": "application/x-ndjson"},
        )
        assert answer.status_code == 200
        return [json.loads(line)["status"] for line in answer.text.splitlines()]

    @contextmanager
    def reporting(self, client: httpx.Client) -> Iterator[None]:
        """All of them report meanwhile, until the block ends."""
        stopped = threading.Event()

        def run() -> None:
            for first in range(0, len(self.lines), AT_ONCE):
                if stopped.is_set():
                    return
                numbers = range(first, first + AT_ONCE)
                if self.send(client, numbers) == [201] * AT_ONCE:
                    self.acknowledged.extend(numbers)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def wait_for(self, more: int) -> int:
        """How many are acknowledged, once there are so many more than now."""
        wanted, give_up = len(self.acknowledged) + more, time.monotonic() + 60
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < give_up
            time.sleep(0.005)
        return len(self.acknowledged)


def _opened(operator: httpx.Client) -> dict[str, Any]:
    document: dict[str, Any] = operator.post("/campaigns", json=ASKED).json()
    assert operator.patch(f"/campaigns/{document['id']}", json={"state": "open"}).status_code == 200
    return document


def _vacuum_into(database: str, folder: Path) -> str:
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as source:
        source.execute("VACUUM INTO ?", [str(folder / "copy.sqlite3")])
    return f"sqlite:///{folder / 'copy.sqlite3'}"


def _backup_call(database: str, folder: Path) -> str:
    with (
        closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as source,
        closing(sqlite3.connect(folder / "copy.sqlite3")) as copy,
    ):
        source.backup(copy)
    return f"sqlite:///{folder / 'copy.sqlite3'}"


def _dumped(postgres: Postgres) -> Callable[[str, Path], str]:
    def copy(database: str, folder: Path) -> str:
        plain, new = (
            url.replace("postgresql+psycopg", "postgresql") for url in (database, postgres.new_database())
        )
        postgres.run("pg_dump", "--format=custom", "--file=copy.dump", plain)
        postgres.run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={new}", "copy.dump")
        return new.replace("postgresql", "postgresql+psycopg", 1)

    return copy


Way = tuple[str, Callable[[str, Path], str]]


@pytest.fixture
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    """An empty database, and a way to copy it into another one."""
    if request.param == "pg_dump":
        postgres = request.getfixturevalue("postgres")
        return postgres.new_database(), _dumped(postgres)
    copy = _vacuum_into if request.param == "VACUUM INTO" else _backup_call
    return f"sqlite:///{tmp_path / 'service.sqlite3'}", copy


@pytest.mark.parametrize("way", ["VACUUM INTO", "backup call", "pg_dump"], indirect=True)
def test_what_was_acknowledged_before_a_backup_is_in_it_and_nothing_is_counted_twice(
    way: Way, start: Start, tmp_path: Path
) -> None:
    database, copy = way
    server = start(database)
    operator = server.operator()
    crowd = Crowd.of(_opened(operator), people=20_000)
    with crowd.reporting(server.client()):
        before = crowd.wait_for(200)
        restored_database = copy(database, tmp_path)
        crowd.wait_for(50)  # the copy was made while others reported
    server.stop()
    token = operator.headers["Authorization"].removeprefix("Bearer ")

    restored = start(restored_database)
    mine, devices = restored.client(token), restored.client()
    reports = mine.get(f"/campaigns/{crowd.campaign}/results").json()["reports"]
    assert before <= reports < len(crowd.acknowledged)
    sent = range(len(crowd.acknowledged))
    again = crowd.send(devices, sent)
    assert set(again[:before]) == {200}
    assert again.count(200) == reports
    assert again.count(201) == len(sent) - reports
    assert set(crowd.send(devices, sent)) == {200}
    exported = pl.read_parquet(mine.get(f"/campaigns/{crowd.campaign}/reports.parquet").content)
    assert exported["user"].n_unique() == len(sent)
    assert exported.height == 2 * len(sent)
    assert mine.get(f"/campaigns/{crowd.campaign}/results").json()["reports"] == len(sent)


def test_a_file_that_is_copied_without_its_log_lacks_acknowledged_reports(
    start: Start, tmp_path: Path
) -> None:
    """Why docs/deploy.md says never to copy the file alone."""
    path = tmp_path / "service.sqlite3"
    server = start(f"sqlite:///{path}")
    crowd = Crowd.of(_opened(server.operator()), people=AT_ONCE)
    assert crowd.send(server.client(), range(AT_ONCE)) == [201] * AT_ONCE
    (tmp_path / "alone.sqlite3").write_bytes(path.read_bytes())
    with closing(sqlite3.connect(tmp_path / "alone.sqlite3")) as alone:
        tables = {name for (name,) in alone.execute("SELECT name FROM sqlite_master")}
        kept = alone.execute("SELECT count(*) FROM reports").fetchone()[0] if "reports" in tables else 0
    assert kept < AT_ONCE


def test_a_new_database_is_for_its_owner_alone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new' / 'service.sqlite3'}")
    database.migrate()
    with database.reading():
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()}
    assert modes == dict.fromkeys(("service.sqlite3", "service.sqlite3-wal", "service.sqlite3-shm"), 0o600)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    database.close()


def _deletions(server: Server, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "deploy" / "deletions.py", *arguments],
        env=server.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("way", ["VACUUM INTO", "pg_dump"], indirect=True)
def test_what_was_deleted_after_a_backup_comes_back_and_can_be_deleted_again(
    way: Way, start: Start, tmp_path: Path
) -> None:
    database, copy = way
    server = start(database)
    operator = server.operator()
    crowd, other = Crowd.of(_opened(operator), people=3 * AT_ONCE), _opened(operator)
    device = server.client()
    assert crowd.send(device, range(3 * AT_ONCE)) == [201] * 3 * AT_ONCE
    assert device.delete(f"/campaigns/{crowd.campaign}/reports/device-1").json() == {"withdrawn": 1}
    restored_database = copy(database, tmp_path)
    assert device.delete(f"/campaigns/{crowd.campaign}/reports/device-2").json() == {"withdrawn": 1}
    assert operator.delete(f"/campaigns/{other['id']}").status_code == 204
    saved = tmp_path / "deletions.json"
    _deletions(server, "save", str(saved))
    assert saved.stat().st_mode & 0o777 == 0o600
    assert "device" not in saved.read_text()
    server.stop()

    restored = Server(restored_database, tmp_path / "restored")
    assert _deletions(restored, "redo", str(saved)) == "deleted again: 1 campaigns, 1 reports\n"
    assert _deletions(restored, "redo", str(saved)) == "deleted again: 0 campaigns, 0 reports\n"
    with restored:
        token = operator.headers["Authorization"].removeprefix("Bearer ")
        mine, devices = restored.client(token), restored.client()
        assert mine.get(f"/campaigns/{other['id']}").status_code == 404
        results = mine.get(f"/campaigns/{crowd.campaign}/results").json()
        assert (results["reports"], results["withdrawn"]) == (3 * AT_ONCE - 2, 2)
        assert crowd.send(devices, range(4)) == [200, 409, 409, 200]
