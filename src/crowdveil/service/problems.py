"""Errors as `application/problem+json` (RFC 9457): a kind, a status, and what to do; never what was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import Send

TYPE = "application/problem+json"

TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed here",
    408: "Too slow",
    409: "Not in this state",
    413: "Too large",
    415: "Another type is needed",
    422: "The request cannot be used",
    429: "Too many requests",
    500: "A bug in the service",
    503: "Not available now",
}


@dataclass(frozen=True)
class Refusal:
    """Why something is not done, in words for whoever asked: no value, no token, no name of anybody."""

    status: int
    code: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As problem details."""
        return {
            "type": f"urn:crowdveil:problem:{self.code}",
            "title": TITLES.get(self.status, "Refused"),
            "status": self.status,
            "detail": self.detail,
        }


BUG = Refusal(500, "bug", "something went wrong here; it was logged without what was sent")


class Refused(Exception):  # noqa: N818, it reads as what happened
    """A refusal on its way to whoever asked."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.refusal = Refusal(status, code, detail, headers or {})


class Unread(HTTPException):
    """A body that is not read to its end; the framework lets errors of this class through."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


def refused(refusal: Refusal) -> Refused:
    """A refusal as an exception."""
    return Refused(refusal.status, refusal.code, refusal.detail, refusal.headers)


async def send_problem(refusal: Refusal, send: Send) -> None:
    """Answer a request with a problem, and close its connection: the body may not have been read."""
    body = json.dumps(refusal.to_dict()).encode()
    headers = {
        "content-type": TYPE,
        "content-length": str(len(body)),
        "connection": "close",
        **refusal.headers,
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
