"""What every experiment on sparse answers compares with: scores, and constants.

A constant says the same about every object. Where truths lie close together it is hard to beat, and a
mechanism that loses to it has told nothing about single objects: no picture is without it.
"""

from __future__ import annotations

import numpy as np

from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.truth.common_answer import common_answer

# --- scores -------------------------------------------------------------------------------------------------


def mae(estimates: Floats | float, truths: Floats) -> float:
    """The mean absolute error over the objects whose truths are known (the others are NaN)."""
    known = np.isfinite(truths)
    return float(np.abs(estimates - truths)[known].mean())


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
    """The constant of who looks at all reports together: the mean of all answers, made free of the noise."""
    symbols = reports.law.shape[1]
    totals = np.bincount(reports.symbols.ravel(), minlength=symbols).astype(np.float64)
    return common_answer(reports, totals).mean
