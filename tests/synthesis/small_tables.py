"""Small tables of records for tests: columns that depend on each other, of any sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from crowdveil.records import Column, Records, Schema
from crowdveil.synthesis.swaps import Pairs

SIZES = (3, 4, 2, 5)
ADULT_SIZES = (7, 16, 7, 14, 6, 5, 2, 41, 2)


def schema_of(sizes: Sequence[int], *, declared: bool = True) -> Schema:
    columns = [Column(f"c{place}", tuple(f"v{v}" for v in range(size))) for place, size in enumerate(sizes)]
    return Schema(tuple(columns), declared)


def dependent(rows: int, sizes: Sequence[int] = SIZES, *, seed: int = 1, declared: bool = True) -> Records:
    """Uneven columns, most values of which follow one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    codes = []
    for size in sizes:
        noise = rng.choice(size, rows, p=np.arange(size, 0, -1) / (size * (size + 1) / 2))
        codes.append(np.where(rng.random(rows) < 0.8, hidden % size, noise))
    return Records(schema_of(sizes, declared=declared), np.column_stack(codes))


def pairs_of(records: Records) -> Pairs:
    """The shares of all pairs, as they are."""
    columns = range(len(records.schema.columns))
    return {(a, b): records.pair(a, b) / len(records) for a, b in combinations(columns, 2)}


def pair_distance(records: Records, pairs: Pairs) -> float:
    """The mean total variation distance of pairs."""
    real = pairs_of(records)
    return float(np.mean([np.abs(real[pair] - told).sum() / 2 for pair, told in pairs.items()]))
