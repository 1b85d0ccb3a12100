"""How long to wait for a server that does not answer, or asks to come back later."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from crowdveil.errors import OutputError, ParameterError

FIRST = 0.25  # seconds
LONGEST = 30.0
MOST_JITTER = 1.0
OnWait = Callable[[str, float], None]
"""Called with the reason for a wait, and its seconds."""


class Patience:
    """Waits between attempts, longer each time, and gives up after so many seconds without progress."""

    def __init__(self, seconds: float, on_wait: OnWait | None = None) -> None:
        if not (isfinite(seconds) and seconds >= 0):
            raise ParameterError(f"--patience is a number of seconds, not {seconds:g}")
        self._seconds, self._on_wait = seconds, on_wait
        self._attempts, self._began = 0, time.monotonic()

    def renew(self) -> None:
        """There was progress."""
        self._attempts, self._began = 0, time.monotonic()

    def wait(self, why: str, asked: float | None = None) -> None:
        """Sleep before the next attempt, at least as long as the server asks; `OutputError` in the end."""
        jitter = secrets.randbelow(1001) / 1000
        backed_off = min(LONGEST, FIRST * 2 ** min(self._attempts, 20)) * (0.5 + 0.5 * jitter)
        pause = backed_off if asked is None else asked + min(MOST_JITTER, backed_off) * jitter
        left = self._began + self._seconds - time.monotonic()
        if pause > left:
            later = f", and asks to come back in {asked:.0f} s" if asked is not None else ""
            raise OutputError(
                f"{why}{later}; given up after {self._seconds:g} s without progress (--patience). What was "
                "drawn is kept: run again with the same memory"
            )
        self._attempts += 1
        if self._on_wait is not None:
            self._on_wait(why, pause)
        time.sleep(pause)


def retry_after(header: str | None) -> float | None:
    """Seconds to wait, from a Retry-After header: a number, or a date."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        then = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
