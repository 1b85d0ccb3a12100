"""An engine that cuts tables into the smallest blocks, in reverse: results must not depend on blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crowdveil.engines import RECORDS_TOGETHER, LocalEngine
from crowdveil.engines.tables import LocalTable, block_of, item_count
from crowdveil.records import Records


class OneByOne(LocalEngine):
    """One block for each object or each stream of records, the last first, in this thread."""

    def __init__(self) -> None:
        super().__init__(1)

    def _run(
        self, stage: str, table: LocalTable, work: Callable[[Any], None], operations: float | None
    ) -> None:
        count, step = item_count(table), RECORDS_TOGETHER if isinstance(table, Records) else 1
        for first in reversed(range(0, count, step)):
            work(block_of(table, first, min(first + step, count)))
