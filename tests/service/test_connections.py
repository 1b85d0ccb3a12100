"""Connections of a real server: limited in number, headers and queue, and not kept for whoever only waits."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from crowdveil.service import bodies, connections
from crowdveil.service.app import create_app
from crowdveil.service.connections import KEPT, Crowd
from crowdveil.service.settings import Settings
from devices import assert_problem, create, operator, submission
from serving import Server
from stores import migrated

STRANGERS = "192.0.2.1"  # no proxy of ours: whoever connects from here is a stranger
HEADERS = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
UNREAD = b"DELETE /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"  # it is refused at once
WHOLE = HEADERS + b"Connection: close\r\n\r\n"


@pytest.fixture
def strangers(tmp_path: Path, start: Callable[..., Server]) -> Server:
    database = f"sqlite:///{tmp_path / 'service.sqlite3'}"
    return start(database, worker=False, connections=8, proxies=STRANGERS)


def connected(url: str, source: str = "127.0.0.1") -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0))


def answered(connection: socket.socket, request: bytes) -> bytes:
    """All that comes back until the other side closes."""
    parts = []
    try:
        connection.sendall(request)
        while part := connection.recv(2**16):
            parts.append(part)
    except ConnectionError:
        pass
    finally:
        connection.close()
    return b"".join(parts)


def until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_an_address_has_a_share_and_all_together_a_limit(strangers: Server) -> None:
    url = strangers.url
    until(lambda: b" 200 " in answered(connected(url, "127.0.0.2"), WHOLE))
    established = connected(url, "127.0.0.9")
    mine = [connected(url, "127.0.0.2") for _ in range(2)]
    refused = answered(connected(url, "127.0.0.2"), WHOLE)
    assert b" 503 " in refused
    assert b"application/problem+json" in refused
    assert b"retry-after: 5" in refused.lower()
    assert b" 200 " in answered(connected(url, "127.0.0.3"), WHOLE)
    others = [connected(url, f"127.0.0.{host}") for host in (4, 4, 5, 5, 6)]
    assert b" 503 " in answered(connected(url, "127.0.0.7"), WHOLE)
    assert b" 200 " in answered(established, WHOLE)  # who came before is served
    for each in (*mine, *others):
        each.close()
    until(lambda: b" 200 " in answered(connected(url, "127.0.0.2"), WHOLE))


def test_a_full_server_says_so(strangers: Server) -> None:
    idle = [connected(strangers.url) for _ in range(2)]
    until(lambda: httpx.get(f"{strangers.url}/healthz").status_code == 503)
    assert_problem(httpx.get(f"{strangers.url}/healthz"), 503, "full")
    for each in idle:
        each.close()


def test_proxies_stand_for_many_people() -> None:
    crowd = Crowd(Settings(connections=8, proxies="10.0.0.0/8, 127.0.0.1"))
    assert all(crowd.enter("10.1.2.3") for _ in range(8 + KEPT))
    assert not crowd.enter("127.0.0.1")
    assert not crowd.enter("192.0.2.7")
    assert not crowd.is_over_full
    for _ in range(8 + KEPT):
        crowd.leave("10.1.2.3")
    assert crowd.enter("192.0.2.7")
    assert not crowd.enter("192.0.2.7")  # a quarter, and the one that was refused is still there
    assert Crowd(Settings(connections=1, proxies="*")).enter("unix")


def test_when_there_are_far_too_many_they_are_not_even_told() -> None:
    crowd = Crowd(Settings(connections=1))
    entered = [(crowd.enter("192.0.2.7"), crowd.is_over_full) for _ in range(2 + 2 * KEPT)]
    assert entered == [(True, False), *[(False, False)] * (2 * KEPT), (False, True)]


def test_a_network_of_ipv6_has_one_share() -> None:
    crowd = Crowd(Settings(connections=8, proxies=STRANGERS))
    assert [crowd.enter(f"2001:db8::{host}") for host in (1, 2, 3)] == [True, True, False]
    assert crowd.enter("2001:db8:0:1::1")


def test_requests_that_queue_up_end_the_connection(strangers: Server) -> None:
    until(lambda: b" 200 " in answered(connected(strangers.url), WHOLE))
    assert answered(connected(strangers.url), (HEADERS + b"\r\n") * 2000).count(b" 200 ") < 100
    assert answered(connected(strangers.url), HEADERS + b"\r\n" + WHOLE).count(b" 200 ") == 2


@pytest.mark.parametrize(
    "endless",
    [
        HEADERS + b"X-More: y\r\n" * 2_000_000,
        HEADERS + b"X-Long: " + b"y" * 2 * 10**7,
        b"GET /" + b"x" * 2 * 10**7,
        CHUNKED + b"0\r\n" + b"X-More: y\r\n" * 2_000_000,
    ],
    ids=["many", "long", "path", "trailers"],
)
def test_endless_headers_end_the_connection(strangers: Server, endless: bytes) -> None:
    with connected(strangers.url) as connection, pytest.raises(ConnectionError):
        connection.sendall(endless)  # more than what fits on the way
    until(lambda: httpx.get(f"{strangers.url}/healthz").status_code == 200)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """A server in this process, which waits for a short time only."""
    server = Server(f"sqlite:///{tmp_path / 'service.sqlite3'}", tmp_path)
    with migrated(server.database):
        pass
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(bodies, "STEP_SECONDS", 0.3)
    connections.crowd.cache_clear()
    app = create_app(Settings(database=server.database))
    http = "crowdveil.service.connections:Connection"
    running = uvicorn.Server(uvicorn.Config(app, port=0, http=http, ws="none", log_config=None))
    thread = threading.Thread(target=lambda: asyncio.run(running.serve()))
    thread.start()
    until(lambda: running.started)
    server.url = f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    yield server
    server.__exit__()
    running.should_exit = True
    thread.join(20)
    connections.crowd.cache_clear()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        HEADERS,
        HEADERS + b"\r\n" + HEADERS,
        b"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
        b"DELETE /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
    ],
    ids=["nothing", "half of the headers", "half of the next ones", "half of a body", "a body nobody reads"],
)
def test_whoever_only_waits_is_not_kept(hurried: Server, said: bytes) -> None:
    answered(connected(hurried.url), said)  # the other side closes in time
    until(lambda: not connections.crowd()._of)


@pytest.mark.parametrize(
    ("asked", "then"), [(HEADERS + b"\r\n", b"\r\n"), (UNREAD, b"12345")], ids=["a blank line", "a body"]
)
def test_whoever_says_nothing_new_after_an_answer_is_not_kept(
    hurried: Server, asked: bytes, then: bytes
) -> None:
    with connected(hurried.url) as connection:
        connection.sendall(asked)
        assert connection.recv(2**16).startswith(b"HTTP/1.1 ")
        connection.sendall(then)
        while connection.recv(2**16):
            pass
    until(lambda: not connections.crowd()._of)


def test_requests_that_are_queued_are_all_answered(hurried: Server) -> None:
    body = b'{"name": "a", "password": "b"}'
    sign_in = (
        b"POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    ) + body
    said = answered(connected(hurried.url), sign_in + sign_in + WHOLE)
    assert (said.count(b"HTTP/1.1 401 "), said.count(b"HTTP/1.1 200 ")) == (2, 1)


def test_whoever_takes_their_time_between_requests_is_kept(hurried: Server) -> None:
    client = hurried.client()
    for _ in range(3):
        assert client.get("/openapi.json").status_code == 200
        time.sleep(0.5)
    assert connections.crowd()._of.total() == 1


def test_lines_of_whoever_hangs_up_are_let_go(hurried: Server) -> None:
    """Without a collection: a cycle of frames would keep them for long."""
    ann = operator(hurried)
    campaign = create(ann)
    size = 500_000
    line = json.dumps(submission(ann, campaign, "p")).encode().ljust(size - 1) + b"1"
    body = b"\n".join([line] * 20)
    head = (
        f"POST /api/v1/campaigns/{campaign['id']}/reports/batch HTTP/1.1\r\nHost: x\r\n"
        f"Content-Type: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            with connected(hurried.url) as connection:
                connection.sendall(head + body)
                connection.recv(10)
        until(lambda: _kept(size) == 0)
    finally:
        gc.enable()


def _kept(size: int) -> int:
    """How many lines of that size are in lists and queues that nobody needs."""
    held: list[Any] = [each for each in gc.get_objects() if type(each).__name__ in ("list", "deque")]
    return sum(1 for each in held for part in each if type(part) is bytes and len(part) == size)
