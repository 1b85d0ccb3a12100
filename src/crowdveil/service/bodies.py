"""Bodies of requests as they come in: none too long, none too slow, and not too many at once.

A body is kept in memory until it is whole. So all bodies that wait together have a limit, too, and whoever
stops sending is not waited for.
"""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

from crowdveil.service.problems import Refusal, Unread
from crowdveil.service.settings import Settings

PAUSE = 20.0  # seconds between two parts of a body
SLOW = Refusal(408, "slow", "the rest of the body did not come in time: nothing was kept")
BUSY = Refusal(
    503,
    "busy",
    "too many large requests wait here: nothing was kept, try again later, with the same key",
    {"Retry-After": "2"},
)


class Bodies:
    """How many bytes wait in a server process."""

    def __init__(self, settings: Settings) -> None:
        self._most, self._waiting = settings.waiting_bytes, 0

    def body(self, receive: Receive, too_large: Refusal, most: int) -> Body:
        """The body of a request."""
        return Body(self, receive, too_large, most)

    def take(self, size: int) -> bool:
        """Count bytes that came in; whether there was room for them."""
        self._waiting += size
        return self._waiting <= self._most


class Body:
    """The body of a request; `release` when it is done with."""

    def __init__(self, bodies: Bodies, receive: Receive, too_large: Refusal, most: int) -> None:
        self._bodies, self._receive, self._too_large, self._most = bodies, receive, too_large, most
        self._size, self._whole = 0, False

    async def receive(self) -> Message:
        """The next part; once the body is whole, whatever else there is to say about the connection."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(PAUSE):
                message = await self._receive()
        except TimeoutError:
            raise Unread(SLOW) from None
        self._whole = not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._size += size
        room = self._bodies.take(size)
        if self._size > self._most:
            raise Unread(self._too_large)
        if not room:
            raise Unread(BUSY)
        return message

    def release(self) -> None:
        """It waits no more."""
        self._bodies.take(-self._size)
        self._size = 0
