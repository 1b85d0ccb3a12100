"""Empirical Bayes on noisy histograms: what each object's density is, given what all of them look like.

Post-processing: nothing here sees a raw claim. The prior over shapes, scales, shares of background and places
is learned from the noisy histograms of up to 400 objects by EM; an object's own histogram is left out of the
prior for its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from crowdveil.arrays import Floats, Ints, Singles
from crowdveil.engines import LocalEngine
from crowdveil.kernels import templates as loops
from crowdveil.randomness import Randomness
from crowdveil.releases.histogram import RATIO, Histograms, PairDistances
from crowdveil.releases.templates import PARTS_PER_CELL, SCALES, SHAPES, SHARES, Templates, templates

FEWEST_BINS, MOST_BINS = 4, 512
ROUNDS = 15
LARGEST_SAMPLE = 400
SAMPLE_BYTES = 200e6
LARGEST_TABLE = 2048
MOST_EXACT_TABLES, TABLES_PER_DOUBLING = 256, 64
USUAL_SPREAD, USUAL_VARIATION = 1 / 12, 1.5  # of the range, and of its logarithm
PSEUDO_COUNT = 1.0  # objects' worth of evenness in each part of the prior
KEPT_PRIOR = 0.999
USUAL_PRIOR = 0.25
LEAST_UNIFORM, MOST_UNIFORM = 0.02, 0.98


def typical_spread(pairs: PairDistances, length: float) -> float:
    """The typical spread of claims within an object, from the noisy distances of random pairs.

    A pair of honest claims differs by a half-normal of scale sqrt(2) spread, others by the background. The
    estimate is the posterior mean of log spread, with a wide prior around a twelfth of the range (without it
    noise alone can look like a tiny spread) and an even one over the spread's variation between objects and
    the share of background; the noise's law is part of the likelihood.
    """
    smallest, bins = pairs.smallest, pairs.counts.size
    edges = np.concatenate([[0.0], smallest * RATIO ** np.arange(bins)])
    edges[-1] = max(edges[-1], length)
    spreads = np.geomspace(smallest, length / 2, 40)
    halves = np.diff(2 * ndtr(edges[:, None] / (sqrt(2) * spreads)) - 1, axis=0)  # (bins, spreads)
    inside = np.minimum(edges / length, 1.0)
    background = 0.5 * np.diff(1 - (1 - inside) ** 2) + 0.5 * np.diff(np.minimum(2 * inside, 1.0))
    logs = np.log(spreads)
    usual = USUAL_SPREAD * length
    guesses, fits = [], []
    for variation in (0.0, 0.4, 0.8):
        for centre in range(spreads.size):
            near = (
                np.exp(-0.5 * ((logs - logs[centre]) / variation) ** 2) if variation else np.eye(40)[centre]
            )
            honest = halves @ (near / near.sum())
            for share in (0.02, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9):
                p = (1 - share) * honest + share * background
                guesses.append(logs[centre])
                fits.append(_log_fit(pairs, p) - 0.5 * (log(spreads[centre] / usual) / USUAL_VARIATION) ** 2)
    weights = np.exp(np.array(fits) - max(fits))
    return exp(float(weights @ np.array(guesses) / weights.sum()))


def _log_fit(pairs: PairDistances, p: Floats) -> float:
    """The log-likelihood of noisy counts: normal (for the binomial) plus Laplace noise, in closed form."""
    mean = pairs.pairs * p
    sd = np.sqrt(mean * (1 - p) + 1e-9)
    rate = 1.0 / pairs.scale
    gap = pairs.counts - mean
    left = rate * gap + log_ndtr(-(gap / sd + rate * sd))
    right = -rate * gap + log_ndtr(gap / sd - rate * sd)
    return float(np.sum(0.5 * (rate * sd) ** 2 + np.logaddexp(left, right)))


@dataclass(frozen=True)
class Prior:
    """What objects look like: weights of (template, share), and of places."""

    profile: Floats  # (C, S), sums to one
    places: Floats  # (sampled + 1, cells): one row for each sampled object, the last for all others
    row_of: Ints  # (N,) which row of `places` an object uses


class DensityPosterior:
    """Posterior densities of the objects behind noisy histograms."""

    def __init__(self, noisy: Histograms, *, rng: Randomness, engine: LocalEngine) -> None:
        self._noisy, self._engine = noisy, engine
        self._templates: Templates = templates()
        self._evidence = self._gathered()
        self.prior = self._learn(rng)

    def _likelihood_tables(self) -> tuple[Singles, Ints, Ints]:
        """A table for each number of claims that occurs, one after the other."""
        counts, kind = np.unique(_rounded(self._noisy.claims), return_inverse=True)
        tops = np.minimum(counts, LARGEST_TABLE)
        made = [self._table(int(top), float(n) / float(top)) for n, top in zip(counts, tops, strict=True)]
        begins = np.concatenate([[0], np.cumsum(tops + 1)[:-1]])
        return np.concatenate(made), begins[kind], tops[kind]

    def _table(self, top: int, shrunk: float) -> Singles:
        noise = self._noisy.noise
        if noise.gaussian:
            return loops.gaussian_likelihood_table(top, noise.variance / shrunk**2)  # type: ignore[no-any-return]
        return loops.likelihood_table(top, shrunk / float(noise.parameter))  # type: ignore[no-any-return]

    def _gathered(self) -> loops.Evidence:
        noisy, t = self._noisy, self._templates
        steps = np.empty((SHARES.size, t.masses.size), dtype=np.uint8)
        loops.background_steps(SHARES, t.masses, 1.0 / noisy.bins, steps)
        return loops.Evidence(
            *(noisy.counts, noisy.shifts, noisy.claims, *self._likelihood_tables()),
            *(noisy.cells, t.reach, t.begin, t.masses, steps, SHARES),
        )

    def _learn(self, rng: Randomness) -> Prior:
        """EM over a sample of objects."""
        noisy, cells = self._noisy, self._noisy.cells
        objects = noisy.claims.size
        profiles = (self._templates.reach.size, SHARES.size)
        room = int(SAMPLE_BYTES / (4.0 * cells * profiles[0] * profiles[1]))
        size = min(objects, LARGEST_SAMPLE, max(1, room))
        chosen = np.sort(rng.stream("sample", purpose="prior").uniforms(objects).argsort()[:size])
        likelihood = np.empty((size, cells, *profiles), dtype=np.float32)
        wanted = np.ones(profiles, dtype=np.bool_)
        self._engine.spread(
            "prior",
            size,
            lambda first, last: loops.fill_likelihoods(
                self._evidence, chosen, wanted, first, last, likelihood
            ),
        )
        flat = likelihood.reshape(size * cells, -1)
        parts = [np.full(k, 1.0 / k) for k in (len(SHAPES), SCALES.size, SHARES.size)]
        here = np.full((size, cells), 1.0 / cells)  # posterior of each sampled object's place
        even = 0.5
        for _ in range(ROUNDS):
            profile = np.einsum("a,b,c->abc", *parts).ravel()
            place = _leave_one_out(here, even)
            fit = (flat @ profile.astype(np.float32)).reshape(size, cells).astype(np.float64)
            here = fit * place
            total = here.sum(axis=1, keepdims=True)
            here /= total
            even = float(
                np.clip(np.mean(even / cells * fit.sum(axis=1) / total[:, 0]), LEAST_UNIFORM, MOST_UNIFORM)
            )
            weight = (place / total).ravel().astype(np.float32)
            found = ((weight @ flat) * profile).reshape(len(SHAPES), SCALES.size, SHARES.size)
            parts = [_smoothed(found.sum(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1))]
        row_of = np.full(objects, size, dtype=np.int64)
        row_of[chosen] = np.arange(size)
        others = even / cells + (1 - even) * here.mean(axis=0)
        places = np.vstack([_leave_one_out(here, even), others])
        return Prior(np.einsum("a,b,c->abc", *parts).reshape(profiles), places, row_of)

    def draw(
        self,
        per_object: int,
        *,
        rng: Randomness,
        names: object,
        background: bool = False,
        keep: bool = False,
    ) -> tuple[Floats, Singles]:
        """Claims for each object (ascending, as values), and the densities themselves if they are kept.

        The even background of an object's claims is part of its density if asked for. A density is a row of
        masses of equal parts of the range.
        """
        noisy, t = self._noisy, self._templates
        objects = noisy.claims.size
        out = np.empty((objects, per_object))
        parts = noisy.cells * PARTS_PER_CELL
        density = np.empty((objects if keep else 0, parts), dtype=np.float32)
        wanted, usual = _most(self.prior.profile, KEPT_PRIOR), _most(self.prior.profile, USUAL_PRIOR)
        log_prior = np.log(np.maximum(self.prior.profile, 1e-300))
        log_places = np.log(self.prior.places)
        key, nonces = rng.streams(names, purpose="certified")  # type: ignore[arg-type]
        self._engine.spread(
            "synthetic claims",
            objects,
            lambda first, last: loops.release_posteriors(
                self._evidence,
                usual,
                wanted,
                log_prior,
                log_places,
                self.prior.row_of,
                t.curves,
                t.curve_begin,
                t.curve_reach,
                PARTS_PER_CELL,
                noisy.noise.variance,
                background,
                key,
                nonces,
                first,
                last,
                density,
                out,
            ),
        )
        return noisy.range.low + noisy.range.length * out, density


def _rounded(claims: Ints) -> Ints:
    """Numbers of claims, large ones rounded down by up to one percent: each takes a table of its own."""
    steps = np.floor(TABLES_PER_DOUBLING * np.log2(np.maximum(claims, 1) / MOST_EXACT_TABLES))
    grid = np.floor(MOST_EXACT_TABLES * 2.0 ** (steps / TABLES_PER_DOUBLING)).astype(np.int64)
    rounded: Ints = np.where(claims <= MOST_EXACT_TABLES, claims, grid)
    return rounded


def _leave_one_out(here: Floats, even: float) -> Floats:
    """The prior of each object's place: partly even, partly where the other objects are."""
    size, cells = here.shape
    if size == 1:
        return np.full((1, cells), 1.0 / cells)
    others = np.maximum(here.sum(axis=0) - here, 0.0) / (size - 1)
    prior: Floats = even / cells + (1 - even) * others
    return prior


def _smoothed(found: Floats) -> Floats:
    weights = found + PSEUDO_COUNT / found.size
    smoothed: Floats = weights / weights.sum()
    return smoothed


def _most(profile: Floats, share: float) -> NDArray[np.bool_]:
    """The fewest (template, share) pairs that hold that much of the prior."""
    order = np.argsort(-profile, axis=None)
    enough = int(np.searchsorted(np.cumsum(profile.ravel()[order]), share)) + 1
    wanted = np.zeros(profile.size, dtype=np.bool_)
    wanted[order[:enough]] = True
    return wanted.reshape(profile.shape)


def bins_for(spread: float, claims: float, epsilon: float, length: float) -> int:
    """How many bins the range is cut into: narrow for much data or a small spread, at least 4.

    More bins than `finest` would each hold less than their noise: a crowd in one of them could not be told
    from the largest noise of all the others.
    """
    evidence = claims * epsilon
    width = spread * float(np.clip(1.7 * (30 / evidence) ** 0.35, 0.5, 3.0))
    finest = min(MOST_BINS, 2 * evidence, 2 + exp(min(evidence / 4.5, 10)))
    width = min(max(width, length / finest), length / FEWEST_BINS)
    return max(FEWEST_BINS, round(length / width))
