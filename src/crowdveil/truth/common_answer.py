"""Pooled mean answer of all randomized reports, the fallback when objects cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from crowdveil.answers import CellReports
from crowdveil.arrays import Floats


@dataclass(frozen=True)
class CommonAnswer:
    """The mean answer, shrunk towards the middle of the domain, and the shrinkage factor `kept`."""

    mean: float
    kept: float  # between 0 (the middle of the domain) and 1 (no shrinkage)


def common_answer(reports: CellReports, totals: Floats) -> CommonAnswer:
    """The mean answer from debiased `totals` of symbols; it needs a symbol for NULL.

    The shares f of levels are estimated by inverting randomized response, y = other + (keep - other) f; the
    mean is that of the levels with weights f. It is shrunk towards the middle according to its standard
    error, with the uniform distribution on the domain as the prior of the mean: few answers at a small
    epsilon carry almost no information.
    """
    low, high = reports.domain.low, reports.domain.high
    levels, middle, cells = reports.levels, 0.5 * (low + high), float(totals.sum())
    other, keep = float(reports.law[-1, 0]), float(reports.law[-1, -1])
    frequencies = totals[:-1] / cells
    shares = (frequencies - other) / (keep - other)
    answered = float(shares.sum())
    if answered <= 0:
        return CommonAnswer(middle, 0.0)
    mean = min(max(float((shares * levels).sum()) / answered, low), high)
    # The delta method: the mean is a ratio of sums over cells of (level - mean) and of 1.
    deviations = levels - mean
    variance = (
        (frequencies * np.square(deviations)).sum() - float((frequencies * deviations).sum()) ** 2
    ) / cells
    error = sqrt(max(float(variance), 0.0)) / ((keep - other) * answered)
    prior = (high - low) ** 2 / 12.0
    kept = prior / (prior + error * error)
    return CommonAnswer(middle + (mean - middle) * kept, kept)
