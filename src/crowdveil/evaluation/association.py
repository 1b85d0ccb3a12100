"""How strongly columns hang together: Cramer's V of each pair, from 0 (independent) to 1."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.records import Records


def cramers_v(table: Ints) -> float:
    """Cramer's V of a table of counts of two columns; 0 where one of them has a single value."""
    filled = table[table.any(axis=1)][:, table.any(axis=0)]
    degrees = min(filled.shape) - 1
    if degrees < 1:
        return 0.0
    total = filled.sum()
    expected = filled.sum(axis=1, keepdims=True) / total * filled.sum(axis=0, keepdims=True)
    chi2 = float(((filled - expected) ** 2 / expected).sum())
    return float(min(1.0, np.sqrt(chi2 / (total * degrees))))


def associations(records: Records) -> Floats:
    """(d, d): Cramer's V of each pair of columns, and ones on the diagonal."""
    columns = len(records.schema.columns)
    found = np.eye(columns)
    for a, b in combinations(range(columns), 2):
        found[a, b] = found[b, a] = cramers_v(records.pair(a, b))
    return found


def mean_difference(real: Floats, synthetic: Floats) -> float:
    """The mean absolute difference of two such matrices over pairs of columns; 0 where there are none."""
    pairs = np.triu_indices(len(real), 1)
    return float(np.abs(real - synthetic)[pairs].mean()) if pairs[0].size else 0.0
