"""CATD: a user weighs the lower confidence limit of their precision, so that few claims count for little.

Reference: Li et al., *A Confidence-Aware Approach for Truth Discovery on Long-Tail Data*, VLDB 2015: the
*lower* quantile of chi-square over the sum of squared residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

LEAST_LOSS = 1e-3  # of the mean loss: nobody is trusted beyond that


@dataclass(frozen=True)
class CATD:
    """The probability with which a user's precision lies below the limit."""

    quantile: float = 0.025

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise ParameterError(f"a quantile lies between 0 and 1, not {self.quantile:g}")


def discover(
    claims: Claims,
    parameters: CATD | None = None,
    *,
    start: Truths | None = None,
    engine: LocalEngine | None = None,
) -> Truths:
    """Truths by CATD."""
    chosen = parameters or CATD()
    from scipy.special import chdtri

    def weigh(losses: Floats, made: Ints) -> Floats:
        limit: Floats = chdtri(made, 1.0 - chosen.quantile)
        return limit / floored(losses, made)

    return sweeps.discover(claims, weigh, method="catd", start=start, engine=engine)


def floored(losses: Floats, made: Ints) -> Floats:
    """Losses that are no less than a thousandth of the mean one for each claim."""
    mean = losses.sum() / made.sum()
    least: Floats = np.maximum(losses, (LEAST_LOSS * mean if mean > 0 else 1.0) * made)
    return least
