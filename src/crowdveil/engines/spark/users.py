"""Many users: with more than fit a broadcast, a block has its own list of users, which its codes index.

All users are divided into ranges. A *route* tells a range which blocks ask for which of its users; so arrays
by user are dealt to the blocks that need them, and the blocks' sums come back to the ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Ints
from crowdveil.engines.engine import Array, Block
from crowdveil.engines.spark.blocks import UsersTable, exchanged, kept, single, users_of

if TYPE_CHECKING:
    from pyspark import RDD


def ranges(count: int, parts: int) -> Ints:
    """The ends of `parts` ranges that divide `count` users."""
    return np.arange(parts + 1, dtype=np.int64) * count // max(1, parts)


def cuts(codes: Codes, ends: Ints) -> Iterator[tuple[int, int, int]]:
    """For each range that has some of these users, who ascend: its number, and where they begin and end."""
    for target, (begin, end) in enumerate(itertools.pairwise(np.searchsorted(codes, ends).tolist())):
        if begin < end:
            yield target, begin, end


def listed(block: Block | None) -> Codes:
    """The block's own list of users."""
    return np.zeros(0, dtype=np.int32) if block is None or block.users is None else block.users


def with_own_list(block: Block | None) -> Block | None:
    """The block with a list of its users."""
    if block is None:
        return None
    own, codes = np.unique(users_of(block), return_inverse=True)
    return replace(block, user_codes=codes.astype(np.int32), users=own)


def routes(blocks: RDD[Any], ends: Ints) -> RDD[Any]:
    """For each range of users, by block: the places in the range of the block's users."""
    return kept(exchanged(blocks.map(listed), partial(_routed, ends), len(ends) - 1))


def _routed(ends: Ints, _: int, own: Codes) -> Iterator[tuple[int, Codes]]:
    for target, begin, end in cuts(own, ends):
        yield target, (own[begin:end] - ends[target]).astype(np.int32)


def dealt(table: UsersTable, vectors: Sequence[Array]) -> RDD[Any]:
    """For each block a tuple of the parts of these arrays by user that its codes index."""
    assert table.routes is not None
    slices = [
        tuple(vector[begin:end] for vector in vectors)
        for begin, end in itertools.pairwise(table.user_ends.tolist())
    ]
    by_range = single(table.cluster.context.parallelize(slices, len(slices)))
    sent = exchanged(table.routes.zip(by_range), _to_blocks, len(table.firsts) - 1)
    return single(sent.map(partial(_joined, [vector[:0] for vector in vectors])))


def names_dealt(table: UsersTable) -> RDD[Any]:
    """For each block, alone in a tuple, the names of the users that its codes index."""
    assert table.routes is not None
    sent = exchanged(table.routes.zip(single(table.user_names)), _names_to_blocks, len(table.firsts) - 1)
    return single(sent.map(_names_joined))


def _names_to_blocks(_: int, both: Any) -> Iterator[tuple[int, pl.Series]]:
    route, names = both
    for block, places in route:
        yield block, names.gather(places)


def _names_joined(found: Sequence[tuple[int, pl.Series]]) -> tuple[pl.Series | None]:
    return (pl.concat([names for _, names in found]) if found else None,)


def _to_blocks(_: int, both: Any) -> Iterator[tuple[int, Any]]:
    route, slices = both
    for block, places in route:
        yield block, tuple(each[places] for each in slices)


def _joined(empty: Sequence[Array], found: Sequence[tuple[int, Any]]) -> tuple[Array, ...]:
    return tuple(
        np.concatenate([nothing, *(payload[which] for _, payload in found)])
        for which, nothing in enumerate(empty)
    )
