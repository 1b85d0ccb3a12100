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

from crowdveil.service import bodies, guard
from crowdveil.service.bodies import Bodies, Body, Size
from crowdveil.service.connections import ABORT
from crowdveil.service.problems import Unread
from crowdveil.service.settings import Settings
from crowdveil.service.state import State
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
    server = start(database, worker=False, body_bytes=2000, batch_bytes=60_000, waiting_bytes=80_000)
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


class Parts:
    """Parts of a body, some time apart; then silence."""

    def __init__(self, *parts: bytes, apart: float = 0.0, whole: bool = False) -> None:
        self._parts, self._apart, self._whole = list(parts), apart, whole

    async def __call__(self) -> Any:
        await asyncio.sleep(self._apart if self._parts else 0.3)
        if not self._parts:
            return {"type": "http.disconnect"}
        body = self._parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(self._parts) or not self._whole}


def status_of(body: Body) -> int:
    """The status for which a body is refused; 200 if it is not."""

    async def read() -> int:
        try:
            while (await body.receive()).get("more_body", False):
                pass
        except Unread as unread:
            return unread.refusal.status
        return 200

    return asyncio.run(read())


def test_who_stops_sending_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "STEP_SECONDS", 0.05)
    assert status_of(Body(Bodies(Settings()), "a", Parts(b"abc"), Size.of(100))) == 408


def test_who_sends_a_byte_now_and_then_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part comes in time, but not enough of them; what came quickly before gives no time."""
    monkeypatch.setattr(bodies, "STEP_SECONDS", 0.4)
    monkeypatch.setattr(bodies, "STEP", 100)
    most = Size.of(10_000)
    dribbled = Parts(*[b"x"] * 100, apart=0.1, whole=True)
    assert status_of(Body(Bodies(Settings()), "a", dribbled, most)) == 408
    banked = Parts(b"x" * 5000, *[b"x"] * 50, apart=0.1, whole=True)
    assert status_of(Body(Bodies(Settings()), "a", banked, most)) == 408
    slow = Parts(*[b"x" * 50] * 8, apart=0.1, whole=True)
    assert status_of(Body(Bodies(Settings()), "a", slow, most)) == 200
    monkeypatch.setattr(bodies, "LONGEST", 0.3)
    slow = Parts(*[b"x" * 50] * 8, apart=0.1, whole=True)
    assert status_of(Body(Bodies(Settings()), "a", slow, most)) == 408


def test_after_the_body_a_connection_may_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever streams an answer waits for the other side to hang up."""
    monkeypatch.setattr(bodies, "STEP_SECONDS", 0.1)
    body = Body(Bodies(Settings()), "a", Parts(b"abc", whole=True), Size.of(100))

    async def read() -> None:
        await body.receive()
        assert await body.receive() == {"type": "http.disconnect"}

    asyncio.run(read())


KIB = 1024
SHARED = Settings(waiting_bytes=1000 * KIB, body_bytes=KIB, batch_bytes=100 * KIB)


def test_an_address_has_a_share_and_leaves_room_for_others() -> None:
    waiting, batch = Bodies(SHARED), Size.of(100 * KIB, weight=1)
    mine = [Body(waiting, "mine", Parts(b"x" * 100 * KIB, whole=True), batch) for _ in range(3)]
    assert [status_of(body) for body in mine] == [200, 200, 503]
    others = [Body(waiting, f"{who}", Parts(b"x" * 100 * KIB, whole=True), batch) for who in range(8)]
    assert [status_of(body) for body in others] == [200] * 7 + [503]
    for body in (*mine, *others):
        body.release()
    assert waiting.take("mine", 250 * KIB)  # all of it is free again
    assert not waiting.take("mine", 1)


def test_small_bodies_are_not_counted_and_large_ones_for_what_is_read_from_them() -> None:
    waiting = Bodies(Settings(waiting_bytes=KIB, body_bytes=100 * KIB, batch_bytes=KIB))  # one of the largest
    for _ in range(200):
        small = Body(waiting, "a", Parts(b"x" * bodies.SMALL, whole=True), Size.of(100 * KIB))
        assert status_of(small) == 200
    assert status_of(Body(waiting, "a", Parts(b"x" * 80 * KIB, whole=True), Size.of(100 * KIB))) == 200
    assert status_of(Body(waiting, "a", Parts(b"x" * 30 * KIB, whole=True), Size.of(100 * KIB))) == 503


@pytest.mark.parametrize("size", [0, 1, bodies.PART, bodies.PART + 1, 5 * bodies.PART])
@pytest.mark.parametrize("more", [False, True])
def test_an_answer_goes_out_in_parts(size: int, more: bool) -> None:
    content = bytes(at % 251 for at in range(size))
    parts = list(bodies.in_parts({"type": "http.response.body", "body": content, "more_body": more}))
    assert b"".join(part["body"] for part in parts) == content
    assert max(len(part["body"]) for part in parts) <= bodies.PART
    assert [part["more_body"] for part in parts] == [True] * (len(parts) - 1) + [more]


def test_whoever_does_not_read_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request ends, and what it held is free."""
    monkeypatch.setattr(guard, "UNREAD", 0.05)
    aborted: list[bool] = []
    state = State.of(Settings(database=f"sqlite:///{tmp_path / 'service.sqlite3'}"))
    sent: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body", False):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 10 * bodies.PART})

    async def stuck(message: Any) -> None:
        if len(sent) == 3:
            await asyncio.sleep(60)
        sent.append(len(message.get("body", b"")))

    async def run() -> None:
        path = "/api/v1/campaigns/x/reports/batch"
        scope: Any = {"type": "http", "method": "POST", "path": path, "headers": []}
        scope[ABORT] = lambda: aborted.append(True)
        outer = guard.Guard(app, state)
        await asyncio.wait_for(outer(scope, Parts(b"x" * 50_000, whole=True), stuck), 10)
        assert outer._bodies._waiting == 0

    asyncio.run(run())
    state.database.close()
    assert sent == [0, bodies.PART, bodies.PART]
    assert aborted == [True]  # else the connection would wait for somebody to read
