"""What every experiment on sparse answers compares with: scores, and constants.

A constant says the same about every object. Where truths lie close together it is hard to beat, and a
mechanism that loses to it has told nothing about single objects: no picture is without it.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError

# --- scores -------------------------------------------------------------------------------------------------


def mae(estimates: Floats | float, truths: Floats) -> float:
    """The mean absolute error over the objects whose truths are known (the others are NaN)."""
    return float(np.nanmean(np.abs(estimates - truths)))


def mae_change(after: Floats | float, before: Floats, truths: Floats) -> float:
    """The paper's score: the error of what reports tell, less that of what original answers tell."""
    return mae(after, truths) - mae(before, truths)


# --- constants ----------------------------------------------------------------------------------------------


def best_constant(truths: Floats) -> float:
    """The constant of the least error: the median of the known truths, which no method can know."""
    if np.isnan(truths).all():
        raise ParameterError("no truth is known")
    return float(np.nanmedian(truths))


def mean_truth(truths: Floats) -> float:
    """The mean of the known truths, the constant of the least squared error."""
    if np.isnan(truths).all():
        raise ParameterError("no truth is known")
    return float(np.nanmean(truths))


def middle_of(domain: Domain) -> float:
    """The constant of who knows nothing but the domain."""
    return 0.5 * (domain.low + domain.high)


def debiased_mean(reports: CellReports) -> float:
    """The constant of who looks at all reports together: the mean of all answers, made free of the noise.

    Shares f of levels are debiased by the law of randomized response, y = other + (keep - other) f, and the
    mean is that of f over levels. It is shrunk towards the middle of the domain by its standard error, for
    which a mean anywhere in the domain is as likely as any other: few answers at a small epsilon tell
    nothing.
    """
    levels, middle = reports.levels, middle_of(reports.domain)
    other, keep = float(reports.law[-1, 0]), float(reports.law[-1, -1])
    seen = np.bincount(reports.symbols.ravel(), minlength=levels.size + 1) / reports.symbols.size
    shares = (seen[:-1] - other) / (keep - other)
    answered = float(shares.sum())
    if answered <= 0:
        return middle
    low, high = reports.domain.low, reports.domain.high
    mean = min(max(float(shares @ levels) / answered, low), high)
    # The delta method: the mean is a ratio of sums over cells of (level - mean) and of 1.
    around = levels - mean
    variance = (seen[:-1] @ np.square(around) - (seen[:-1] @ around) ** 2) / reports.symbols.size
    error = sqrt(max(float(variance), 0.0)) / ((keep - other) * answered)
    prior = (high - low) ** 2 / 12.0
    return middle + (mean - middle) * prior / (prior + error * error)
