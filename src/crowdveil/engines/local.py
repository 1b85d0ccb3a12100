"""The engine of one machine: threads over blocks of whole objects.

The loops release the interpreter lock, so plain threads use every core. What a block writes belongs to its
objects alone and sums are sums of whole numbers, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from crowdveil.claims import Claims
from crowdveil.errors import ParameterError

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the share of it that is done."""

CLAIMS_PER_BLOCK = 20_000
LIGHT_BLOCKS = 8  # for each thread
OPERATIONS_IN_A_MOMENT = 1e6


def silent(stage: str, share: float) -> None:
    """Progress that nobody watches."""


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalEngine:
    """Runs blocks on threads of this process; work of a moment runs in the caller's own."""

    def __init__(self, threads: int | None = None, *, progress: Progress = silent) -> None:
        if threads is not None and threads < 1:
            raise ParameterError(f"threads must be at least 1, not {threads}")
        self._threads = threads or cores()
        self.progress = progress

    def run(
        self,
        stage: str,
        claims: Claims,
        work: Callable[[int, int], None],
        *,
        operations: float | None = None,
    ) -> None:
        """Call `work(first, last)` for blocks that cover all objects.

        `operations` says how much work it is in all, if not one for each pair of an object's claims. Where it
        is little for each claim, blocks are larger.
        """
        if operations is None:
            operations = float(np.square(claims.counts(), dtype=np.float64).sum())
        if operations < OPERATIONS_IN_A_MOMENT:
            self._here(stage, len(claims.objects), work)
            return
        light = operations <= len(claims)
        size = (
            max(CLAIMS_PER_BLOCK, len(claims) // (LIGHT_BLOCKS * self._threads))
            if light
            else CLAIMS_PER_BLOCK
        )
        self._on_threads(stage, list(claims.blocks(size)), work)

    def spread(
        self,
        stage: str,
        count: int,
        work: Callable[[int, int], None],
        *,
        operations: float = OPERATIONS_IN_A_MOMENT,
    ) -> None:
        """Call `work(first, last)` for ranges that cover `count` things of equal cost.

        `operations` says how much work it is in all, if that can be little.
        """
        if operations < OPERATIONS_IN_A_MOMENT:
            self._here(stage, count, work)
            return
        step = max(1, min(256, count // (8 * self._threads)))
        self._on_threads(stage, [(a, min(a + step, count)) for a in range(0, count, step)], work)

    def _here(self, stage: str, count: int, work: Callable[[int, int], None]) -> None:
        self.progress(stage, 0.0)
        work(0, count)
        self.progress(stage, 1.0)

    def _on_threads(
        self, stage: str, blocks: list[tuple[int, int]], work: Callable[[int, int], None]
    ) -> None:
        self.progress(stage, 0.0)
        # Even one thread is a thread of its own: the caller's stays free to hear Ctrl-C.
        pool = ThreadPoolExecutor(min(self._threads, len(blocks)))
        try:
            waiting = {pool.submit(work, first, last) for first, last in blocks}
            while waiting:
                ready, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in ready:
                    future.result()
                self.progress(stage, 1.0 - len(waiting) / len(blocks))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def sum(
        self,
        stage: str,
        claims: Claims,
        size: int,
        add: Callable[[int, int, NDArray[np.int64]], None],
        *,
        operations: float | None = None,
    ) -> NDArray[np.int64]:
        """The sum over blocks of what `add(first, last, totals)` adds to whole numbers."""
        spare: SimpleQueue[NDArray[np.int64]] = SimpleQueue()
        made: list[NDArray[np.int64]] = []

        def work(first: int, last: int) -> None:
            try:
                totals = spare.get_nowait()
            except Empty:
                totals = np.zeros(size, dtype=np.int64)
                made.append(totals)
            add(first, last, totals)
            spare.put(totals)

        self.run(stage, claims, work, operations=operations)
        whole: NDArray[np.int64] = np.sum(made, axis=0, dtype=np.int64)
        return whole
