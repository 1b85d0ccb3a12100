"""kill -9 of the server under load: what was acknowledged is there once, nothing is there twice or lost."""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from crowdveil.campaigns.kind import Asked
from crowdveil.campaigns.sensing import Sensing
from crowdveil.service.store.campaigns import built
from crowdveil.service.store.database import Database
from crowdveil.service.store.reports import digest
from crowdveil.service.store.schema import campaigns, reports, waves
from postgres import Postgres
from serving import Server

SENDERS = 3
ASKED = {"title": "t", "kind": "sensing", "objects": ["a", "b", "c"], "range": [0, 10], "epsilon": 1}
Start = Callable[..., Server]


class Load:
    """Devices that send, and send again with the same key until they are answered."""

    def __init__(self, server: Server, campaign: str) -> None:
        self._server, self._path = server, f"/api/v1/campaigns/{campaign}/reports"
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self.acknowledged: dict[str, dict[str, Any]] = {}
        self.errors: list[str] = []
        self._threads = [threading.Thread(target=self._send, args=(number,)) for number in range(SENDERS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _send(self, number: int) -> None:
        choice = random.Random(number)
        with httpx.Client(timeout=10) as client:
            while not self._stopped.is_set():
                lines = [_line(choice) for _ in range(choice.choice((1, 1, 1, 40)))]
                while lines:  # until all are answered, also after `stop`
                    lines = self._unanswered(client, lines)

    def _unanswered(self, client: httpx.Client, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        try:
            if len(lines) == 1:
                statuses = [client.post(self._server.url + self._path, json=lines[0]).status_code]
            else:
                body = "\n".join(map(json.dumps, lines))
                kind = {"Content-Type": "application/x-ndjson"}
                answer = client.post(f"{self._server.url}{self._path}/batch", content=body, headers=kind)
                statuses = [json.loads(line)["status"] for line in answer.text.splitlines()]
        except (httpx.TransportError, ValueError):  # it was killed, perhaps in the middle of a line
            time.sleep(0.02)
            return lines
        left = []
        for line, status in zip(lines, statuses, strict=False):
            if status in (200, 201):
                with self._lock:
                    self.acknowledged[line["participant"]] = line
            elif status == 503:
                left.append(line)
            else:
                self.errors.append(f"{status}")
        return left + lines[len(statuses) :]


def _line(choice: random.Random) -> dict[str, Any]:
    report = [[name, choice.randrange(-3000, 4000)] for name in "abc"]
    return {
        "participant": secrets.token_urlsafe(12),
        "key": secrets.token_urlsafe(12),
        "report": {"v": 1, "mechanism": "laplace", "payload": report},
    }


def kept(url: str, campaign: str) -> tuple[dict[bytes, bytes], list[int], int, Sensing]:
    """What is in the database: payloads by participant, all seqs, how many were counted; and the kind."""
    database = Database(url)
    with database.reading() as connection:
        row = connection.execute(select(campaigns).where(campaigns.c.id == campaign)).one()
        rows = connection.execute(
            select(reports.c.participant, reports.c.payload, reports.c.seq).where(
                reports.c.campaign == row.number
            )
        ).all()
        counted = connection.execute(
            select(waves.c.received).where(waves.c.campaign == row.number)
        ).scalar_one()
    database.close()
    kind = built(row.document).kind
    assert isinstance(kind, Sensing)
    payloads = {bytes(each.participant): bytes(each.payload) for each in rows}
    assert len(payloads) == len(rows)
    return payloads, sorted(each.seq for each in rows), counted, kind


def check(url: str, campaign: str, load: Load) -> int:
    """Everything that was acknowledged is there once, as it was sent, and nothing else is."""
    assert not load.errors
    payloads, seqs, counted, kind = kept(url, campaign)
    sent = {
        digest(campaign, participant): kind.receive(line["report"], 1, Asked(0), {})
        for participant, line in load.acknowledged.items()
    }
    assert payloads == sent
    assert seqs == list(range(counted)) == list(range(len(sent)))
    return len(sent)


def opened(server: Server) -> str:
    operator = server.operator()
    campaign: str = operator.post("/campaigns", json=ASKED).json()["id"]
    assert operator.patch(f"/campaigns/{campaign}", json={"state": "open"}).status_code == 200
    return campaign


def killed(server: Server, campaign: str, times: int) -> Load:
    """A load during which the server is killed that often."""
    choice = random.Random(times)
    with Load(server, campaign) as load:
        for _ in range(times):
            before, give_up = len(load.acknowledged), time.monotonic() + 30
            while len(load.acknowledged) == before and time.monotonic() < give_up:
                time.sleep(0.005)  # there is a load when it is killed
            time.sleep(choice.uniform(0.0, 0.3))
            server.kill()
            server.start()
    return load


@pytest.mark.parametrize("times", [1, pytest.param(100, marks=pytest.mark.slow_audit)])
def test_a_server_that_is_killed_loses_and_doubles_nothing(database: str, start: Start, times: int) -> None:
    server = start(database, worker=False)
    campaign = opened(server)
    load = killed(server, campaign, times)
    assert check(database, campaign, load) > times


def test_a_database_that_crashes_loses_and_doubles_nothing(postgres: Postgres, start: Start) -> None:
    url = postgres.new_database()
    server = start(url, worker=False)
    campaign = opened(server)
    with Load(server, campaign) as load:
        time.sleep(0.7)
        postgres.stop("immediate")
        postgres.start()
    assert check(url, campaign, load) > 0
