"""A database that is full, read-only or gone: nothing is half-written; once it is back, it is used again."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
from sqlalchemy.engine import make_url

from crowdveil.service.store.database import _take_turn
from devices import assert_problem, create, operator, report, rows, send, submission, until
from postgres import Postgres
from serving import Server

NDJSON = {"Content-Type": "application/x-ndjson"}
DAC_OVERRIDE, DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


def assert_unavailable(answer: httpx.Response) -> None:
    assert_problem(answer, 503, "database")
    assert int(answer.headers["retry-after"]) >= 1


def test_a_full_disk_keeps_nothing_and_the_service_comes_back(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    server = start(f"sqlite:///{tmp_path / 'service.sqlite3'}", worker=False)
    ann, device = operator(server), server.client()
    campaign = create(ann)
    address = f"/campaigns/{campaign['id']}"
    assert send(device, campaign, "early").status_code == 201
    before = rows(server)
    unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, unlimited[1]))  # no file grows or is written
    try:
        body = submission(device, campaign, "p")
        assert_unavailable(device.post(f"{address}/reports", json=body))
        assert_unavailable(device.post(f"{address}/places", json={"participant": "p"}))
        assert_unavailable(device.delete(f"{address}/reports/early"))
        assert_unavailable(ann.post("/campaigns", json={**CAMPAIGN}))
        assert_unavailable(ann.patch(address, json={"state": "paused"}))
        assert_unavailable(ann.delete(address))
        lines = b"\n".join(json.dumps({**body, "participant": f"p{who}"}).encode() for who in range(20))
        answer = device.post(f"{address}/reports/batch", content=lines, headers=NDJSON)
        assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [503] * 20
        assert ann.get(f"{address}/results").json()["reports"] == 1
        assert httpx.get(f"{server.url}/healthz").status_code == 200
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
    assert rows(server) == before
    assert device.post(f"{address}/reports", json=body).status_code == 201
    assert device.post(f"{address}/reports", json=body).status_code == 200
    assert ann.get(f"{address}/results").json()["reports"] == 2


CAMPAIGN = {"title": "t", "kind": "sensing", "objects": ["a"], "range": [0, 1], "epsilon": 1}


def test_a_read_only_file_is_refused_in_one_line(tmp_path: Path, start: Callable[..., Server]) -> None:
    file = tmp_path / "data" / "service.sqlite3"
    server = start(f"sqlite:///{file}", worker=False)
    operator(server)
    server.stop()
    content = file.read_bytes()
    file.chmod(0o444)
    file.parent.chmod(0o555)
    done: list[subprocess.CompletedProcess[str]] = []

    def serve() -> None:
        if os.geteuid() == 0:  # who could write anyway; this thread and what it starts no longer can
            library = ctypes.CDLL(None, use_errno=True)
            for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
                assert library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
        command = [sys.executable, "-m", "crowdveil", "serve", "--port", "0"]
        done.append(
            subprocess.run(
                command, env=server.environment(), capture_output=True, text=True, timeout=60, check=False
            )
        )

    try:
        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()
    finally:
        file.parent.chmod(0o755)
        file.chmod(0o644)
    assert done[0].returncode == 2, done[0].stderr
    assert len(done[0].stderr.strip().splitlines()) == 1
    assert "Traceback" not in done[0].stderr
    assert file.read_bytes() == content


def test_a_read_only_postgresql_answers_reads_and_refuses_the_rest(
    postgres: Postgres, start: Callable[..., Server]
) -> None:
    database = postgres.new_database()
    server = start(database, worker=False)
    ann, device = operator(server), server.client()
    campaign = create(ann)
    address = f"/campaigns/{campaign['id']}"
    body = submission(device, campaign, "p")
    before = rows(server)
    read_only(database, "on")
    try:
        until(lambda: ann.patch(address, json={"state": "open"}).status_code == 503)
        assert_unavailable(device.post(f"{address}/reports", json=body))
        assert_unavailable(device.post(f"{address}/places", json={"participant": "p"}))
        assert_unavailable(ann.post("/campaigns", json=CAMPAIGN))
        assert_unavailable(ann.delete(address))
        assert ann.get(address).json() == campaign
        assert ann.get(f"{address}/results").status_code == 200
    finally:
        read_only(database, "off")
    after = rows(server)
    del before["journal"], after["journal"]  # what was patched before it took effect
    assert after == before
    assert device.post(f"{address}/reports", json=body).status_code == 201


def read_only(database: str, word: str) -> None:
    """Make a database read-only, and end what is connected to it, so that it takes effect."""
    url = make_url(database)
    name = str(url.database)
    with psycopg.connect(
        host=url.host, port=url.port or 5432, user=url.username, dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {word}'.encode())
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )


def test_a_database_server_that_stops_and_starts_again_is_used_again(
    postgres: Postgres, start: Callable[..., Server]
) -> None:
    server = start(postgres.new_database())
    ann, device = operator(server), server.client()
    campaign = create(ann)
    address = f"/campaigns/{campaign['id']}"
    kept = submission(device, campaign, "kept")
    assert device.post(f"{address}/reports", json=kept).status_code == 201
    lost = submission(device, campaign, "lost")
    postgres.stop()
    try:
        for answer in (
            device.post(f"{address}/reports", json=lost),
            device.post(f"{address}/places", json={"participant": "lost"}),
            device.get(address),
            ann.get("/campaigns"),
            ann.get(f"{address}/results"),
        ):
            assert_unavailable(answer)
        until(lambda: httpx.get(f"{server.url}/readyz").status_code != 200)  # it looks once a second
        assert_unavailable(httpx.get(f"{server.url}/readyz"))
        line = json.dumps({"participant": "x", "key": "k", "report": report(campaign)}).encode()
        batch = device.post(f"{address}/reports/batch", content=line, headers=NDJSON)
        assert json.loads(batch.text)["status"] == 503
        assert httpx.get(f"{server.url}/healthz").status_code == 200
    finally:
        postgres.start()
    until(lambda: httpx.get(f"{server.url}/readyz").status_code == 200)
    assert device.post(f"{address}/reports", json=lost).status_code == 201
    assert device.post(f"{address}/reports", json=kept).status_code == 200
    until(lambda: ann.get(f"{address}/results").json()["counted"] == 2)


class Recovering:
    """A connection to a file whose log is being recovered by somebody else when it begins to write."""

    def __init__(self) -> None:
        self.tries = 0

    def execute(self, statement: str) -> None:
        if statement == "BEGIN IMMEDIATE":
            self.tries += 1
            if self.tries < 3:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
                raise error


def test_a_log_that_is_being_recovered_is_waited_for() -> None:
    connection = Recovering()
    _take_turn(connection)
    assert connection.tries == 3
