"""What every experiment on sparse answers compares with: original answers, raw reports, and constants.

A constant says the same about every object. Where truths lie close together it is hard to beat, and a
mechanism that loses to it has told nothing about single objects: no picture is without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from crowdveil.answers import Answers, CellReports, Domain, Symbols
from crowdveil.arrays import Flags, Floats, Ints
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.truth import deviation
from crowdveil.truth.catd import floored
from crowdveil.truth.sweeps import CAP, TOLERANCE

CELLS_AT_ONCE = 2**16  # of which floats are made: they stay in cache

# --- scores -------------------------------------------------------------------------------------------------


def mae(estimates: Floats | float, truths: Floats) -> float:
    """The mean absolute error over the objects whose truths are known (the others are NaN)."""
    return float(np.nanmean(np.abs(estimates - truths)))


def mae_change(after: Floats | float, before: Floats, truths: Floats) -> float:
    """The paper's score: the error of what reports tell, less that of what original answers tell."""
    return mae(after, truths) - mae(before, truths)


# --- the paper's inference ----------------------------------------------------------------------------------


def inverse_deviation_on(answers: Answers, *, engine: LocalEngine | None = None) -> Floats:
    """What the paper's inference finds in original answers, for every object.

    Objects that nobody answered about get the mean of what is found for the others.
    """
    found = deviation.discover(answers.claims(), engine=engine)
    places = answers.objects.search_sorted(found.objects).to_numpy()
    estimates = np.full(len(answers.objects), found.estimates.mean())
    estimates[places] = found.estimates
    return estimates


def inverse_deviation_on_reports(reports: CellReports) -> Floats:
    """What the paper's inference finds in raw reports: a level is a claim, and NULL is none.

    The same as `truth.deviation` on these claims, without them: at one byte a cell they would take a dozen.
    """
    by_object = np.ascontiguousarray(reports.symbols.T)
    middle = float(reports.levels.mean())
    values = np.append(reports.levels - middle, 0.0)
    spreads = _spreads(_counts(by_object, values.size), values)
    judged = spreads > 0
    precision = np.divide(1.0, np.square(spreads), out=np.zeros(spreads.size), where=judged)
    made = _given(by_object[judged], values).sum(axis=0, dtype=np.int64)
    weights, truths = np.ones(by_object.shape[1]), np.zeros(by_object.shape[0])
    for sweep in range(CAP):
        before, losses = truths, np.zeros(weights.size)
        truths = np.zeros(truths.size)
        for a, b in _blocks(by_object.shape):
            truths[a:b] = _add_losses(by_object[a:b], values, weights, precision[a:b], losses)
        steps = np.abs(truths - before)[judged] / spreads[judged]
        if not made.any() or (sweep and steps.mean() < TOLERANCE):
            break
        weights = _weights(losses, made)
    known = np.isfinite(truths)
    return middle + np.where(known, truths, truths[known].mean() if known.any() else 0.0)


def _given(symbols: Symbols, values: Floats) -> Flags:
    """Where a level was told, and not NULL, the last symbol."""
    return symbols < values.size - 1


def _add_losses(
    symbols: Symbols, values: Floats, weights: Floats, precision: Floats, losses: Floats
) -> Floats:
    """The weighted means of some objects, NaN where all is NULL; users' losses around them are added up."""
    value, given = values[symbols], _given(symbols, values).astype(np.float64)
    whole = given @ weights
    means = np.full(whole.size, np.nan)
    np.divide(value @ weights, whole, out=means, where=whole > 0)
    centre = np.where(precision > 0, means, 0.0)
    losses += precision @ np.square(value) - 2.0 * (precision * centre) @ value
    losses += (precision * centre * centre) @ given
    return means


def _weights(losses: Floats, made: Ints) -> Floats:
    """One over the root of each user's mean squared residual; the mean weight for who was not judged."""
    judged = made > 0
    weights = np.empty(losses.size)
    weights[judged] = 1.0 / np.sqrt(floored(losses[judged], made[judged]) / made[judged])
    weights[~judged] = weights[judged].mean()
    return weights


def _counts(by_object: Symbols, symbols: int) -> Ints:
    """(objects, symbols): how often each was told."""
    return np.array([np.bincount(row, minlength=symbols) for row in by_object], dtype=np.int64)


def _spreads(counts: Ints, values: Floats) -> Floats:
    """The standard deviation of each object's levels; 0 where they are equal, or one."""
    told = counts[:, :-1]
    many = told.sum(axis=1)
    mean = told @ values[:-1] / np.maximum(many, 1)
    squares = np.sum(told * np.square(values[:-1] - mean[:, None]), axis=1)
    differ = np.count_nonzero(told, axis=1) > 1
    spreads: Floats = np.where(differ, np.sqrt(squares / np.maximum(many - 1, 1)), 0.0)
    return spreads


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Ranges of objects with about CELLS_AT_ONCE cells."""
    step = max(1, CELLS_AT_ONCE // shape[1])
    for first in range(0, shape[0], step):
        yield first, min(first + step, shape[0])


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
