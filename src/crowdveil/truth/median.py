"""The median: up to half of the claims may be arbitrary.

Its standard error is that of McKean and Schrader, *A comparison of methods for studentizing the sample
median*, 1984: the length of the 90 % confidence interval between two order statistics, divided by the length
of a normal 90 % interval in standard errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByObject, Engine, LocalEngine
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

_ENCLOSE = 1.6448536269514722  # half-width of the normal 90 % interval, in standard errors


def discover(claims: Claims, *, engine: Engine | None = None) -> Truths:
    """Truths as the medians of the objects' claims."""
    engine = engine or LocalEngine()
    means = sweeps.once(claims, method="median", engine=engine)
    kept = engine.map(
        *("medians", claims, _medians, None, ByObject(means.estimates), ByObject(means.errors)),
        per=("object", "object"),
        operations=float(len(claims)),
    )
    estimates, errors = map(engine.collect, kept)
    return replace(means, estimates=estimates, errors=errors)


def _medians(block: Block, _: None, means: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Medians and their errors; objects without claims, or with one, keep the mean or its error."""
    values, counts, first = block.values, np.diff(block.offsets), block.offsets[:-1]
    rank = np.maximum(0, np.rint((counts + 1) / 2 - _ENCLOSE * np.sqrt(counts / 4)).astype(np.int64) - 1)
    claimed = np.flatnonzero(counts)  # objects with claims, which ascend
    lower, upper = first + (counts - 1) // 2, first + counts // 2
    low_end, high_end = first + rank, first + counts - 1 - rank
    estimates, errors = means.copy(), errors.copy()
    estimates[claimed] = 0.5 * (values[lower[claimed]] + values[upper[claimed]])
    several = np.flatnonzero(counts > 1)
    errors[several] = (values[high_end[several]] - values[low_end[several]]) / (2 * _ENCLOSE)
    return estimates, errors
