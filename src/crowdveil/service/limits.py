"""Rate limits: so many requests, reports and sign-ins a minute, counted by this process.

Requests are counted by address and by operator, reports and sign-ins by address. All counts begin anew every
minute, by a clock that nobody can set.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from math import ceil

from crowdveil.service.problems import Refused
from crowdveil.service.settings import Settings

WINDOW = 60.0  # seconds


class Limits:
    """Counts what addresses and operators do."""

    def __init__(self, settings: Settings) -> None:
        self._most = {
            "requests": settings.requests_per_minute,
            "reports": settings.reports_per_minute,
            "sign-ins": settings.sign_ins_per_minute,
        }
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ends = 0.0
        self._lock = threading.Lock()

    def check(self, what: str, who: str, cost: int = 1) -> None:
        """Count; `Refused` with the time to wait if there are too many, and then nothing is counted."""
        now = time.monotonic()
        with self._lock:
            if now >= self._ends:
                self._counts.clear()
                self._ends = now + WINDOW
            counted = self._counts[what, who] + cost
            if counted <= self._most[what]:
                self._counts[what, who] = counted
                return
            wait = max(1, ceil(self._ends - now))
        raise Refused(
            429,
            "too-many",
            f"too many {what} in a minute: try again in {wait} s",
            {"Retry-After": str(wait)},
        )
