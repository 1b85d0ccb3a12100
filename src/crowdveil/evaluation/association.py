"""Association between columns: Cramer's V of each pair, from 0 (independent) to 1."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.records import Records


def cramers_v(table: Ints) -> float:
    """Cramer's V of a contingency table of two columns; 0 if one of them has a single value."""
    filled = table[table.any(axis=1)][:, table.any(axis=0)]
    degrees = min(filled.shape) - 1
    if degrees < 1:
        return 0.0
    total = filled.sum()
    expected = filled.sum(axis=1, keepdims=True) / total * filled.sum(axis=0, keepdims=True)
    chi2 = float(((filled - expected) ** 2 / expected).sum())
    return float(min(1.0, np.sqrt(chi2 / (total * degrees))))


def associations(records: Records) -> Floats:
    """Matrix (d, d) of Cramer's V of each pair of columns, with ones on the diagonal."""
    columns = len(records.schema.columns)
    matrix = np.eye(columns)
    for a, b in combinations(range(columns), 2):
        matrix[a, b] = matrix[b, a] = cramers_v(records.pair(a, b))
    return matrix


def mean_difference(real: Floats, synthetic: Floats) -> float:
    """Mean absolute difference of two matrices of `associations` over pairs of columns; 0 without pairs."""
    pairs = np.triu_indices(len(real), 1)
    return float(np.abs(real - synthetic)[pairs].mean()) if pairs[0].size else 0.0
