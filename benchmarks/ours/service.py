"""Ours as a server: reports over HTTP on loopback, beside the database's own inserts of the same rows."""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stopwatch import Arrays, Steps

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from crowdveil.campaigns.kind import Asked
from crowdveil.campaigns.sensing import Sensing
from crowdveil.service.store.bulk import insert_rows
from crowdveil.service.store.campaigns import find
from crowdveil.service.store.database import Database, configure
from crowdveil.service.store.reports import digest
from crowdveil.service.store.schema import reports as reports_table
from crowdveil.service.store.schema import waves
from postgres import Postgres, installation
from serving import Server, closed_result

LIBRARY = f"crowdveil {version('crowdveil')}"
OBJECTS = ("a", "b", "c", "d", "e")
ASKED = {"title": "benchmark", "kind": "sensing", "objects": list(OBJECTS), "range": [0, 10], "epsilon": 1}
LINES = 1000  # of a batch, and rows of a transaction of the database alone
CONNECTIONS = 8
COLUMNS = ("campaign", "wave", "place", "participant", "round", "seq", "key", "payload")
OPEN_SECONDS = 10.0
SHARE = 0.7  # of the largest rate, at which latencies are measured


def batches(inputs: Arrays, database: str, processes: int) -> Steps:
    """All reports in batches of a thousand, over several connections."""
    with _database(database) as url, _serving(url, processes=processes) as (server, campaign):
        bodies = [b"\n".join(part) for part in _parts(_lines(inputs))]
        path = f"/api/v1/campaigns/{campaign}/reports/batch"
        requests = [_request(server, path, body, "application/x-ndjson") for body in bodies]
        yield
        _closed_loop(server, requests, CONNECTIONS, whole=_last_chunk)
        yield
        return {"kept": _count(url)}


def rows(inputs: Arrays, database: str, way: str) -> Steps:
    """The rows of the same reports, inserted by the database's driver; a commit for every thousand."""
    with _database(database) as url:
        store = Database(url)
        store.migrate()
        kept = _rows(inputs)
        with store.writing() as connection:
            _campaign_row(connection)
        yield
        if database == "sqlite":
            _sqlite(url, kept)
        else:
            _postgres(url, kept, copy=way == "COPY")
        yield
        store.close()
        return {"kept": _count(url)}


def singles(inputs: Arrays, database: str, processes: int) -> Steps:
    """All reports one by one, as fast as they are taken; then latencies at a share of that rate."""
    with _database(database) as url, _serving(url, processes=processes) as (server, campaign):
        path = f"/api/v1/campaigns/{campaign}/reports"
        requests = [_request(server, path, line, "application/json") for line in _lines(inputs)]
        fast, later = requests[: len(requests) // 2], requests[len(requests) // 2 :]
        yield
        began = time.perf_counter()
        _closed_loop(server, fast, CONNECTIONS, whole=_body)
        rate = len(fast) / (time.perf_counter() - began)
        yield
        wanted = later[: int(SHARE * rate * OPEN_SECONDS)]
        waits = _open_loop(server, wanted, SHARE * rate)
        return {"kept": _count(url), "rate": rate, "waits": waits}


def one_by_one(inputs: Arrays, database: str) -> Steps:
    """The rows of half of the reports, each in a transaction of its own, as without group commit."""
    with _database(database) as url:
        store = Database(url)
        store.migrate()
        kept = _rows(inputs)
        kept = kept[: len(kept) // 2]
        with store.writing() as connection:
            _campaign_row(connection)
        yield
        if database == "sqlite":
            _sqlite(url, kept, rows=1)
        else:
            _postgres(url, kept, copy=False, rows=1)
        yield
        store.close()
        return {"kept": _count(url), "rate": 0.0, "waits": np.zeros(1)}


def million(inputs: Arrays, database: str) -> Steps:
    """A server with all these reports starts; then how quick results are, and how soon new reports count."""
    with _database(database) as url, tempfile.TemporaryDirectory() as name:
        server = Server(url, Path(name))
        with server:
            campaign, operator_token = _open(server)
        _fill(url, campaign, inputs)
        yield
        server.start()
        yield
        try:
            return {"kept": _count(url), **_looked_at(server, campaign, operator_token, inputs)}
        finally:
            server.__exit__(None)


def _looked_at(server: Server, campaign: str, token: str, inputs: Arrays) -> dict[str, Any]:
    operator, device = server.client(token), server.client()
    results, count = f"/campaigns/{campaign}/results", len(inputs["steps"])
    began = time.perf_counter()
    while operator.get(results).json()["counted"] < count:
        time.sleep(0.05)
    first = time.perf_counter() - began
    waits = []
    for _ in range(200):
        asked = time.perf_counter()
        assert operator.get(results).status_code == 200
        waits.append(time.perf_counter() - asked)
    more = json.loads(_line(["x" * 20, "y" * 20], inputs["steps"][0]))
    began = time.perf_counter()
    assert device.post(f"/campaigns/{campaign}/reports", json=more).status_code == 201
    while operator.get(results).json()["reports"] <= count:
        time.sleep(0.01)
    counted = time.perf_counter() - began
    while operator.get(results).json()["counted"] <= count:
        time.sleep(0.05)
    estimated = time.perf_counter() - began
    began = time.perf_counter()
    closed_result(operator, campaign, 600)
    return {
        "first": first,
        "results": np.array(waits),
        "counted": counted,
        "estimated": estimated,
        "closed": time.perf_counter() - began,
    }


# --- what is sent -------------------------------------------------------------------------------------------


def _line(tokens: Sequence[str], steps: Any) -> bytes:
    report = {
        "v": 1,
        "mechanism": "laplace",
        "payload": [[n, int(x)] for n, x in zip(OBJECTS, steps, strict=True)],
    }
    line = {"participant": tokens[0], "key": tokens[1], "report": report}
    return json.dumps(line, separators=(",", ":")).encode()


def _lines(inputs: Arrays) -> list[bytes]:
    tokens = [bytes(row).hex() for row in inputs["tokens"]]
    return [
        _line((text[:32], text[32:]), steps)
        for text, steps in zip(tokens, inputs["steps"].tolist(), strict=True)
    ]


def _rows(inputs: Arrays, campaign: str = "x", number: int = 1) -> list[tuple[Any, ...]]:
    """The rows that become of the same lines."""
    kind = Sensing.asked(ASKED)
    kept = []
    for place, line in enumerate(_lines(inputs)):
        sent = json.loads(line)
        payload = kind.receive(sent["report"], 1, Asked(0), {})
        who, key = digest(campaign, sent["participant"]), digest(campaign, sent["key"])
        kept.append((number, 1, place, who, 0, place, key, payload))
    return kept


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for first in range(0, len(items), LINES):
        yield items[first : first + LINES]


# --- databases ----------------------------------------------------------------------------------------------


@contextmanager
def _database(kind: str) -> Iterator[str]:
    """An empty database."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/service.sqlite3"
            return
        programs = installation()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed")
        postgres = Postgres(programs)
        try:
            yield postgres.new_database()
        finally:
            postgres.remove()


def _campaign_row(connection: Any) -> None:
    values = "1, 'x', '{}', 'open', 1, 'x', " + ("0" if connection.dialect.name == "sqlite" else "false")
    columns = "number, id, document, state, wave, created, published"
    connection.exec_driver_sql(f"INSERT INTO campaigns ({columns}) VALUES ({values})")


def _sqlite(url: str, kept: Sequence[tuple[Any, ...]], rows: int = LINES) -> None:
    """By the driver alone, with the settings of the service."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    configure(connection)
    statement = f"INSERT INTO reports ({', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    for first in range(0, len(kept), rows):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(statement, kept[first : first + rows])
        connection.execute("COMMIT")
    connection.close()


def _postgres(url: str, kept: Sequence[tuple[Any, ...]], *, copy: bool, rows: int = LINES) -> None:
    """By the driver alone: COPY, or executemany, which sends all rows before it waits."""
    import psycopg

    statement = f"INSERT INTO reports ({', '.join(COLUMNS)}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
    with psycopg.connect(url.replace("+psycopg", "")) as connection, connection.cursor() as cursor:
        for first in range(0, len(kept), rows):
            part = kept[first : first + rows]
            if copy:
                with cursor.copy(f"COPY reports ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)") as out:
                    out.set_types(["int4", "int4", "int8", "bytea", "int4", "int8", "bytea", "bytea"])
                    for row in part:
                        out.write_row(row)
            else:
                cursor.executemany(statement, part)
            connection.commit()


def _fill(url: str, campaign: str, inputs: Arrays) -> None:
    """All reports of a campaign, without the server."""
    store = Database(url)
    with store.writing() as connection:
        number = find(connection, campaign).number
        kept = _rows(inputs, campaign, number)
        for part in _parts(kept):
            insert_rows(connection, reports_table, COLUMNS, part)
        connection.execute(waves.update().values(seats=len(kept), received=len(kept)))
    store.close()


def _count(url: str) -> int:
    store = Database(url)
    with store.reading() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM reports").scalar_one()
    store.close()
    return int(count)


# --- the server and its clients -----------------------------------------------------------------------------


def _open(server: Server) -> tuple[str, str]:
    token = server.command("operator", "add", "bench")["token"]
    operator = server.client(token)
    campaign: str = operator.post("/campaigns", json=ASKED).json()["id"]
    assert operator.patch(f"/campaigns/{campaign}", json={"state": "open"}).status_code == 200
    return campaign, token


@contextmanager
def _serving(url: str, *, processes: int) -> Iterator[tuple[Server, str]]:
    """A server with an open campaign."""
    with tempfile.TemporaryDirectory() as name, Server(url, Path(name), processes=processes) as server:
        campaign, _ = _open(server)
        yield server, campaign


def _request(server: Server, path: str, body: bytes, kind: str) -> bytes:
    host = server.url.removeprefix("http://")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Connection:
    """A connection that is kept: a client that costs as little as it can."""

    def __init__(self, server: Server, whole: Any) -> None:
        host, _, port = server.url.removeprefix("http://").partition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._whole = whole

    def send(self, request: bytes) -> None:
        """Send a request, and wait for the whole answer."""
        self._socket.sendall(request)
        answer = self._socket.recv(2**20)
        while answer and not self._whole(answer):
            answer += self._socket.recv(2**20)
        if not answer.startswith((b"HTTP/1.1 201", b"HTTP/1.1 200")) or b'"status":4' in answer:
            raise RuntimeError(answer[:200].decode(errors="replace"))

    def close(self) -> None:
        self._socket.close()


def _body(answer: bytes) -> bool:
    return answer.endswith(b"}")


def _last_chunk(answer: bytes) -> bool:
    return answer.endswith(b"\r\n0\r\n\r\n")


def _closed_loop(server: Server, requests: Sequence[bytes], connections: int, whole: Any) -> None:
    """All requests, each connection sending its next one when the last one was answered."""
    waiting, lock, errors = iter(requests), threading.Lock(), list[BaseException]()

    def work() -> None:
        connection = _Connection(server, whole)
        try:
            while not errors:
                with lock:
                    request = next(waiting, None)
                if request is None:
                    return
                connection.send(request)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    _together(work, connections, errors)


def _open_loop(server: Server, requests: Sequence[bytes], rate: float) -> Any:
    """Seconds from when each request was due to its answer, if so many are due in a second."""
    waits, lock, numbers = np.zeros(len(requests)), threading.Lock(), iter(range(len(requests)))
    errors, began = list[BaseException](), time.perf_counter() + 0.1

    def work() -> None:
        connection = _Connection(server, _body)
        try:
            while not errors:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                due = began + number / rate
                time.sleep(max(0.0, due - time.perf_counter()))
                connection.send(requests[number])
                waits[number] = time.perf_counter() - due
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    _together(work, 4 * CONNECTIONS, errors)
    return waits


def _together(work: Any, threads: int, errors: list[BaseException]) -> None:
    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]
