"""Threads; no other module starts any.

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
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """The requested number of threads, by default one for each core."""
    if threads is not None and threads < 1:
        raise ParameterError(f"threads must be at least 1, not {threads}")
    return threads or cores()


def unwatched(share: float) -> None:
    """Ignore progress."""


def on_threads(
    work: Callable[[int], T],
    count: int,
    *,
    threads: int | None = None,
    progress: Callable[[float], None] = unwatched,
) -> list[T]:
    """`[work(0), ..., work(count - 1)]`, computed on several threads, by default one for each core.

    The first exception is raised at once: calls that have not begun are dropped, and running calls are not
    awaited. Even a single thread is not the caller's, which therefore can handle Ctrl-C. `progress` is called
    in the caller's thread with the share of finished calls, from 0 to 1.
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
