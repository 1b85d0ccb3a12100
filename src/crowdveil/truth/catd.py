"""CATD: a user's weight is a lower confidence limit of their precision, so users with few claims weigh less.

Reference: Li et al., *A Confidence-Aware Approach for Truth Discovery on Long-Tail Data*, PVLDB 8(4), 2014,
doi:10.14778/2735496.2735505. The weight is the *lower* quantile of chi-square divided by the sum of squared
residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

LEAST_LOSS = 1e-3  # lower limit of a user's loss per claim, relative to the mean: it bounds weights


@dataclass(frozen=True)
class CATD:
    """Parameters of CATD; `quantile` is the probability that a user's precision lies below the limit."""

    quantile: float = 0.025

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise ParameterError(f"a quantile lies between 0 and 1, not {self.quantile:g}")


def discover(
    claims: Claims,
    parameters: CATD | None = None,
    *,
    start: Truths | None = None,
    engine: Engine | None = None,
) -> Truths:
    """Truths by CATD."""
    chosen = parameters or CATD()
    from scipy.special import chdtri

    def weigh(losses: Floats, counts: Ints) -> Floats:
        limit: Floats = chdtri(counts, 1.0 - chosen.quantile)
        return limit / floored(losses, counts)

    return sweeps.discover(claims, weigh, method="catd", start=start, engine=engine)


def floored(losses: Floats, counts: Ints) -> Floats:
    """Losses, raised to at least a thousandth of the mean loss per claim times the user's claims."""
    mean = losses.sum() / counts.sum()
    limited: Floats = np.maximum(losses, (LEAST_LOSS * mean if mean > 0 else 1.0) * counts)
    return limited
