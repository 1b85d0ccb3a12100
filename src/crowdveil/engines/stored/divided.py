"""Rows that are divided among ranges of items (objects, or users), each of which fits in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.claims import ranges
from crowdveil.engines.engine import Array
from crowdveil.engines.stored.spilled import Spilled


class Divided:
    """Columns on disk, in which each range of items has its own region; inside it rows keep their order.

    Parameters
    ----------
    offsets:
        Where the rows of each item will begin if rows lie by item.
    most:
        How many rows a range has at the most, unless it is one item.
    columns:
        The arrays that are filled.

    """

    def __init__(self, offsets: Ints, most: int, columns: Sequence[Spilled]) -> None:
        self.ranges = list(ranges(offsets, most))
        self.columns = columns
        firsts = np.array([first for first, _ in self.ranges])
        self._ends = np.append(offsets[firsts], offsets[-1])
        self._next = self._ends[:-1].copy()
        kind = np.uint16 if len(firsts) <= 2**16 else np.int64  # which NumPy sorts by radix
        self._range_of = np.repeat(np.arange(len(firsts)).astype(kind), [last - a for a, last in self.ranges])

    def deal(self, items: Array, columns: Sequence[Array]) -> bool:
        """Put each row into the region of its item's range, behind those there; false without room."""
        own = self._range_of[items]
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=len(self.ranges))
        if (self._next + counts > self._ends[1:]).any():
            return False
        ends = np.cumsum(counts)
        columns = [column[order] for column in columns]
        begin = 0
        for which, end in enumerate(ends.tolist()):
            if begin < end:
                place = int(self._next[which])
                for whole, column in zip(self.columns, columns, strict=True):
                    whole[place : place + end - begin] = column[begin:end]
                self._next[which] += end - begin
                begin = end
        return True

    @property
    def full(self) -> bool:
        """Whether every range has all its rows."""
        return bool((self._next == self._ends[1:]).all())

    def regions(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Each range of items, and where its region begins and ends."""
        begins = self._ends.tolist()
        yield from zip(self.ranges, itertools.pairwise(begins), strict=True)
