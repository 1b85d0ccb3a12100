"""Truths from randomized reports of cells: Bayesian inference under the public law of the reports.

The model: an answer is the truth plus a normal error, rounded and clamped to the domain; each user answers at
their own rate; then the law turns the answer, or NULL, into a symbol. The prior of truths, the users' rates
and the distribution of error spreads are estimated from all reports (empirical Bayes). An estimate is the
posterior median of a truth, clipped to the domain, and its error is the posterior standard deviation.

There are two stages. In the first, all users have the same distribution of errors, and the counts of symbols
by object (and by groups of users with similar rates) are sufficient. In the second, users are divided into
classes, from careful to careless, if the reports allow it. If objects do not differ more than by chance,
all get one common posterior: with little information an estimate is a constant. If not even the mean of all
answers is known, that constant is near the middle of the domain.

It uses only reports: it is post-processing and costs no privacy.

Notation: G groups of users, C classes, N objects, K symbols, T grid points for truths, S spreads of errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdveil.answer_law import answer_law
from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats, Ints
from crowdveil.engines import Engine, LocalEngine
from crowdveil.kernels import symbol_counts
from crowdveil.kernels.products import product, product_across
from crowdveil.truth.common_answer import CommonAnswer, common_answer
from crowdveil.truth.leaps import Leaps
from crowdveil.truth.smooth_prior import SmoothPrior
from crowdveil.truth.user_classes import Classes, Parts, normed
from crowdveil.truth.user_rates import RateGroups, rate_groups, stated_rate
from crowdveil.truths import Truths

SPREADS = 6  # number of spreads of users' errors
LEAST_SPREAD = 0.25
LARGEST_SPREAD = 0.75  # relative to the domain's length: such answers carry hardly any information
FINEST_STEP = 0.25
STEPS = 40  # largest number of grid steps over the domain's length
BEYOND = 0.25  # the grid extends by this share of the domain: beyond an end nearly all answers are that end
CAUTION = 0.5  # in standard errors of the variance by chance: subtracted from the excess variance of objects
SURELY = 5.0  # in the same unit: objects with more excess variance certainly differ
VISIBLE = 1.0  # in the same unit: with a smaller predicted variance, differences could not show
ENOUGH_TRUST = 0.5  # with less trust, posteriors are tempered and users are not divided into classes
WELL_KNOWN = 0.95  # with a smaller shrinkage factor of the mean answer, estimates are centred on that mean
START_STEPS = 10
CLASSES = 6  # of users
MOST_GROUPS = 24  # classes times groups by rates
ROUNDS = 3
HELD = 0.003  # pseudo-answers per answer of a class, which hold its shares near the expected ones
LEAST_SHARE = 1e-9
CAP = 150
TOLERANCE = 1e-3  # change of estimates per leap, in units of their errors; a tenth of an error may remain
MANY = 1e9  # degrees of freedom: posteriors are treated as normal
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class _Grid:
    """Grid points for truths, spreads of errors, and the probability of each symbol given an answer."""

    places: Floats  # (T,)
    step: float
    inside: Floats  # (T,) the same, clipped to the domain
    spreads: Floats  # (S,)
    answered: Floats  # (T, S, K)

    @classmethod
    def of(cls, domain: Domain, law: Floats) -> _Grid:
        length = float(domain.high - domain.low)
        step = max(FINEST_STEP, length / STEPS)
        outside = math.ceil(BEYOND * length / step)
        places = domain.low + step * np.arange(-outside, round(length / step) + outside + 1, dtype=np.float64)
        spreads = np.geomspace(LEAST_SPREAD, max(LARGEST_SPREAD * length, 2 * LEAST_SPREAD), SPREADS)
        chances = answer_law(places[:, None], spreads, domain)
        return cls(
            places, step, np.clip(places, domain.low, domain.high), spreads, product(chances, law[:-1])
        )


@dataclass
class _Fit:
    """The current state of the EM iteration."""

    beliefs: Floats  # (N, T) posteriors of truths
    prior: Floats  # (T,) log-probabilities
    shares: Floats  # (C, S) distribution of error spreads in each class of users
    chances: Floats  # (G, T, K) probabilities of symbols
    sweeps: int = 0
    converged: bool = False


def discover(reports: CellReports, *, engine: Engine | None = None) -> Truths:
    """Truths from reports; a user's weight is their rate of answers divided by their error variance."""
    engine = engine or LocalEngine()
    grid = _Grid.of(reports.domain, reports.law)
    rates = _rates(reports, engine)
    counts = _counts(reports, rates, engine)
    smooth = SmoothPrior.of(grid.places.size, grid.step / float(reports.domain.high - reports.domain.low))
    model = _Model(counts, rates.rates, np.zeros(rates.rates.size, dtype=np.int64), grid, smooth, reports.law)
    fit = _start(model, rates)
    _settle(fit, model)
    shares = np.tile(fit.shares[0], (len(reports.users), 1))
    trust = _trust(counts, grid, fit, counts.shape[2] - (reports.answered is None))
    if trust < ENOUGH_TRUST:
        fit.beliefs = _tempered(fit, trust)
    elif not reports.users_alike:
        shares = _classed(reports, rates, grid, smooth, fit, engine)
    medians, errors = _summary(fit.beliefs, grid)
    if trust < ENOUGH_TRUST and reports.answered is None:
        medians, errors = _around_the_common(
            medians, errors, common_answer(reports, counts.sum(axis=(0, 1))), grid
        )
    weights = rates.of_users / product(shares, np.square(grid.spreads))
    freedom = np.full(medians.size, MANY)
    return Truths(
        *(reports.objects, reports.users, medians, errors, freedom, weights),
        method="randomized",
        sweeps=fit.sweeps,
        converged=fit.converged,
        limits=(float(reports.domain.low), float(reports.domain.high)),
    )


def _rates(reports: CellReports, engine: Engine) -> RateGroups:
    symbols = reports.symbols
    counts = np.empty((symbols.shape[0], reports.law.shape[1]))
    engine.spread(
        "users", symbols.shape[0], lambda first, last: symbol_counts.by_user(symbols, first, last, counts)
    )
    if reports.answered is not None:
        return stated_rate(counts, reports.law, reports.answered)
    return rate_groups(counts, reports.law, alike=reports.users_alike)


def _counts(reports: CellReports, rates: RateGroups, engine: Engine) -> Floats:
    """Counts of symbols by group of users and object, of shape (G, N, K)."""
    symbols = reports.symbols
    counts = np.empty((rates.rates.size, symbols.shape[1], reports.law.shape[1]))
    engine.spread(
        "objects",
        symbols.shape[1],
        lambda first, last: symbol_counts.by_object(symbols, rates.groups, first, last, counts),
    )
    return counts


@dataclass(frozen=True)
class _Model:
    """Counts of symbols by groups of users, each with a rate and a class, and the law of the symbols.

    Users of a class have the same distribution of error spreads, which is regularised towards `expected`.
    """

    counts: Floats  # (G, N, K)
    rates: Floats  # (G,)
    classes: Ints  # (G,)
    grid: _Grid
    smooth: SmoothPrior
    law: Floats
    expected: Floats | None = None  # (C, S)

    @cached_property
    def _by_object(self) -> Floats:
        """The counts by object, of shape (N, G * K)."""
        return np.ascontiguousarray(self.counts.transpose(1, 0, 2)).reshape(self.counts.shape[1], -1)

    def improve(self, fit: _Fit) -> float:
        """One EM step: posteriors, then prior and shares. Returns the objective at the old parameters."""
        rates = self.rates[:, None, None]
        answered = np.einsum("tsk,cs->ctk", self.grid.answered, fit.shares)
        fit.chances = np.maximum((1.0 - rates) * self.law[-1] + rates * answered[self.classes], _TINY)
        by_symbol = fit.chances.transpose(0, 2, 1).reshape(-1, fit.prior.size)  # (G * K, T)
        logs = product(self._by_object, np.log(by_symbol)) + fit.prior
        top = logs.max(axis=1, keepdims=True)
        fit.beliefs = np.exp(logs - top)
        normaliser = fit.beliefs.sum(axis=1, keepdims=True)
        fit.beliefs /= normaliser
        objective = float((top + np.log(normaliser)).sum()) + self.smooth.goodness(fit.prior)
        fit.prior = self.smooth.improved(fit.prior, fit.beliefs)
        # Expected counts of symbols, divided by their probabilities; then those of spreads by class.
        expected_counts = product_across(self._by_object, fit.beliefs)
        ratios = (expected_counts / by_symbol).reshape(self.rates.size, -1, fit.prior.size)
        spreads = np.zeros(fit.shares.shape)
        np.add.at(spreads, self.classes, np.einsum("gkt,tsk->gs", rates * ratios, self.grid.answered))
        spreads *= fit.shares
        if self.expected is not None:
            answers = np.bincount(self.classes, self.rates * self.counts.sum(axis=(1, 2)), len(self.expected))
            pseudo_answers = HELD * answers[:, None] * self.expected
            objective += float((pseudo_answers * np.log(np.maximum(fit.shares, _TINY))).sum())
            spreads += pseudo_answers
        fit.shares = spreads / np.maximum(spreads.sum(axis=1, keepdims=True), _TINY)
        fit.sweeps += 1
        return objective


def _settle(fit: _Fit, model: _Model) -> None:
    """Run accelerated EM until the posterior means move by less than TOLERANCE of their errors."""
    grid, points = model.grid, fit.prior.size

    def step(parameters: Floats) -> tuple[Floats, float]:
        prior, shares = parameters[:points], np.maximum(parameters[points:], LEAST_SHARE)
        fit.prior = prior - prior.max() - math.log(np.exp(prior - prior.max()).sum())
        fit.shares = shares.reshape(fit.shares.shape)
        fit.shares /= fit.shares.sum(axis=1, keepdims=True)
        objective = model.improve(fit)
        return np.append(fit.prior, fit.shares), objective

    parameters, leaps = np.append(fit.prior, fit.shares), Leaps(step)
    last, fit.converged = fit.sweeps + CAP, False
    while not fit.converged and fit.sweeps < last:
        before = product(fit.beliefs, grid.inside)
        parameters = leaps.leap(parameters)
        means, errors = _moments(fit.beliefs, grid)
        fit.converged = bool(np.abs(means - before).mean() < TOLERANCE * errors.mean())
    step(parameters)


def _start(model: _Model, rates: RateGroups) -> _Fit:
    """The initial state: truths are distributed like answers, and stay so if reports carry little."""
    grid = model.grid
    places = np.linspace(grid.inside[0], grid.inside[-1], rates.answers.size)
    spread = np.interp(grid.places, places, rates.answers)
    beliefs = np.tile(spread / spread.sum(), (model.counts.shape[1], 1))
    prior = np.full(grid.places.size, -math.log(grid.places.size))
    for _ in range(START_STEPS):
        prior = model.smooth.improved(prior, beliefs)
    return _Fit(beliefs, prior, np.full((1, SPREADS), 1.0 / SPREADS), np.empty(0))


def _trust(counts: Floats, grid: _Grid, fit: _Fit, symbols: int) -> float:
    """Excess variance of objects over chance, as a share of the variance that the fit predicts, in [0, 1].

    Each object has a score, a weighted count of the symbols that separate high truths from low ones. Its
    variance over objects is the sum of that by chance, which follows from the totals of symbols, and that of
    the truths, which the fit predicts. Only the first `symbols` symbols count, not NULL: where work is
    assigned evenly, the number of answers varies less than by chance.
    """
    counts, law = counts[:, :, :symbols], np.exp(fit.prior)
    chances = fit.chances[:, :, :symbols] / fit.chances[:, :, :symbols].sum(axis=2, keepdims=True)
    per_object = counts.sum(axis=(1, 2)) / counts.shape[1]
    common = counts.sum(axis=1) + 0.5  # a symbol that was never reported has a positive probability
    common /= common.sum(axis=1, keepdims=True)
    scores = np.einsum("t,t,gtk->gk", law, grid.inside - product(law, grid.inside), chances) / common
    scores -= (common * scores).sum(axis=1, keepdims=True)
    by_chance = float(product(per_object, (common * np.square(scores)).sum(axis=1)))
    by_truth = np.einsum("g,gk,gtk->t", per_object, scores, chances)
    predicted = float(product(law, np.square(by_truth - product(law, by_truth))))
    object_scores = np.einsum("gnk,gk->n", counts, scores)
    error = by_chance * math.sqrt(2.0 / max(1, object_scores.size - 1))
    if object_scores.size < 2 or predicted <= VISIBLE * error:
        return 0.0
    excess = (
        float(np.square(object_scores - object_scores.mean()).sum()) / (object_scores.size - 1) - by_chance
    )
    # If objects certainly differ, the prediction is too large because of careless users; the classes of users
    # in the second stage take care of these.
    share = 1.0 if excess > SURELY * error else (excess - CAUTION * error) / predicted
    return float(min(1.0, max(0.0, share)))


def _tempered(fit: _Fit, trust: float) -> Floats:
    """Posteriors between the common one of all objects (trust 0) and each object's own (trust 1)."""
    common = np.log(np.maximum(fit.beliefs.mean(axis=0), _TINY))
    own = np.log(np.maximum(fit.beliefs, _TINY)) - fit.prior
    return normed(common + trust * (own - own.max(axis=1, keepdims=True)))


def _around_the_common(
    medians: Floats, errors: Floats, common: CommonAnswer, grid: _Grid
) -> tuple[Floats, Floats]:
    """Estimates centred on the shrunken mean answer if that mean is not well known; otherwise unchanged."""
    if common.kept > WELL_KNOWN:
        return medians, errors
    low, high = float(grid.inside[0]), float(grid.inside[-1])
    moved = np.clip(medians - medians.mean() + common.mean, low, high)
    return moved, np.sqrt(np.square(errors) + (1.0 - common.kept) * (high - low) ** 2 / 12.0)


def _classed(
    reports: CellReports,
    rates: RateGroups,
    grid: _Grid,
    smooth: SmoothPrior,
    fit: _Fit,
    engine: Engine,
) -> Floats:
    """The second stage, with classes of users; returns posteriors (M, S) of users' error spreads."""
    parts, law, common = Parts.of(reports.symbols), reports.law, fit.shares[0]
    groups, by_group = rates.rates.size, rates.rates[:, None, None, None]
    chances = (1.0 - by_group) * law[-1][:, None] + by_group * grid.answered.transpose(
        0, 2, 1
    )  # (G, T, K, S)
    count = min(CLASSES, max(2, MOST_GROUPS // groups))
    for _ in range(ROUNDS):
        predicted = np.stack([_predicted(fit.beliefs, one) for one in chances])
        fits = parts.fits(rates.groups, np.log(np.maximum(predicted, _TINY)), engine)
        classes = Classes.from_fits(fits, common, grid.spreads, count)
        by_class = rates.groups * count + classes.of_users
        counts = parts.counts(by_class, groups * count, law.shape[1], engine)
        present = np.unique(by_class)
        fit.shares = classes.expected
        _settle(
            fit,
            _Model(
                *(counts[present], rates.rates[present // count], present % count, grid, smooth, law),
                expected=classes.expected,
            ),
        )
        common = product(classes.sizes, fit.shares) / classes.sizes.sum()
    return normed(fits.sum(axis=0) + np.log(np.maximum(common, LEAST_SHARE)))


def _predicted(beliefs: Floats, chances: Floats) -> Floats:
    """(N, K, S): the chances of an object's symbols by spread, from those at each place (T, K, S)."""
    flat: Floats = product(beliefs, chances.reshape(len(chances), -1))
    return flat.reshape(-1, *chances.shape[1:])


def _moments(beliefs: Floats, grid: _Grid) -> tuple[Floats, Floats]:
    """Posterior means and standard deviations of truths, clipped to the domain."""
    means = product(beliefs, grid.inside)
    variances = np.maximum(product(beliefs, np.square(grid.inside)) - np.square(means), 0.0)
    return means, np.sqrt(variances + grid.step**2 / 12.0)


def _summary(beliefs: Floats, grid: _Grid) -> tuple[Floats, Floats]:
    """Posterior medians and standard deviations of truths, clipped to the domain."""
    cumulative = np.cumsum(beliefs, axis=1)
    median_index = (cumulative >= 0.5 * cumulative[:, -1:]).argmax(axis=1)
    rows = np.arange(median_index.size)
    # Each grid point represents the half steps on both sides of it.
    past_median = (cumulative[rows, median_index] - 0.5 * cumulative[:, -1]) / beliefs[rows, median_index]
    medians = np.clip(
        grid.places[median_index] + (0.5 - past_median) * grid.step, grid.inside[0], grid.inside[-1]
    )
    return medians, _moments(beliefs, grid)[1]
