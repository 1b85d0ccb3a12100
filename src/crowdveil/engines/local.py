"""The engine of one machine: threads over blocks of complete objects.

A block writes only to the places of its own objects, and sums are sums of integers. So results do not depend
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
"""A function of the name of a stage and the share of it that is done."""

CLAIMS_PER_BLOCK = 20_000
LIGHT_BLOCKS = 8  # for each thread
OPERATIONS_IN_A_MOMENT = 1e6


def silent(stage: str, share: float) -> None:
    """Ignore progress."""


class LocalEngine:
    """Runs blocks on threads of this process; very short work runs in the calling thread.

    >>> import numpy as np
    >>> squares = np.empty(5)
    >>> def work(first, last):
    ...     squares[first:last] = np.arange(first, last) ** 2
    >>> LocalEngine(threads=2).spread("squares", 5, work)
    >>> squares
    array([ 0.,  1.,  4.,  9., 16.])

    Parameters
    ----------
    threads:
        The number of threads; by default one for each core.
    progress:
        Called with the name of a stage and the share of it that is done.

    """

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

        `operations` estimates the total work; by default it is one for each pair of an object's claims. With
        little work per claim, blocks are larger.
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
        """Call `work(first, last)` for ranges that cover `count` items of equal cost.

        `operations` estimates the total work; little work runs in the calling thread.
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
        """The integer totals, `size` of them, to which `add(first, last, totals)` adds for all blocks."""
        spare: SimpleQueue[NDArray[np.int64]] = SimpleQueue()
        partial_totals: list[NDArray[np.int64]] = []

        def work(first: int, last: int) -> None:
            try:
                totals = spare.get_nowait()
            except Empty:
                totals = np.zeros(size, dtype=np.int64)
                partial_totals.append(totals)
            add(first, last, totals)
            spare.put(totals)

        self.run(stage, claims, work, operations=operations)
        grand_total: NDArray[np.int64] = np.sum(partial_totals, axis=0, dtype=np.int64)
        return grand_total
