"""Reports of all columns: each by an oracle of its own, from streams of its own.

The columns of a block draw from the streams of that block of records, so that what a device sends does not
depend on how an engine cuts the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.engines import Engine, LocalEngine, RecordBlock
from crowdveil.engines.engine import Per
from crowdveil.local import record_reports
from crowdveil.local.oracle import Oracle
from crowdveil.randomness import Randomness, Streams
from crowdveil.records import RecordTable

OPERATIONS = 100  # for one value
_BY_RECORD: tuple[Per, ...] = ("object",)


@dataclass(frozen=True, eq=False)
class Devices:
    """The oracle of each column, and what devices draw from."""

    oracles: tuple[Oracle, ...]
    streams: tuple[tuple[Streams, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, oracles: Sequence[Oracle], *, rng: Randomness) -> Devices:
        """With streams for each column."""
        streams = (each.streams(rng.part(f"column {column}")) for column, each in enumerate(oracles))
        return cls(tuple(oracles), tuple(streams))

    def operations(self, records: RecordTable) -> float:
        """About how much work it is to report on all records."""
        return OPERATIONS * len(records) * len(self.oracles)


def reports_of(block: RecordBlock, devices: Devices) -> tuple[NDArray[Any], ...]:
    """For each column the reports of a block's devices, one row each."""
    sent = [oracle.room(block.size) for oracle in devices.oracles]
    for number, first, last in record_reports.blocks_of(block.first, block.first + block.size):
        rows = slice(first - block.first, last - block.first)
        for column, (oracle, streams) in enumerate(zip(devices.oracles, devices.streams, strict=True)):
            oracle.fill(streams, number, block.codes[rows, column].astype(np.int64), sent[column][rows])
    return tuple(sent)


def reported(
    records: RecordTable, oracles: Sequence[Oracle], *, rng: Randomness, engine: Engine | None = None
) -> list[NDArray[Any]]:
    """For each column the reports of all records, brought to where the engine is called."""
    devices = Devices.of(oracles, rng=rng)
    runs: Engine = engine or LocalEngine()
    work, per = devices.operations(records), _BY_RECORD * len(oracles)
    kept = runs.map("reports", records, reports_of, devices, per=per, operations=work)
    return [runs.collect(each) for each in kept]
