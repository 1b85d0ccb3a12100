"""What every request goes through: limits of size and rate, security headers, a line in the log, counts.

The log has the route's pattern, never the path: that may hold a participant's token. It has no body, no
query, no address and no header.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crowdveil.service.api.addresses import address_of
from crowdveil.service.bodies import UNREAD, Bodies, Body, Size, in_parts
from crowdveil.service.connections import ABORT
from crowdveil.service.logs import place_of
from crowdveil.service.metrics import REQUESTS, SECONDS
from crowdveil.service.problems import BUG, Refusal, Refused, send_problem
from crowdveil.service.state import State

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), camera=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
UNLIMITED = ("/healthz", "/readyz", "/metrics")
FILES = ("/static/", "/c/worker.js")  # a page needs dozens of them, and they are in memory
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
GONE = 499  # in counts and logs: whoever asked went away before the request was whole

log = structlog.get_logger("crowdveil.requests")


BATCHES = ("/places/batch", "/reports/batch")


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: State) -> None:
        self._app, self._service, self._bodies = app, service, Bodies(service.settings)
        self._batch = Size.of(service.settings.batch_bytes, weight=1)  # it is read line by line
        self._other = Size.of(service.settings.body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, request_id = time.perf_counter(), 0, uuid4().hex[:16]

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-Id"] = request_id
            await _send(scope, send, message)

        address, size = address_of(Request(scope)), self._size(scope)
        body = Body(self._bodies, address, receive, size)
        try:
            refusal = self._refusal(scope, address, size)
            if refusal is not None:
                await send_problem(refusal, answer)
            else:
                await self._app(scope, body.receive, answer)
        except ClientDisconnect:
            status = GONE
        except Exception as error:
            log.error(
                "failed",
                request=request_id,
                error=type(error).__name__,
                route=_route(scope),
                where=place_of(error),
            )
            if status == 0:
                await send_problem(BUG, answer)
        finally:
            body.release()
            self._count(scope, status, time.perf_counter() - began, request_id)

    def _refusal(self, scope: Scope, address: str, size: Size) -> Refusal | None:
        """Why a request is not looked at."""
        if scope["path"] in UNLIMITED or scope["path"].startswith(FILES):
            return None
        try:
            self._service.limits.check("requests", address)
        except Refused as error:
            return error.refusal
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit():
            return Refusal(400, "length", "the length of the body is not a number")
        return size.too_large if int(length[:20]) > size.most else None

    def _size(self, scope: Scope) -> Size:
        batch = scope["method"] == "POST" and scope["path"].endswith(BATCHES)
        return self._batch if batch else self._other

    def _count(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = _route(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        REQUESTS.labels(method, route, str(status)).inc()
        SECONDS.labels(route).observe(seconds)
        if scope["path"] not in UNLIMITED:
            log.info(
                "request",
                request=request_id,
                method=method,
                route=route,
                status=status,
                ms=round(1000 * seconds, 1),
            )


async def _send(scope: Scope, send: Send, message: Message) -> None:
    """Send a message; `ClientDisconnect` if the other side does not read, and the connection ends."""
    for part in in_parts(message):
        try:
            async with asyncio.timeout(UNREAD):
                await send(part)
        except TimeoutError:
            scope.get(ABORT, _nothing)()
            raise ClientDisconnect from None


def _nothing() -> None:
    """Where there is no connection to end."""


def _route(scope: Scope) -> str:
    """The pattern of a path: it has no id and no token."""
    route: Any = scope.get("route")
    return getattr(route, "path", None) or "none"
