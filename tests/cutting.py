"""An engine that cuts claims into the smallest blocks, in reverse: results must not depend on blocks."""

from __future__ import annotations

from collections.abc import Callable

from crowdveil.engines import Block, LocalEngine
from crowdveil.engines.local_blocks import LocalTable, block_of


class OneByOne(LocalEngine):
    """One block for each object, the last object first, in this thread."""

    def __init__(self) -> None:
        super().__init__(1)

    def _run(
        self, stage: str, table: LocalTable, work: Callable[[Block], None], operations: float | None
    ) -> None:
        for number in reversed(range(len(table.objects))):
            work(block_of(table, number, number + 1))
