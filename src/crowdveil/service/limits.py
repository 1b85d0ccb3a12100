"""Rate limits: so many requests, reports and sign-ins a minute, counted by this process.

Requests are counted by address and by operator, reports and sign-ins by address.
"""

from __future__ import annotations

import time
from math import ceil

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from crowdveil.service.problems import Refused
from crowdveil.service.settings import Settings


class Limits:
    """Counts what addresses and operators do."""

    def __init__(self, settings: Settings) -> None:
        self._limiter = FixedWindowRateLimiter(MemoryStorage())
        self._items = {
            "requests": RateLimitItemPerMinute(settings.requests_per_minute),
            "reports": RateLimitItemPerMinute(settings.reports_per_minute),
            "sign-ins": RateLimitItemPerMinute(settings.sign_ins_per_minute),
        }

    def check(self, what: str, who: str, cost: int = 1) -> None:
        """Count; `Refused` with the time to wait if there are too many."""
        item = self._items[what]
        if self._limiter.hit(item, what, who, cost=cost):
            return
        reset = self._limiter.get_window_stats(item, what, who).reset_time
        wait = min(60, max(1, ceil(reset - time.time())))
        raise Refused(
            429,
            "too-many",
            f"too many {what} in a minute: try again in {wait} s",
            {"Retry-After": str(wait)},
        )
