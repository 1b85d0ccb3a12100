"""Records that Spark's workers hold: what `Records` tells of them, and their order, without the records."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crowdveil.arrays import Codes, Ints
from crowdveil.engines.engine import RECORDS_TOGETHER, RecordBlock
from crowdveil.engines.spark.blocks import exchanged, kept, sealed, zipped
from crowdveil.engines.spark.cluster import Cluster
from crowdveil.errors import EngineError
from crowdveil.records import Schema

if TYPE_CHECKING:
    from pyspark import RDD

FEWEST_BLOCKS = 2  # for each core
MOST_RECORDS = 2**22  # of a block

Piece = tuple[Ints, Codes]
"""The numbers of some records among all, and their codes."""


@dataclass(frozen=True, eq=False)
class SparkRecords:
    """Records in blocks on workers, in the order of their numbers."""

    cluster: Cluster
    schema: Schema
    blocks: RDD[Any]  # one RecordBlock for each partition
    firsts: list[int]  # the number of each block's first record, and at the end that of all records

    routes: ClassVar[None] = None  # records have no users

    @classmethod
    def of(
        cls, cluster: Cluster, schema: Schema, pieces: RDD[Any], records: int, blocks: int | None = None
    ) -> SparkRecords:
        """Records from pieces in any order; `blocks` is about how many blocks they make."""
        size = _size(records, blocks or FEWEST_BLOCKS * cluster.context.defaultParallelism)
        firsts = [*range(0, records, size), records]
        sent = exchanged(pieces, partial(_dealt, size), len(firsts) - 1)
        laid_out = kept(sent.mapPartitionsWithIndex(partial(_laid_out, firsts, len(schema.columns))))
        with cluster.watched("records"):
            complete = all(laid_out.map(_is_complete).collect())
        if not complete:
            raise EngineError("the records changed while Spark read them")
        return cls(cluster, schema, sealed(laid_out), firsts)

    def __len__(self) -> int:
        return self.firsts[-1]

    def __repr__(self) -> str:
        return f"SparkRecords({len(self)} rows, {len(self.schema.columns)} columns)"

    def take(self, rows: Ints, /) -> SparkRecords:
        """The same records in another order: first that of number `rows[0]`, and so on."""
        places = np.empty(len(self), dtype=np.int64)
        places[rows] = np.arange(len(self))
        parts = [places[first:last] for first, last in itertools.pairwise(self.firsts)]
        told = self.cluster.context.parallelize(parts, len(parts))
        pieces = zipped(self.blocks, [told]).map(_placed)
        return SparkRecords.of(self.cluster, self.schema, pieces, len(self), len(parts))


def _size(records: int, blocks: int) -> int:
    """How many records a block has: whole streams."""
    most = min(-(-records // blocks), MOST_RECORDS)
    return -(-most // RECORDS_TOGETHER) * RECORDS_TOGETHER


def _placed(both: Any) -> Piece:
    block, (places,) = both
    return places, block.codes


def _dealt(size: int, _: int, piece: Piece) -> Iterator[tuple[int, Piece]]:
    """To each block those of its records that a piece has."""
    numbers, codes = piece
    order = np.argsort(numbers // size, kind="stable")
    targets, begins = np.unique(numbers[order] // size, return_index=True)
    for target, rows in zip(targets.tolist(), np.split(order, begins[1:]), strict=True):
        yield target, (numbers[rows], codes[rows])


def _laid_out(
    firsts: Sequence[int], columns: int, part: int, found: Iterable[Sequence[tuple[int, Piece]]]
) -> Iterator[RecordBlock | None]:
    """The block of a part; None if it does not have each of its records once."""
    first, last = firsts[part], firsts[part + 1]
    for sent in found:
        codes = np.empty((last - first, columns), dtype=np.int32)
        times = np.zeros(last - first, dtype=np.int64)
        for _, (numbers, own) in sent:
            codes[numbers - first] = own
            times += np.bincount(numbers - first, minlength=times.size)
        yield RecordBlock(first, codes) if (times == 1).all() else None


def _is_complete(block: RecordBlock | None) -> bool:
    return block is not None
