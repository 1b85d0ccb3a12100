"""Bodies as they come in and go out: none too long, none too slow, and not too many at once.

A body is kept in memory until it is whole, and what is read from it takes more. So all bodies that wait
together have a limit, of which an address has a share. Small ones are not counted: there are no more of them
than connections. Whoever sends or reads too slowly is not waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.types import Message, Receive

from crowdveil.service.problems import Refusal, Unread
from crowdveil.service.settings import Settings

STEP, STEP_SECONDS = 2**16, 20.0  # so many bytes of a body, or its end, come in so many seconds
LONGEST = 600.0  # seconds for a whole body
UNREAD = 30.0  # seconds in which a part of an answer must find room on its way
PART = 2**16  # bytes of an answer that are sent at once
SMALL = 2**14  # bytes of a body that is not counted
PARSED = 45  # bytes that JSON takes for each byte of its text: 24 for [{},{},...], 44 for lists in lists
SHARE = 4  # an address has one part in so many

SLOW = Refusal(408, "slow", "the rest of the body did not come in time: nothing was kept")
BUSY = Refusal(
    503,
    "busy",
    "too many large requests wait here: nothing was kept, try again later, with the same key",
    {"Retry-After": "2"},
)


@dataclass(frozen=True)
class Size:
    """How long a body may be, why a longer one is refused, and what each of its bytes takes in memory."""

    most: int
    too_large: Refusal
    weight: int

    @classmethod
    def of(cls, most: int, weight: int = PARSED) -> Size:
        """At most that many bytes."""
        refusal = Refusal(413, "size", f"a request here has at most {most:,} bytes: nothing was kept")
        return cls(most, refusal, weight)


class Bodies:
    """How many bytes wait in a server process, and for whom."""

    def __init__(self, settings: Settings) -> None:
        largest = max(settings.batch_bytes, PARSED * settings.body_bytes)
        self._most = max(settings.waiting_bytes, largest)  # else nobody could ever send it
        self._share = max(self._most // SHARE, largest)
        self._waiting = 0
        self._of: Counter[str] = Counter()

    def take(self, address: str, size: int) -> bool:
        """Count bytes for an address; whether there was room for them."""
        self._waiting += size
        self._of[address] += size
        if not self._of[address]:
            del self._of[address]
        return self._waiting <= self._most and self._of[address] <= self._share


class Body:
    """The body of a request; `release` when it is done with."""

    def __init__(self, bodies: Bodies, address: str, receive: Receive, size: Size) -> None:
        self._bodies, self._address, self._receive, self._allowed = bodies, address, receive, size
        self._began, self._step = -1.0, -1.0  # when the body began, and when its last step did
        self._size, self._counted, self._whole = 0, 0, False

    async def receive(self) -> Message:
        """The next part; once the body is whole, whatever else there is to say about the connection."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(self._seconds_left()):
                message = await self._receive()
        except TimeoutError:
            raise Unread(SLOW) from None
        self._whole = not message.get("more_body", False)
        steps = self._size // STEP
        self._size += len(message.get("body", b""))
        if self._size // STEP > steps:
            self._step = time.monotonic()
        if self._size > self._allowed.most:
            raise Unread(self._allowed.too_large)
        if self._size > SMALL and not self._count(self._size * self._allowed.weight):
            raise Unread(BUSY)
        return message

    def _seconds_left(self) -> float:
        now = time.monotonic()
        if self._began < 0:
            self._began = self._step = now
        return min(self._step + STEP_SECONDS, self._began + LONGEST) - now

    def _count(self, size: int) -> bool:
        before, self._counted = self._counted, size
        return self._bodies.take(self._address, size - before)

    def release(self) -> None:
        """It waits no more."""
        self._count(0)


def in_parts(message: Message) -> Iterator[Message]:
    """An answer's message, cut so that a part is sent when the one before has found room on its way."""
    body = message.get("body", b"")
    if len(body) <= PART:
        yield message
        return
    last = (len(body) - 1) // PART * PART
    for first in range(0, len(body), PART):
        more = message.get("more_body", False) or first < last
        yield {"type": "http.response.body", "body": body[first : first + PART], "more_body": more}
