"""Limits of size: bodies and batches that are too large are refused whole, with and without a length."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crowdveil.service import bodies
from crowdveil.service.problems import Refusal, Unread
from crowdveil.service.settings import Settings
from devices import SENSING, assert_problem, create, operator, report, rows, submission
from serving import Server

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
BODY, BATCH, LINES = 4096, 20_000, 50


@pytest.fixture
def small(tmp_path: Path, start: Callable[..., Server]) -> Server:
    database = f"sqlite:///{tmp_path / 'service.sqlite3'}"
    return start(database, worker=False, body_bytes=BODY, batch_bytes=BATCH, batch_lines=LINES)


def chunked(content: bytes) -> Iterator[bytes]:
    """In pieces, so that nobody is told how long it will be."""
    for first in range(0, len(content), 1000):
        yield content[first : first + 1000]


def test_what_is_too_large_is_refused_whole(small: Server) -> None:
    ann, device = operator(small), small.client()
    campaign = create(ann)
    reports = f"/campaigns/{campaign['id']}/reports"
    before = rows(small)
    large = json.dumps({**SENSING, "title": "x" * BODY}).encode()
    sent = json.dumps({"participant": "p", "key": "k", "report": report(campaign)}).encode()
    padded = sent + b" " * BATCH
    many = b"\n".join(
        json.dumps({"participant": f"p{who}", "key": "k", "report": report(campaign)}).encode()
        for who in range(LINES + 1)
    )
    assert len(many) < BATCH
    for client, path, content, headers in (
        (ann, "/campaigns", large, JSON),
        (device, reports, padded, JSON),
        (device, f"{reports}/batch", padded, NDJSON),
        (device, f"{reports}/batch", many, NDJSON),
        (device, f"{reports}/batch", b"\n" * (2 * LINES + 1), NDJSON),
        (device, f"{reports}/batch", sent + b"\n" + b"[" * (BODY + 1), NDJSON),
        (device, f"/campaigns/{campaign['id']}/places/batch", padded, NDJSON),
        (device, "/tokens", large, JSON),
    ):
        for pieces in (content, chunked(content)):
            answer = client.post(path, content=pieces, headers=headers)
            assert_problem(answer, 413)
            assert rows(small) == before
    for method, path in (("GET", ""), ("PUT", "/roles/batch"), ("PUT", "/reports/batch")):
        answer = device.request(method, f"/campaigns/{campaign['id']}{path}", content=b"{}" + b" " * BODY)
        assert_problem(answer, 413)
    assert httpx.get(f"{small.url}/readyz").status_code == 200


def test_what_is_just_small_enough_is_taken_in_pieces_too(small: Server) -> None:
    ann, device = operator(small), small.client()
    campaign = create(ann)
    reports = f"/campaigns/{campaign['id']}/reports"
    body = json.dumps(submission(device, campaign, "p")).encode()
    assert device.post(reports, content=chunked(body.ljust(BODY)), headers=JSON).status_code == 201
    lines = b"\n".join(json.dumps(submission(device, campaign, f"q{who}")).encode() for who in range(LINES))
    answer = device.post(f"{reports}/batch", content=chunked(lines.ljust(BATCH)), headers=NDJSON)
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [201] * LINES


def test_bodies_that_wait_together_have_a_limit(tmp_path: Path, start: Callable[..., Server]) -> None:
    """Half a body is waited for; while it is there, others are told to come back, then they are served."""
    database = f"sqlite:///{tmp_path / 'service.sqlite3'}"
    server = start(database, worker=False, batch_bytes=60_000, waiting_bytes=80_000)
    ann, device = operator(server), server.client()
    campaign = create(ann)
    path = f"/campaigns/{campaign['id']}/reports/batch"
    lines = json.dumps(submission(device, campaign, "p")).encode().ljust(55_000)
    host, _, port = server.url.removeprefix("http://").partition(":")
    head = f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nContent-Type: {NDJSON['Content-Type']}\r\n"
    with socket.create_connection((host, int(port))) as stalled:
        stalled.sendall(f"{head}Content-Length: {len(lines)}\r\n\r\n".encode() + lines[:40_000])
        refused = _until(lambda: device.post(path, content=lines, headers=NDJSON), 503)
        assert_problem(refused, 503)
        assert int(refused.headers["Retry-After"]) > 0
        small = device.post(f"/campaigns/{campaign['id']}/reports", json=submission(device, campaign, "q"))
        assert small.status_code == 201
    assert _until(lambda: device.post(path, content=lines, headers=NDJSON), 200).status_code == 200


def _until(ask: Callable[[], httpx.Response], status: int) -> httpx.Response:
    """The first answer with that status; each request before it has its time to arrive."""
    give_up = time.monotonic() + 20
    while (answer := ask()).status_code != status:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return answer


def test_who_stops_sending_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PAUSE", 0.05)
    parts = [{"type": "http.request", "body": b"abc", "more_body": True}]

    async def receive() -> Any:
        if not parts:
            await asyncio.sleep(30)
        return parts.pop(0)

    async def read() -> None:
        waiting = bodies.Bodies(Settings(waiting_bytes=1024))
        body = waiting.body(receive, Refusal(413, "size", "too large"), 100)
        await body.receive()
        with pytest.raises(Unread) as unread:
            await body.receive()
        assert unread.value.refusal.status == 408
        body.release()
        assert waiting.take(1024)  # all of it is free again

    asyncio.run(read())


def test_after_the_body_a_connection_may_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever streams an answer waits for the other side to hang up."""
    monkeypatch.setattr(bodies, "PAUSE", 0.01)
    parts = [{"type": "http.request", "body": b"abc", "more_body": False}]

    async def receive() -> Any:
        if not parts:
            await asyncio.sleep(0.1)
            return {"type": "http.disconnect"}
        return parts.pop(0)

    async def read() -> None:
        body = bodies.Bodies(Settings()).body(receive, Refusal(413, "size", "too large"), 100)
        await body.receive()
        assert await body.receive() == {"type": "http.disconnect"}

    asyncio.run(read())
