"""The inference of the paper on sparse answers: inverse deviation, on answers, or on reports as they are.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018,
algorithm 1 and equation 2. Truths are means by users' weights; a user weighs one over the root of their mean
squared distance to the truths. (`truth.deviation`, for claims of any kind, divides a distance by its object's
spread; answers of one domain need no such thing.) Whoever holds the numbers passes the two steps, so that no
table is needed. Objects without a number get the mean of what is found for the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from crowdveil.answers import Answers, CellReports, Domain
from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.engines import Engine
from crowdveil.kernels import symbol_counts
from crowdveil.truths import Truths

TOLERANCE = 1e-5  # of the domain's length
CAP = 100
LEAST_LOSS = 1e-3  # of the mean loss: nobody is trusted beyond that


def infer(
    objects: pl.Series,
    users: pl.Series,
    domain: Domain,
    means: Callable[[Floats], Floats],
    losses: Callable[[Floats], Floats],
) -> Truths:
    """Sweep until no truth moves by more than a hundred-thousandth of the domain, from equal weights.

    `means` gives truths from weights, `losses` users' mean squared distances from truths: NaN for objects,
    and for users, without any number.
    """
    weights = np.full(len(users), 1.0 / len(users))
    truths = _filled(means(weights), 0.5 * (domain.low + domain.high))
    sweep, converged = 0, False
    while not converged and sweep < CAP:
        sweep += 1
        loss = losses(truths)
        mean = float(np.nanmean(loss)) if np.isfinite(loss).any() else 0.0
        weights = 1.0 / np.sqrt(np.maximum(_filled(loss, mean), LEAST_LOSS * mean if mean > 0 else 1.0))
        weights /= weights.sum()
        before, truths = truths, _filled(means(weights), 0.5 * (domain.low + domain.high))
        converged = float(np.abs(truths - before).max()) <= TOLERANCE * (domain.size - 1)
    unknown = np.full(len(objects), np.inf)
    return Truths(
        *(objects, users, truths, unknown, np.ones(len(objects)), weights),
        method="inverse-deviation",
        sweeps=sweep,
        converged=converged,
    )


def _filled(numbers: Floats, otherwise: float) -> Floats:
    """The mean of the known numbers in place of unknown ones, or something else where none is known."""
    known = np.isfinite(numbers)
    if known.all():
        return numbers
    return np.where(known, numbers, numbers[known].mean() if known.any() else otherwise)


def on_answers(answers: Answers) -> Truths:
    """What original answers tell: protects nobody."""
    users, objects = len(answers.users), len(answers.objects)
    owners, about = np.repeat(np.arange(users), np.diff(answers.offsets)), answers.object_codes
    values = answers.domain.low + answers.codes.astype(np.float64)
    answered = np.diff(answers.offsets).astype(np.float64)

    def means(weights: Floats) -> Floats:
        each = weights[owners]
        return _ratios(_sums(about, each * values, objects), _sums(about, each, objects))

    def losses(truths: Floats) -> Floats:
        return _ratios(_sums(owners, np.square(values - truths[about]), users), answered)

    return infer(answers.objects, answers.users, answers.domain, means, losses)


def on_symbols(reports: CellReports, *, engine: Engine | None = None) -> Truths:
    """What raw reports tell: a level is taken for an answer, and NULL for none."""
    del engine  # as other truth methods take one; a sweep over bytes is too quick for threads
    users, objects = reports.symbols.shape
    values = np.append(reports.levels, 0.0)

    def means(weights: Floats) -> Floats:
        sums, total_weights = np.empty(objects), np.empty(objects)
        symbol_counts.weighed_values(reports.symbols, values, weights, sums, total_weights)
        return _ratios(sums, total_weights)

    def losses(truths: Floats) -> Floats:
        squares, counts = np.empty(users), np.empty(users)
        symbol_counts.squares_by_user(reports.symbols, values, truths, squares, counts)
        return _ratios(squares, counts)

    return infer(reports.objects, reports.users, reports.domain, means, losses)


def _sums(places: Ints | Codes, numbers: Floats, count: int) -> Floats:
    return np.bincount(places, numbers, minlength=count).astype(np.float64)


def _ratios(sums: Floats, weights: Floats) -> Floats:
    """NaN where there is nothing to divide by."""
    ratios: Floats = np.divide(sums, weights, out=np.full(sums.size, np.nan), where=weights > 0)
    return ratios
