"""Scores and constant baselines for experiments on sparse answers.

A constant estimates every object by the same number. If truths lie close together it is hard to beat, and a
mechanism that does not beat it provides no information about single objects. So every figure shows it.
"""

from __future__ import annotations

import numpy as np

from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.truth.common_answer import common_answer

# --- scores -------------------------------------------------------------------------------------------------


def mae(estimates: Floats | float, truths: Floats) -> float:
    """Mean absolute error over the objects whose truth is known (not NaN)."""
    known = np.isfinite(truths)
    return float(np.abs(estimates - truths)[known].mean())


def mae_change(after: Floats | float, before: Floats, truths: Floats) -> float:
    """The paper's score: the MAE of estimates from reports minus that of estimates from original answers."""
    return mae(after, truths) - mae(before, truths)


# --- constants ----------------------------------------------------------------------------------------------


def best_constant(truths: Floats) -> float:
    """The constant with the least MAE: the median of the known truths, which is not available in practice."""
    if np.isnan(truths).all():
        raise ParameterError("no truth is known")
    return float(np.nanmedian(truths))


def mean_truth(truths: Floats) -> float:
    """The constant with the least squared error: the mean of the known truths."""
    if np.isnan(truths).all():
        raise ParameterError("no truth is known")
    return float(np.nanmean(truths))


def middle_of(domain: Domain) -> float:
    """The middle of the domain, the constant that uses no data."""
    return 0.5 * (domain.low + domain.high)


def debiased_mean(reports: CellReports) -> float:
    """The pooled mean of all answers, estimated from the reports by inverting randomized response."""
    symbols = reports.law.shape[1]
    totals = np.bincount(reports.symbols.ravel(), minlength=symbols).astype(np.float64)
    return common_answer(reports, totals).mean
