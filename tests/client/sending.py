"""Campaigns and crowds for the tests of the client, and a server in between that has its moods."""

from __future__ import annotations

import http.server
import json
import sqlite3
import ssl
import threading
from contextlib import closing
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import polars as pl

OBJECTS = [f"object {number}" for number in range(8)]
SCHEMA = {
    "columns": {
        "sport": {"values": ["none", "some", "much"]},
        "age": {"edges": [0, 30, 60, 90]},
        "smokes": {"values": ["yes", "no"], "missing": True},
    }
}
ASKED: dict[str, dict[str, Any]] = {
    "sensing": {"kind": "sensing", "objects": OBJECTS, "range": [0, 10], "epsilon": 1},
    "sparse": {"kind": "sparse", "objects": OBJECTS, "range": [1, 5], "epsilon": 2},
    "slots": {
        **{"kind": "sparse", "objects": OBJECTS, "range": [1, 5], "epsilon": 2},
        **{"mechanism": "slots", "people": 200},
    },
    "records": {"kind": "records", "schema": SCHEMA, "epsilon": 2, "people": 200},
}


def opened(operator: httpx.Client, kind: str, **more: Any) -> str:
    """The id of a new campaign that is open."""
    created = operator.post("/campaigns", json={"title": kind, **ASKED[kind], **more})
    assert created.status_code == 201, created.text
    campaign = str(created.json()["id"])
    assert operator.patch(f"/campaigns/{campaign}", json={"state": "open"}).status_code == 200
    return campaign


def crowd(kind: str, people: int, folder: Path) -> Path:
    """A file of what so many people say."""
    path = folder / f"{kind}.csv"
    names = [f"person-{number:03}" for number in range(people)]
    if kind == "records":
        rows = [
            {
                "user": name,
                "sport": SCHEMA["columns"]["sport"]["values"][at % 3],  # type: ignore[index]
                "age": 5.0 + 7 * at % 80,
                "smokes": ("yes", "no", None)[at % 3],
            }
            for at, name in enumerate(names)
        ]
    else:
        scale = (0.0, 0.625, 10) if kind == "sensing" else (1.0, 1.0, 5)
        rows = [
            {
                "user": name,
                "object": OBJECTS[(at + k) % len(OBJECTS)],
                "value": scale[0] + (at + scale[1] * k) % scale[2],
            }
            for at, name in enumerate(names)
            for k in range(3)
        ]
    pl.DataFrame(rows).write_csv(path)
    return path


def counted(operator: httpx.Client, campaign: str) -> tuple[int, int]:
    """How many take part in a campaign, and how many reports there are."""
    results = operator.get(f"/campaigns/{campaign}/results").json()
    return results["participants"], results["reports"]


def exported(operator: httpx.Client, campaign: str) -> pl.DataFrame:
    """All reports that the server has."""
    answer = operator.get(f"/campaigns/{campaign}/reports.parquet")
    assert answer.status_code == 200, answer.text
    return pl.read_parquet(BytesIO(answer.content))


def remembered(memory: Path) -> list[dict[str, Any]]:
    """All rows of a memory."""
    if not memory.exists():
        return []
    with closing(sqlite3.connect(memory)) as db:
        db.row_factory = sqlite3.Row
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return []
        return [dict(row) for row in db.execute("SELECT * FROM reports")]


class _QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Whoever hung up knows why."""


class Moody:
    """A server in front of another one that answers requests by its moods, one after the other.

    A mood is "pass", "lost" (passed on, and the connection closed without an answer), "line" (passed on, and
    the first line of the answer replaced by a 503), or a status with headers and a body.
    """

    def __init__(self, backend: str, *moods: Any, tls: Path | None = None) -> None:
        self.moods, self.seen = list(moods), list[tuple[str, bytes]]()
        moody = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._serve()

            def do_POST(self) -> None:
                self._serve()

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                moody.seen.append((self.path, body))
                mood = moody.moods.pop(0) if moody.moods else "pass"
                if isinstance(mood, tuple):
                    self._answer(*mood)
                    return
                kind = {"Content-Type": self.headers.get("Content-Type", "application/json")}
                passed = httpx.request(self.command, f"{backend}{self.path}", content=body, headers=kind)
                if mood == "lost":
                    self.close_connection = True
                    return
                content = passed.content
                if mood == "line":
                    busy = b'{"type": "urn:crowdveil:problem:database", "status": 503}\n'
                    content = busy + content.split(b"\n", 1)[1]
                self._answer(passed.status_code, {}, content)

            def _answer(self, status: int, headers: dict[str, str], content: bytes = b"{}") -> None:
                self.send_response(status)
                for name, value in (headers | {"Content-Length": str(len(content))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = _QuietServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Moody:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def shown(document: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """A mood that shows a document."""
    return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()
