"""Connections to a server process: not too many, not all of one address, and none that only waits.

Whoever connects has to send whole headers of limited size in time, and may not queue requests up. Addresses
of listed proxies stand for many people, so they have no share; some connections are kept for them, and so
for whoever asks on this machine whether the server is well.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crowdveil.service.api.addresses import network_of
from crowdveil.service.problems import Refusal, send_problem
from crowdveil.service.settings import Settings

SHARE = 4  # an address has one connection in so many
KEPT = 100  # connections beyond the limit, for proxies
HEADER_SECONDS = 15.0
HEADER_BYTES = 2**16  # of trailers, too
CLOSING_SECONDS = 60.0  # for whoever does not read the end of an answer
MOST_QUEUED = 8  # requests of a connection that wait for the one before
ABORT = "crowdveil.abort"  # in the scope of a request: what ends its connection at once
FULL = Refusal(503, "full", "too many connections: nothing was kept, try again later", {"Retry-After": "5"})


class Crowd:
    """Who is connected."""

    def __init__(self, settings: Settings) -> None:
        self._most, self._share = settings.connections, max(1, settings.connections // SHARE)
        self._proxies = _networks(settings.proxies)
        self._all = settings.proxies.strip() == "*"
        self._of: Counter[str] = Counter()

    def enter(self, host: str) -> bool:
        """Count a connection; whether there is room for it."""
        address = network_of(host)
        self._of[address] += 1
        count = self._of.total()
        if self._is_proxy(host):
            return count <= self._most + KEPT
        return count <= self._most and self._of[address] <= self._share

    def leave(self, host: str) -> None:
        """Count a connection no more."""
        address = network_of(host)
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]

    @property
    def is_over_full(self) -> bool:
        """Whether there are too many even to be told so."""
        return self._of.total() > self._most + 2 * KEPT

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return self._all
        return self._all or any(address in network for network in self._proxies)


def _networks(listed: str) -> list[IPv4Network | IPv6Network]:
    networks: list[IPv4Network | IPv6Network] = []
    for each in listed.split(","):
        try:
            networks.append(ip_network(each.strip(), strict=False))
        except ValueError:
            continue  # a name, or "*"
    return networks


@cache
def crowd() -> Crowd:
    """Of this process, whose settings are in its environment."""
    return Crowd(Settings())


async def _full(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    await send_problem(FULL, send)


class Connection(HttpToolsProtocol):
    """A connection with limits of its own."""

    _deadline: asyncio.TimerHandle | None = None
    _loose = 0  # bytes since a request began or a piece of its body came: headers, or trailers
    _host: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connects."""
        super().connection_made(transport)
        self._host = self.client[0] if self.client else ""
        if not crowd().enter(self._host):
            self.app = _full
        if crowd().is_over_full:
            transport.abort()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        super().connection_lost(exc)
        self._go_on()
        if self._host is not None:
            crowd().leave(self._host)
            self._host = None

    def _wait(self, seconds: float | None = None) -> None:
        """The other side has to go on soon."""
        self._go_on()
        limit = HEADER_SECONDS if seconds is None else seconds
        self._deadline = self.loop.call_later(limit, self.transport.abort)

    def _go_on(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Something comes in."""
        self._loose += len(data)
        super().data_received(data)
        if self._loose > HEADER_BYTES or len(self.pipeline) > MOST_QUEUED:
            self.transport.abort()
        elif self._deadline is None and self.timeout_keep_alive_task is None and self._is_idle():
            self._wait()  # it was no request: a blank line, or the rest of a body that nobody read

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._loose = 0
        if self._is_idle():  # else it may not be read before the one before is answered
            self._wait()

    def on_headers_complete(self) -> None:
        """The body follows, which has time limits of its own."""
        self._go_on()
        super().on_headers_complete()
        scope: Any = self.scope
        scope[ABORT] = self.transport.abort

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._loose = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        super().on_message_complete()
        self._go_on()

    def on_response_complete(self) -> None:
        """Whoever still sends a body that nobody reads, or does not read an answer's end, has to go on."""
        waiting = bool(self.pipeline)
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait(CLOSING_SECONDS)
        elif not waiting and self.cycle.more_body:
            self._wait()

    def timeout_keep_alive_handler(self) -> None:
        """Nobody asks any more."""
        super().timeout_keep_alive_handler()
        self._wait(CLOSING_SECONDS)
