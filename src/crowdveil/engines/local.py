"""The engine of one machine: threads over blocks of whole objects.

What a block writes belongs to its objects alone and sums are sums of whole numbers, so results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from crowdveil.claims import Claims
from crowdveil.engines.threads import on_threads, thread_count

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the share of it that is done."""

CLAIMS_PER_BLOCK = 20_000
LIGHT_BLOCKS = 8  # for each thread
OPERATIONS_IN_A_MOMENT = 1e6


def silent(stage: str, share: float) -> None:
    """Progress that nobody watches."""


class LocalEngine:
    """Runs blocks on threads of this process; work of a moment runs in the caller's own."""

    def __init__(self, threads: int | None = None, *, progress: Progress = silent) -> None:
        self._threads = thread_count(threads)
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
        on_threads(
            lambda number: work(*blocks[number]),
            len(blocks),
            threads=self._threads,
            progress=partial(self.progress, stage),
        )

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
