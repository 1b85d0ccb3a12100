"""The one place that starts threads.

The loops release the interpreter lock, so plain threads use every core.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from crowdveil.errors import ParameterError

T = TypeVar("T")

SECONDS_BETWEEN_REPORTS = 0.1


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """The number of threads asked for, or one for each core."""
    if threads is not None and threads < 1:
        raise ParameterError(f"threads must be at least 1, not {threads}")
    return threads or cores()


def unwatched(share: float) -> None:
    """Progress that nobody watches."""


def on_threads(
    work: Callable[[int], T],
    count: int,
    *,
    threads: int | None = None,
    progress: Callable[[float], None] = unwatched,
) -> list[T]:
    """`[work(0), ..., work(count - 1)]`, each computed on one of several threads: one per core by default.

    The first exception reaches the caller at once: calls that have not begun are dropped, calls that run are
    not waited for. Even one thread is a thread of its own, so that the caller's stays free to hear Ctrl-C.
    `progress` is called in the caller's thread with the share of the calls that are done, from 0 to 1.
    """
    pool = ThreadPoolExecutor(max(1, min(thread_count(threads), count)))
    progress(0.0)
    try:
        calls = [pool.submit(work, number) for number in range(count)]
        waiting = set(calls)
        while waiting:
            done, waiting = wait(waiting, timeout=SECONDS_BETWEEN_REPORTS, return_when=FIRST_EXCEPTION)
            for call in done:
                call.result()  # raises what the call raised
            progress(1.0 - len(waiting) / count)
        return [call.result() for call in calls]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
