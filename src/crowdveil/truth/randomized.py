"""Truths from randomized reports of cells: the law that made the reports is public, so it is undone.

The model: a truth lies anywhere, an answer is the truth plus a normal error, rounded and clamped to the
domain, and there is an answer with the user's rate; then the law turns the answer, or NULL, into a symbol.
The law of truths, the users' rates and what spreads errors have are learned from all reports together
(empirical Bayes). An estimate is the median of a truth's posterior inside the domain, its error the
posterior's deviation.

Two stages. First all users err alike, and counts of symbols by object (and by users' rate) say all. Then
users form classes, from careful to careless, as far as reports can tell. Where objects do not differ more
than chance makes them differ, every object gets one common belief: with little information an estimate is a
constant. Where not even the mean of all answers is known, that constant is near the middle of the domain.

Whatever it computes, it computes from reports alone: it costs nothing.

Notation: G groups of users, C classes, N objects, K symbols, T points for truths, S spreads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdveil.answer_law import answer_law
from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats, Ints
from crowdveil.engines import LocalEngine
from crowdveil.kernels import symbol_counts
from crowdveil.kernels.products import product, product_across
from crowdveil.truth.common_answer import CommonAnswer, common_answer
from crowdveil.truth.leaps import Leaps
from crowdveil.truth.smooth_prior import SmoothPrior
from crowdveil.truth.user_classes import Classes, Parts, normed
from crowdveil.truth.user_rates import RateGroups, rate_groups, stated_rate
from crowdveil.truths import Truths

SPREADS = 6  # of users' errors
LEAST_SPREAD = 0.25
LARGEST_SPREAD = 0.75  # of the domain's length: about as good as no answer
FINEST_STEP = 0.25
STEPS = 40  # at most, over the domain's length
BEYOND = 0.25  # of the domain's length: a truth beyond an end is one that nearly all answer with that end
CAUTION = 0.5  # standard errors of what chance makes of objects
SURELY = 5.0  # of the same
VISIBLE = 1.0  # of the same: if less is foreseen of truths, nothing of them could show
ENOUGH_TRUST = 0.5  # with less, beliefs are tempered and users not told apart
WELL_KNOWN = 0.95  # of the mean answer that is kept: with less, estimates lie around it
START_STEPS = 10
CLASSES = 6  # of users
MOST_GROUPS = 24  # classes times groups by rates
ROUNDS = 3
HELD = 0.003  # of a class's answers: how firmly its shares are held near to what is expected
LEAST_SHARE = 1e-9
CAP = 150
TOLERANCE = 1e-3  # of an estimate's error, in one leap; about a tenth of the error may be left
MANY = 1e9  # degrees of freedom: beliefs are taken for normal
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class _Grid:
    """Places for truths, spreads of errors, and the chance of each symbol where somebody answers."""

    places: Floats  # (T,)
    step: float
    inside: Floats  # (T,) the same, pulled into the domain
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
    """What is believed so far."""

    beliefs: Floats  # (N, T)
    prior: Floats  # (T,) in logs
    shares: Floats  # (C, S) of errors, for each class of users
    chances: Floats  # (G, T, K) of symbols
    sweeps: int = 0
    converged: bool = False


def discover(reports: CellReports, *, engine: LocalEngine | None = None) -> Truths:
    """Truths from reports, with an error each; users weigh by how much they answer and how well."""
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


def _rates(reports: CellReports, engine: LocalEngine) -> RateGroups:
    symbols = reports.symbols
    counts = np.empty((symbols.shape[0], reports.law.shape[1]))
    engine.spread(
        "users", symbols.shape[0], lambda first, last: symbol_counts.by_user(symbols, first, last, counts)
    )
    if reports.answered is not None:
        return stated_rate(counts, reports.law, reports.answered)
    return rate_groups(counts, reports.law, alike=reports.users_alike)


def _counts(reports: CellReports, rates: RateGroups, engine: LocalEngine) -> Floats:
    """(G, N, K)"""
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
    """Counts of symbols by groups of users, each with a rate and a class, and the law that made them.

    Users of a class have spreads in the same shares. `expected` are shares that a class is held near to.
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
        """(N, G * K)"""
        return np.ascontiguousarray(self.counts.transpose(1, 0, 2)).reshape(self.counts.shape[1], -1)

    def improve(self, fit: _Fit) -> float:
        """One sweep: beliefs, then the law of truths and the shares of spreads. Tells how good they were."""
        rates = self.rates[:, None, None]
        answered = np.einsum("tsk,cs->ctk", self.grid.answered, fit.shares)
        fit.chances = np.maximum((1.0 - rates) * self.law[-1] + rates * answered[self.classes], _TINY)
        along = fit.chances.transpose(0, 2, 1).reshape(-1, fit.prior.size)  # (G * K, T)
        logs = product(self._by_object, np.log(along)) + fit.prior
        top = logs.max(axis=1, keepdims=True)
        fit.beliefs = np.exp(logs - top)
        whole = fit.beliefs.sum(axis=1, keepdims=True)
        fit.beliefs /= whole
        good = float((top + np.log(whole)).sum()) + self.smooth.goodness(fit.prior)
        fit.prior = self.smooth.improved(fit.prior, fit.beliefs)
        # Expected counts of symbols, each divided by its chance; then counts of spreads by class.
        seen = product_across(self._by_object, fit.beliefs)
        ratios = (seen / along).reshape(self.rates.size, -1, fit.prior.size)
        spreads = np.zeros(fit.shares.shape)
        np.add.at(spreads, self.classes, np.einsum("gkt,tsk->gs", rates * ratios, self.grid.answered))
        spreads *= fit.shares
        if self.expected is not None:
            answers = np.bincount(self.classes, self.rates * self.counts.sum(axis=(1, 2)), len(self.expected))
            held = HELD * answers[:, None] * self.expected
            good += float((held * np.log(np.maximum(fit.shares, _TINY))).sum())
            spreads += held
        fit.shares = spreads / np.maximum(spreads.sum(axis=1, keepdims=True), _TINY)
        fit.sweeps += 1
        return good


def _settle(fit: _Fit, model: _Model) -> None:
    """Improve until estimates move by next to nothing in units of their errors."""
    grid, points = model.grid, fit.prior.size

    def step(parameters: Floats) -> tuple[Floats, float]:
        prior, shares = parameters[:points], np.maximum(parameters[points:], LEAST_SHARE)
        fit.prior = prior - prior.max() - math.log(np.exp(prior - prior.max()).sum())
        fit.shares = shares.reshape(fit.shares.shape)
        fit.shares /= fit.shares.sum(axis=1, keepdims=True)
        good = model.improve(fit)
        return np.append(fit.prior, fit.shares), good

    parameters, leaps = np.append(fit.prior, fit.shares), Leaps(step)
    last, fit.converged = fit.sweeps + CAP, False
    while not fit.converged and fit.sweeps < last:
        before = product(fit.beliefs, grid.inside)
        parameters = leaps.leap(parameters)
        means, errors = _moments(fit.beliefs, grid)
        fit.converged = bool(np.abs(means - before).mean() < TOLERANCE * errors.mean())
    step(parameters)


def _start(model: _Model, rates: RateGroups) -> _Fit:
    """To begin with truths are spread as answers are: with little to learn from they stay so."""
    grid = model.grid
    places = np.linspace(grid.inside[0], grid.inside[-1], rates.answers.size)
    spread = np.interp(grid.places, places, rates.answers)
    beliefs = np.tile(spread / spread.sum(), (model.counts.shape[1], 1))
    prior = np.full(grid.places.size, -math.log(grid.places.size))
    for _ in range(START_STEPS):
        prior = model.smooth.improved(prior, beliefs)
    return _Fit(beliefs, prior, np.full((1, SPREADS), 1.0 / SPREADS), np.empty(0))


def _trust(counts: Floats, grid: _Grid, fit: _Fit, told: int) -> float:
    """How much more than by chance objects differ, as a share of what beliefs make of it: 1 is all.

    Each object has a score, of symbols that tell high truths from low ones. Its variance over objects is
    that of chance, which the symbols' totals tell, and that of truths, which the fit foresees. Only the first
    symbols count, `told` of them, not NULL: where work is handed out evenly, the number of answers varies
    less than by chance.
    """
    counts, law = counts[:, :, :told], np.exp(fit.prior)
    chances = fit.chances[:, :, :told] / fit.chances[:, :, :told].sum(axis=2, keepdims=True)
    per_object = counts.sum(axis=(1, 2)) / counts.shape[1]
    common = counts.sum(axis=1) + 0.5  # a symbol that nobody reported has some chance
    common /= common.sum(axis=1, keepdims=True)
    scores = np.einsum("t,t,gtk->gk", law, grid.inside - product(law, grid.inside), chances) / common
    scores -= (common * scores).sum(axis=1, keepdims=True)
    by_chance = float(product(per_object, (common * np.square(scores)).sum(axis=1)))
    by_truth = np.einsum("g,gk,gtk->t", per_object, scores, chances)
    foreseen = float(product(law, np.square(by_truth - product(law, by_truth))))
    found = np.einsum("gnk,gk->n", counts, scores)
    error = by_chance * math.sqrt(2.0 / max(1, found.size - 1))
    if found.size < 2 or foreseen <= VISIBLE * error:
        return 0.0
    excess = float(np.square(found - found.mean()).sum()) / (found.size - 1) - by_chance
    # Where objects differ for sure, it is some users of whom too much is foreseen: those show as such later.
    share = 1.0 if excess > SURELY * error else (excess - CAUTION * error) / foreseen
    return float(min(1.0, max(0.0, share)))


def _tempered(fit: _Fit, trust: float) -> Floats:
    """Beliefs between what all objects have in common (no trust) and each object's own."""
    common = np.log(np.maximum(fit.beliefs.mean(axis=0), _TINY))
    own = np.log(np.maximum(fit.beliefs, _TINY)) - fit.prior
    return normed(common + trust * (own - own.max(axis=1, keepdims=True)))


def _around_the_common(
    medians: Floats, errors: Floats, common: CommonAnswer, grid: _Grid
) -> tuple[Floats, Floats]:
    """Estimates around the mean answer, pulled to the middle, where not even that mean is known well."""
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
    engine: LocalEngine,
) -> Floats:
    """Go on with classes of users who err alike; gives the chances (M, S) of users' spreads."""
    parts, law, common = Parts.of(reports.symbols), reports.law, fit.shares[0]
    groups, each = rates.rates.size, rates.rates[:, None, None, None]
    chances = (1.0 - each) * law[-1][:, None] + each * grid.answered.transpose(0, 2, 1)  # (G, T, K, S)
    count = min(CLASSES, max(2, MOST_GROUPS // groups))
    for _ in range(ROUNDS):
        foreseen = np.stack([_foreseen(fit.beliefs, each) for each in chances])
        fits = parts.fits(rates.groups, np.log(np.maximum(foreseen, _TINY)), engine)
        classes = Classes.told(fits, common, grid.spreads, count)
        by_class = rates.groups * count + classes.of_users
        counts = parts.counts(by_class, groups * count, law.shape[1], engine)
        some = np.unique(by_class)
        fit.shares = classes.expected
        _settle(
            fit,
            _Model(
                *(counts[some], rates.rates[some // count], some % count, grid, smooth, law),
                expected=classes.expected,
            ),
        )
        common = product(classes.sizes, fit.shares) / classes.sizes.sum()
    return normed(fits.sum(axis=0) + np.log(np.maximum(common, LEAST_SHARE)))


def _foreseen(beliefs: Floats, chances: Floats) -> Floats:
    """(N, K, S): the chances of an object's symbols by spread, from those at each place (T, K, S)."""
    flat: Floats = product(beliefs, chances.reshape(len(chances), -1))
    return flat.reshape(-1, *chances.shape[1:])


def _moments(beliefs: Floats, grid: _Grid) -> tuple[Floats, Floats]:
    """Means and deviations of truths inside the domain."""
    means = product(beliefs, grid.inside)
    variances = np.maximum(product(beliefs, np.square(grid.inside)) - np.square(means), 0.0)
    return means, np.sqrt(variances + grid.step**2 / 12.0)


def _summary(beliefs: Floats, grid: _Grid) -> tuple[Floats, Floats]:
    """Medians and deviations of truths inside the domain."""
    passed = np.cumsum(beliefs, axis=1)
    at = (passed >= 0.5 * passed[:, -1:]).argmax(axis=1)
    rows = np.arange(at.size)
    # Each place stands for the half steps around it.
    over = (passed[rows, at] - 0.5 * passed[:, -1]) / beliefs[rows, at]
    medians = np.clip(grid.places[at] + (0.5 - over) * grid.step, grid.inside[0], grid.inside[-1])
    return medians, _moments(beliefs, grid)[1]
