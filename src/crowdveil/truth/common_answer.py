"""What all randomized reports together say about the mean answer: the constant of who looks no closer."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from crowdveil.answers import CellReports
from crowdveil.arrays import Floats


@dataclass(frozen=True)
class CommonAnswer:
    """The mean answer, pulled towards the middle of the domain, and how much of it was kept."""

    mean: float
    kept: float  # between 0 and 1


def common_answer(reports: CellReports, totals: Floats) -> CommonAnswer:
    """From `totals` of symbols, made free of the noise; only where a symbol stands for NULL.

    Shares f of levels are debiased by the law of randomized response, y = other + (keep - other) f, and the
    mean is that of f over levels. It is pulled towards the middle by its standard error, for which a mean
    anywhere in the domain is as likely as any other: few answers at a small epsilon tell nothing.
    """
    low, high = reports.domain.low, reports.domain.high
    levels, middle, cells = reports.levels, 0.5 * (low + high), float(totals.sum())
    other, keep = float(reports.law[-1, 0]), float(reports.law[-1, -1])
    seen = totals[:-1] / cells
    shares = (seen - other) / (keep - other)
    answered = float(shares.sum())
    if answered <= 0:
        return CommonAnswer(middle, 0.0)
    mean = min(max(float((shares * levels).sum()) / answered, low), high)
    # The delta method: the mean is a ratio of sums over cells of (level - mean) and of 1.
    around = levels - mean
    variance = ((seen * np.square(around)).sum() - float((seen * around).sum()) ** 2) / cells
    error = sqrt(max(float(variance), 0.0)) / ((keep - other) * answered)
    prior = (high - low) ** 2 / 12.0
    kept = prior / (prior + error * error)
    return CommonAnswer(middle + (mean - middle) * kept, kept)
