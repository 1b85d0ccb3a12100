"""The median: up to half of the claims may be arbitrary.

Its standard error is that of McKean and Schrader, *A comparison of methods for studentizing the sample
median*, 1984: the length of the 90 % confidence interval between two order statistics, divided by the length
of a normal 90 % interval in standard errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

_ENCLOSE = 1.6448536269514722  # half-width of the normal 90 % interval, in standard errors


def discover(claims: Claims, *, engine: LocalEngine | None = None) -> Truths:
    """Truths as the medians of the objects' claims."""
    means = sweeps.once(claims, method="median", engine=engine)
    counts, first = claims.counts(), claims.offsets[:-1]
    rank = np.maximum(0, np.rint((counts + 1) / 2 - _ENCLOSE * np.sqrt(counts / 4)).astype(np.int64) - 1)
    claimed = np.flatnonzero(counts)  # objects with claims, which ascend
    lower, upper = first + (counts - 1) // 2, first + counts // 2
    low_end, high_end = first + rank, first + counts - 1 - rank
    estimates, errors = means.estimates.copy(), means.errors.copy()
    estimates[claimed] = 0.5 * (claims.values[lower[claimed]] + claims.values[upper[claimed]])
    several = np.flatnonzero(counts > 1)
    lengths = claims.values[high_end[several]] - claims.values[low_end[several]]
    errors[several] = lengths / (2 * _ENCLOSE)
    return replace(means, estimates=estimates, errors=errors)
