"""Truths from randomized reports of cells: the law that made the reports is public, so it is undone.

The model: a truth lies anywhere, an answer is the truth plus a normal error, rounded and clamped to the
domain, and there is an answer with the user's rate; then the law turns the answer, or NULL, into a symbol.
The law of truths, the users' rates and what spreads errors have are learned from all reports together
(empirical Bayes). An estimate is the median of a truth's posterior inside the domain, its error the
posterior's deviation.

Two stages. First all users err alike, and counts of symbols by object (and by users' rate) say all. Then each
user has a spread of their own, as far as reports can tell. Where objects do not differ more than chance makes
them differ, every object gets one common belief: with little information an estimate is a constant.

Whatever it computes, it computes from reports alone: it costs nothing.

Notation: G groups of users, N objects, K symbols, T points for truths, S spreads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats
from crowdveil.engines import LocalEngine
from crowdveil.kernels import symbol_counts
from crowdveil.truth.result import Truths
from crowdveil.truth.smooth_prior import SmoothPrior
from crowdveil.truth.user_rates import RateGroups, rate_groups

SPREADS = 6  # of users' errors
LEAST_SPREAD = 0.25
LARGEST_SPREAD = 0.75  # of the domain's length: about as good as no answer
FINEST_STEP = 0.25
STEPS = 40  # at most, over the domain's length
BEYOND = 0.25  # of the domain's length: a truth beyond an end is one that nearly all answer with that end
CAUTION = 0.5  # standard errors of what chance makes of objects
SURELY = 5.0  # of the same
ENOUGH_TRUST = 0.5  # with less, beliefs are tempered and users not told apart
START_STEPS = 10
POOLED_CAP = 150
TYPED_CAP = 12
TOLERANCE = 1e-4  # of the domain's length
PSEUDO_USERS = 1.0  # of each spread
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
        chances = _answer_chances(places, spreads, domain)
        return cls(places, step, np.clip(places, domain.low, domain.high), spreads, chances @ law[:-1])


def _answer_chances(places: Floats, spreads: Floats, domain: Domain) -> Floats:
    """(T, S, answers): the chance of each answer, a normal one rounded and clamped."""
    from scipy.special import ndtr

    borders = domain.values()[:-1] + 0.5
    below = ndtr((borders - places[:, None, None]) / spreads[:, None])
    ends = np.zeros((*below.shape[:2], 1))
    chances: Floats = np.diff(np.concatenate([ends, below, ends + 1.0], axis=2), axis=2)
    return chances


@dataclass
class _Fit:
    """What is believed so far."""

    beliefs: Floats  # (N, T)
    prior: Floats  # (T,) in logs
    shares: Floats  # (S,) of errors, later of users
    chances: Floats  # (G, T, K) of symbols
    sweeps: int = 0
    converged: bool = False


def discover(reports: CellReports, *, engine: LocalEngine | None = None) -> Truths:
    """Truths from reports, with an error each; users weigh by how much they answer and how well."""
    engine = engine or LocalEngine()
    grid = _Grid.of(reports.domain, reports.law)
    groups = _groups(reports, engine)
    counts = _counts(reports, groups, engine)
    smooth = SmoothPrior.of(grid.places.size, grid.step / float(reports.domain.high - reports.domain.low))
    fit = _pooled(counts, groups, grid, smooth, reports.law)
    shares = np.tile(fit.shares, (len(reports.users), 1))
    trust = _trust(counts, grid, fit)
    if trust < ENOUGH_TRUST:
        fit.beliefs = _tempered(fit, trust)
    else:
        shares = _typed(reports, groups, grid, smooth, fit, engine)
    medians, errors = _summary(fit.beliefs, grid)
    weights = groups.of_users / (shares @ np.square(grid.spreads))
    freedom = np.full(medians.size, MANY)
    return Truths(
        *(reports.objects, reports.users, medians, errors, freedom, weights),
        method="randomized",
        sweeps=fit.sweeps,
        converged=fit.converged,
    )


def _groups(reports: CellReports, engine: LocalEngine) -> RateGroups:
    symbols = reports.symbols
    counts = np.empty((symbols.shape[0], reports.law.shape[1]))
    engine.spread(
        "users", symbols.shape[0], lambda first, last: symbol_counts.by_user(symbols, first, last, counts)
    )
    return rate_groups(counts, reports.law)


def _counts(reports: CellReports, groups: RateGroups, engine: LocalEngine) -> Floats:
    """(G, N, K)"""
    symbols = reports.symbols
    counts = np.empty((groups.rates.size, symbols.shape[1], reports.law.shape[1]))
    engine.spread(
        "objects",
        symbols.shape[1],
        lambda first, last: symbol_counts.by_object(symbols, groups.groups, first, last, counts),
    )
    return counts


def _pooled(counts: Floats, groups: RateGroups, grid: _Grid, smooth: SmoothPrior, law: Floats) -> _Fit:
    """Beliefs where any answer may have any spread: expectation and maximization over counts."""
    fit = _start(counts, groups, grid, smooth)
    length = float(grid.inside[-1] - grid.inside[0])
    while not fit.converged and fit.sweeps < POOLED_CAP:
        fit.sweeps += 1
        before = fit.beliefs @ grid.inside
        _improve(fit, counts, groups, grid, smooth, law)
        moved = float(np.abs(fit.beliefs @ grid.inside - before).mean())
        fit.converged = fit.sweeps > 2 and moved < TOLERANCE * length
    return fit


def _improve(
    fit: _Fit, counts: Floats, groups: RateGroups, grid: _Grid, smooth: SmoothPrior, law: Floats
) -> None:
    """One sweep: beliefs, then the law of truths and the shares of spreads."""
    rates = groups.rates[:, None, None]
    answered = np.einsum("tsk,s->tk", grid.answered, fit.shares)
    fit.chances = np.maximum((1.0 - rates) * law[-1] + rates * answered, _TINY)
    logs = sum(c @ np.log(p).T for c, p in zip(counts, fit.chances, strict=True))
    fit.beliefs = _normed(logs + fit.prior)
    fit.prior = smooth.improved(fit.prior, fit.beliefs)
    # (G, T, K): expected counts of symbols, each divided by its chance.
    ratios = np.stack([fit.beliefs.T @ c for c in counts]) / fit.chances
    fit.shares = fit.shares * np.einsum("gtk,tsk,g->s", ratios, grid.answered, groups.rates)
    fit.shares = fit.shares / fit.shares.sum()


def _start(counts: Floats, groups: RateGroups, grid: _Grid, smooth: SmoothPrior) -> _Fit:
    """To begin with truths are spread as answers are: with little to learn from they stay so."""
    places = np.linspace(grid.inside[0], grid.inside[-1], groups.answers.size)
    spread = np.interp(grid.places, places, groups.answers)
    beliefs = np.tile(spread / spread.sum(), (counts.shape[1], 1))
    prior = np.full(grid.places.size, -math.log(grid.places.size))
    for _ in range(START_STEPS):
        prior = smooth.improved(prior, beliefs)
    return _Fit(beliefs, prior, np.full(SPREADS, 1.0 / SPREADS), np.empty(0))


def _trust(counts: Floats, grid: _Grid, fit: _Fit) -> float:
    """How much more than by chance objects differ, as a share of what beliefs make of it: 1 is all.

    Each object has a score, of symbols that tell high truths from low ones. Its variance over objects is
    that of chance, which the symbols' totals tell, and that of truths, which the fit foresees. NULLs are left
    out: where work is handed out evenly, the number of answers varies less than by chance.
    """
    counts, law = counts[:, :, :-1], np.exp(fit.prior)
    chances = fit.chances[:, :, :-1] / fit.chances[:, :, :-1].sum(axis=2, keepdims=True)
    per_object = counts.sum(axis=(1, 2)) / counts.shape[1]
    common = counts.sum(axis=1) + 0.5  # a symbol that nobody reported has some chance
    common /= common.sum(axis=1, keepdims=True)
    scores = np.einsum("t,t,gtk->gk", law, grid.inside - law @ grid.inside, chances) / common
    scores -= (common * scores).sum(axis=1, keepdims=True)
    by_chance = float(per_object @ (common * np.square(scores)).sum(axis=1))
    by_truth = np.einsum("g,gk,gtk->t", per_object, scores, chances)
    foreseen = float(law @ np.square(by_truth - law @ by_truth))
    found = np.einsum("gnk,gk->n", counts, scores)
    if found.size < 2 or foreseen <= 0.0:
        return 0.0
    error = by_chance * math.sqrt(2.0 / (found.size - 1))
    excess = float(np.square(found - found.mean()).sum()) / (found.size - 1) - by_chance
    # Where objects differ for sure, it is some users of whom too much is foreseen: those show as such later.
    share = 1.0 if excess > SURELY * error else (excess - CAUTION * error) / foreseen
    return float(min(1.0, max(0.0, share)))


def _tempered(fit: _Fit, trust: float) -> Floats:
    """Beliefs between what all objects have in common (no trust) and each object's own."""
    common = np.log(np.maximum(fit.beliefs.mean(axis=0), _TINY))
    own = np.log(np.maximum(fit.beliefs, _TINY)) - fit.prior
    return _normed(common + trust * (own - own.max(axis=1, keepdims=True)))


def _typed(
    reports: CellReports,
    groups: RateGroups,
    grid: _Grid,
    smooth: SmoothPrior,
    fit: _Fit,
    engine: LocalEngine,
) -> Floats:
    """Go on with a spread for each user; gives the chances (M, S) of users' spreads."""
    nulls, rates = reports.law[-1], groups.rates[:, None, None, None]
    chances = (1.0 - rates) * nulls[:, None] + rates * grid.answered.transpose(0, 2, 1)  # (G, T, K, S)
    logs = np.log(np.maximum(chances, _TINY)).reshape(groups.rates.size, grid.places.size, -1)
    length = float(grid.inside[-1] - grid.inside[0])
    last, fit.converged = fit.sweeps + TYPED_CAP, False
    while not fit.converged and fit.sweeps < last:
        fit.sweeps += 1
        before = fit.beliefs @ grid.inside
        fits = _fits(reports, groups, fit.beliefs, logs, engine)
        shares = _normed(fits + np.log(fit.shares))
        fit.shares = shares.sum(axis=0) + PSEUDO_USERS
        fit.shares /= fit.shares.sum()
        weighed = _weighed(reports, groups, shares, engine)
        found = sum(w @ x.T for w, x in zip(weighed, logs, strict=True))
        fit.beliefs = _normed(found + fit.prior)
        fit.prior = smooth.improved(fit.prior, fit.beliefs)
        fit.converged = float(np.abs(fit.beliefs @ grid.inside - before).mean()) < TOLERANCE * length
    return shares


def _fits(
    reports: CellReports, groups: RateGroups, beliefs: Floats, logs: Floats, engine: LocalEngine
) -> Floats:
    """(M, S): how well each spread explains each user's reports, in logs."""
    symbols = reports.symbols
    table = np.stack([beliefs @ x for x in logs])
    table = table.reshape(groups.rates.size, symbols.shape[1], reports.law.shape[1], SPREADS)
    out = np.empty((symbols.shape[0], SPREADS))
    engine.spread(
        "users",
        symbols.shape[0],
        lambda first, last: symbol_counts.summed_by_user(symbols, groups.groups, table, first, last, out),
    )
    return out


def _weighed(reports: CellReports, groups: RateGroups, shares: Floats, engine: LocalEngine) -> Floats:
    """(G, N, K * S): symbols counted by spread, each user in parts."""
    symbols = reports.symbols
    out = np.empty((groups.rates.size, symbols.shape[1], reports.law.shape[1], SPREADS))
    engine.spread(
        "objects",
        symbols.shape[1],
        lambda first, last: symbol_counts.weighed_by_object(symbols, groups.groups, shares, first, last, out),
    )
    return out.reshape(groups.rates.size, symbols.shape[1], -1)


def _normed(logs: Floats) -> Floats:
    """Rows of logs as chances that sum to 1."""
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    normed: Floats = chances / chances.sum(axis=1, keepdims=True)
    return normed


def _summary(beliefs: Floats, grid: _Grid) -> tuple[Floats, Floats]:
    """Medians and deviations of truths inside the domain."""
    passed = np.cumsum(beliefs, axis=1)
    at = (passed >= 0.5 * passed[:, -1:]).argmax(axis=1)
    rows = np.arange(at.size)
    # Each place stands for the half steps around it.
    over = (passed[rows, at] - 0.5 * passed[:, -1]) / beliefs[rows, at]
    medians = np.clip(grid.places[at] + (0.5 - over) * grid.step, grid.inside[0], grid.inside[-1])
    means = beliefs @ grid.inside
    variances = np.maximum(beliefs @ np.square(grid.inside) - np.square(means), 0.0)
    return medians, np.sqrt(variances + grid.step**2 / 12.0)
