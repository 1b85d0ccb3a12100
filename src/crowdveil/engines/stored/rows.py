"""Rows of a table that does not fit in memory: it is read in batches, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from crowdveil.engines.engine import Progress
from crowdveil.engines.memory import Memory


@dataclass(frozen=True)
class Rows:
    """A table that can be read again and again.

    Parameters
    ----------
    read:
        Gives tables of at most so many rows, which are all rows in their order.
    count:
        The number of all rows.
    columns:
        The names of the columns of objects, users and values.
    source:
        What the table is called in errors.

    """

    read: Callable[[int], Iterator[pl.DataFrame]]
    count: int
    columns: tuple[str, str, str]
    source: str

    def batches(self, memory: Memory, stage: str, progress: Progress) -> Iterator[tuple[pl.Series, ...]]:
        """The columns of batches that suit the memory."""
        done = 0
        progress(stage, 0.0)
        for frame in self.read(memory.rows_in_passing):
            yield tuple(frame[column] for column in self.columns)
            done += frame.height
            progress(stage, done / self.count)
