"""The median: half of the claims may be anything.

Its standard error is McKean and Schrader's: how far apart two claims are that enclose the median with 90 %
confidence, over what that is in normal errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

_ENCLOSE = 1.6448536269514722  # normal errors to either side: 90 %


def discover(claims: Claims, *, engine: LocalEngine | None = None) -> Truths:
    """Truths by the median of an object's claims."""
    means = sweeps.once(claims, method="median", engine=engine)
    counts, begin = claims.counts(), claims.offsets[:-1]
    from_end = np.maximum(0, np.rint((counts + 1) / 2 - _ENCLOSE * np.sqrt(counts / 4)).astype(np.int64) - 1)
    some = np.flatnonzero(counts)  # claims ascend
    lower, upper = begin + (counts - 1) // 2, begin + counts // 2
    inner, outer = begin + from_end, begin + counts - 1 - from_end
    estimates, errors = means.estimates.copy(), means.errors.copy()
    estimates[some] = 0.5 * (claims.values[lower[some]] + claims.values[upper[some]])
    several = np.flatnonzero(counts > 1)
    apart = claims.values[outer[several]] - claims.values[inner[several]]
    errors[several] = apart / (2 * _ENCLOSE)
    return replace(means, estimates=estimates, errors=errors)
