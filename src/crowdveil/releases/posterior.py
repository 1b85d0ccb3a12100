"""Empirical Bayes on noisy histograms: a posterior density for each object under a prior learned from all.

This is post-processing: nothing here uses a raw claim. EM learns the prior of shapes, scales, shares of
background and locations from the noisy histograms of up to 400 objects. The location prior of a sampled
object leaves out the object's own histogram.

Sums of floats have a fixed order, whatever the number of threads: EM adds up blocks of a fixed size, and no
product uses BLAS, whose threads change the last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, prod, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from crowdveil.arrays import Floats, Ints, Singles, frozen
from crowdveil.claims import Objects
from crowdveil.engines import Array, Block, ByObject, Engine, Kept
from crowdveil.kernels import templates as loops
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, Streams
from crowdveil.randomness.samplers import first_uniforms
from crowdveil.releases.histogram import RATIO, Histograms, PairDistances
from crowdveil.releases.noise import CountNoise
from crowdveil.releases.templates import PARTS_PER_CELL, SCALES, SHAPES, SHARES, templates

PROFILE_PARTS = (len(SHAPES), SCALES.size, SHARES.size)
FEWEST_BINS, MOST_BINS = 4, 512
ROUNDS = 15
LARGEST_SAMPLE = 400
OBJECTS_PER_BLOCK = 8  # of the sample; fixed, since the order of sums depends on it
SAMPLE_BYTES = 200e6
LARGEST_TABLE = 2048
MOST_EXACT_TABLES, TABLES_PER_DOUBLING = 256, 64
USUAL_SPREAD, USUAL_VARIATION = 1 / 12, 1.5  # of the range, and of its logarithm
PSEUDO_COUNT = 1.0  # spread evenly over each part of the prior, in objects
KEPT_PRIOR = 0.999
USUAL_PRIOR = 0.25
LEAST_UNIFORM, MOST_UNIFORM = 0.02, 0.98


def typical_spread(pairs: PairDistances, length: float) -> float:
    """The typical spread of claims within an object, from the noisy distances of random pairs.

    The distance of two honest claims is half-normal with scale sqrt(2) spread; other distances follow the
    background. The estimate is exp of the posterior mean of log spread. Its prior is wide, around a twelfth
    of the range: without it noise alone can look like a tiny spread. The priors of the spread's variation
    between objects and of the share of background are even. The likelihood includes the law of the noise.
    """
    logs, chances, penalties = _guesses(pairs.smallest, pairs.counts.size, length)
    fits = _log_fits(pairs, chances) - penalties
    weights = np.exp(fits - fits.max())
    return exp(float((weights * logs).sum() / weights.sum()))


@lru_cache(maxsize=16)
def _guesses(smallest: float, bins: int, length: float) -> tuple[Floats, Floats, Floats]:
    """For each guess (variation, spread, background): log spread, bin probabilities, -log prior."""
    edges = np.concatenate([[0.0], smallest * RATIO ** np.arange(bins)])
    edges[-1] = max(edges[-1], length)
    spreads = np.geomspace(smallest, length / 2, 40)
    halves = np.diff(2 * ndtr(edges[:, None] / (sqrt(2) * spreads)) - 1, axis=0)  # (bins, spreads)
    inside = np.minimum(edges / length, 1.0)
    background = 0.5 * np.diff(1 - (1 - inside) ** 2) + 0.5 * np.diff(np.minimum(2 * inside, 1.0))
    logs = np.log(spreads)
    usual = USUAL_SPREAD * length
    guesses, chances, penalties = [], [], []
    for variation in (0.0, 0.4, 0.8):
        for centre in range(spreads.size):
            near = (
                np.exp(-0.5 * ((logs - logs[centre]) / variation) ** 2) if variation else np.eye(40)[centre]
            )
            honest = (halves * (near / near.sum())).sum(axis=1)
            for share in (0.02, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9):
                chances.append((1 - share) * honest + share * background)
                guesses.append(logs[centre])
                penalties.append(0.5 * (log(spreads[centre] / usual) / USUAL_VARIATION) ** 2)
    return frozen(np.array(guesses)), frozen(np.array(chances)), frozen(np.array(penalties))


def _log_fits(pairs: PairDistances, p: Floats) -> Floats:
    """The log-likelihood of noisy counts for each row of bin probabilities p.

    A count is modelled as normal, in place of binomial, plus Laplace noise: this has a closed form.
    """
    mean = pairs.pairs * p
    sd = np.sqrt(mean * (1 - p) + 1e-9)
    rate = 1.0 / pairs.scale
    gap = pairs.counts - mean
    left = rate * gap + log_ndtr(-(gap / sd + rate * sd))
    right = -rate * gap + log_ndtr(gap / sd - rate * sd)
    fits: Floats = np.sum(0.5 * (rate * sd) ** 2 + np.logaddexp(left, right), axis=1)
    return fits


@dataclass(frozen=True)
class Prior:
    """The prior of (template, share) and the prior of locations."""

    profile: Floats  # (C, S), sums to one
    sample: Ints  # the numbers of the sampled objects, ascending
    places: Floats  # (sampled + 1, cells): one row for each sampled object, the last for all others

    def rows(self, first: int, size: int) -> Ints:
        """Which rows of `places` the objects first ... first + size - 1 use."""
        objects = np.arange(first, first + size)
        rows = np.searchsorted(self.sample, objects)
        sampled = self.sample[np.minimum(rows, self.sample.size - 1)] == objects
        return np.where(sampled, rows, self.sample.size)


class DensityPosterior:
    """Posterior densities of the objects behind noisy histograms."""

    def __init__(self, noisy: Histograms, objects: Objects, *, rng: Randomness, engine: Engine) -> None:
        self._noisy, self._objects, self._engine = noisy, objects, engine
        self._likelihoods = _Likelihoods.of(noisy)
        self.prior = self._learn(rng)

    def _learn(self, rng: Randomness) -> Prior:
        """The prior, by EM over a sample of objects."""
        cells, sample = self._noisy.cells, self._sample(rng)
        likelihoods = self._sampled(sample)
        parts = [np.full(k, 1.0 / k) for k in PROFILE_PARTS]
        locations = np.full((sample.size, cells), 1.0 / cells)  # the posterior for each sampled object
        even = 0.5  # the share of locations' prior that is uniform
        for _ in range(ROUNDS):
            profile = _joint(parts)
            place_prior = _leave_one_out(locations, even)
            locations, evenness, ratios = self._expected(likelihoods, profile, place_prior)
            even = float(np.clip(np.mean(even / cells * evenness), LEAST_UNIFORM, MOST_UNIFORM))
            expected = (ratios * profile.ravel()).reshape(PROFILE_PARTS)
            parts = [_smoothed(expected.sum(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1))]
        others = even / cells + (1 - even) * locations.mean(axis=0)
        places = np.vstack([_leave_one_out(locations, even), others])
        return Prior(_joint(parts).reshape(-1, SHARES.size), sample, places)

    def _sample(self, rng: Randomness) -> Ints:
        """The objects to learn from, ascending: as many as memory allows, at most LARGEST_SAMPLE.

        They are those whose own streams begin with the smallest draws.
        """
        room = int(SAMPLE_BYTES / (4.0 * self._noisy.cells * prod(PROFILE_PARTS)))
        count = self._noisy.claims.size
        size = min(count, LARGEST_SAMPLE, max(1, room))
        streams = rng.all_streams(purpose="prior")
        (kept,) = self._engine.map("sample", self._objects, _first_draws, streams, operations=float(count))
        return np.sort(self._engine.collect(kept).argsort(kind="stable")[:size])

    def _sampled(self, sample: Ints) -> Singles:
        """(sample, cells, profiles): likelihoods of sampled histograms, relative to the largest of each."""
        noisy, collect = self._noisy, self._engine.collect
        rows = collect(noisy.counts, sample), collect(noisy.shifts, sample), noisy.claims[sample]
        evidence = self._likelihoods.evidence(*rows)
        shape = (sample.size, noisy.cells, evidence.reach.size, SHARES.size)
        likelihoods = np.empty(shape, dtype=np.float32)
        wanted = np.ones(shape[2:], dtype=np.bool_)
        self._engine.spread(
            "prior",
            sample.size,
            lambda first, last: loops.fill_likelihoods(evidence, wanted, first, last, likelihoods),
        )
        return likelihoods.reshape(*shape[:2], -1)

    def _expected(
        self, likelihoods: Singles, profile: Floats, place_prior: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The E step for the sample, by `loops.expect`: locations, evenness and expected profiles."""
        size, cells, profiles = likelihoods.shape
        locations, evenness = np.empty((size, cells)), np.empty(size)
        blocks = np.zeros((-(-size // OBJECTS_PER_BLOCK), profiles), dtype=np.float32)
        prior = profile.ravel().astype(np.float32)

        def work(first: int, last: int) -> None:
            for block in range(first, last):
                begin = block * OBJECTS_PER_BLOCK
                end = min(begin + OBJECTS_PER_BLOCK, size)
                loops.expect(likelihoods, prior, place_prior, begin, end, locations, evenness, blocks[block])

        self._engine.spread("prior", len(blocks), work, operations=float(likelihoods.size))
        return locations, evenness, blocks.sum(axis=0, dtype=np.float64)

    def draw(
        self, per_object: int, *, rng: Randomness, background: bool = False, keep: bool = False
    ) -> tuple[Kept, Kept]:
        """Synthetic values for each object, ascending, and the densities from which they are drawn.

        A density is a row of masses of equal parts of the range; it includes the object's uniform background
        if `background`. Without `keep` there are no densities.
        """
        noisy, streams = self._noisy, rng.all_streams(purpose="certified")
        weighty = _Weighty.of(self.prior)
        drawing = _Drawing(
            self._likelihoods, weighty, noisy.range, noisy.noise, per_object, background, keep, streams
        )
        values, *densities = self._engine.map(
            *("synthetic claims", self._objects, _drawn, drawing),
            *(ByObject(noisy.counts), ByObject(noisy.shifts), ByObject(noisy.claims)),
            per=("object", "object") if keep else ("object",),
        )
        return values, densities[0] if keep else None


@dataclass(frozen=True)
class _Likelihoods:
    """What the evidence of all objects has in common: templates, and tables by number of claims."""

    counts: Ints  # numbers of claims that have a table, ascending
    tables: Singles  # the tables, end to end
    begins: Ints
    tops: Ints  # the largest count in each
    steps: loops.Steps
    cells: int

    @classmethod
    def of(cls, noisy: Histograms) -> _Likelihoods:
        """The tables for these histograms."""
        counts = np.unique(_rounded(noisy.claims))
        tops = np.minimum(counts, LARGEST_TABLE)
        sizes = zip(counts.tolist(), tops.tolist(), strict=True)
        tables = np.concatenate([_table(noisy.noise, top, n / top) for n, top in sizes])
        begins = np.concatenate([[0], np.cumsum(tops + 1)[:-1]])
        masses = templates().masses
        steps = np.empty((SHARES.size, masses.size), dtype=np.uint8)
        loops.background_steps(SHARES, masses, 1.0 / noisy.bins, steps)
        return cls(counts, tables, begins, tops, steps, noisy.cells)

    def evidence(self, counts: Ints, shifts: NDArray[np.int8], claims: Ints) -> loops.Evidence:
        """The histograms of some objects, tables and templates, as the loops take them."""
        t, tables = templates(), np.searchsorted(self.counts, _rounded(claims))
        return loops.Evidence(
            *(counts, shifts, claims, self.tables, self.begins[tables], self.tops[tables]),
            *(self.cells, t.reach, t.begin, t.masses, self.steps, SHARES),
        )


def _table(noise: CountNoise, top: int, shrunk: float) -> Singles:
    """The likelihood table of `top` claims, each of which stands for `shrunk` claims."""
    if noise.gaussian:
        return loops.gaussian_likelihood_table(top, noise.variance / shrunk**2)  # type: ignore[no-any-return]
    return loops.likelihood_table(top, shrunk / float(noise.parameter))  # type: ignore[no-any-return]


def _first_draws(block: Block, streams: Streams) -> tuple[Floats]:
    """The first draw of each object's stream."""
    out = np.empty(block.size)
    first_uniforms(streams.key, streams.nonces(block.names, block.first), out)
    return (out,)


@dataclass(frozen=True)
class _Weighty:
    """The prior as the loops take it: its logarithms, and which profiles matter."""

    prior: Prior
    usual: NDArray[np.bool_]
    wanted: NDArray[np.bool_]
    log_profile: Floats
    log_places: Floats

    @classmethod
    def of(cls, prior: Prior) -> _Weighty:
        """Logarithms of a prior, and the fewest profiles that have most of its mass."""
        profile = prior.profile
        usual, wanted = _most(profile, USUAL_PRIOR), _most(profile, KEPT_PRIOR)
        return cls(prior, usual, wanted, np.log(np.maximum(profile, 1e-300)), np.log(prior.places))


class _Drawing(NamedTuple):
    """What all blocks share when synthetic values are drawn."""

    likelihoods: _Likelihoods
    weighty: _Weighty
    range: Range
    noise: CountNoise
    per_object: int
    background: bool
    keep: bool
    streams: Streams


def _drawn(
    block: Block, drawing: _Drawing, counts: Ints, shifts: NDArray[np.int8], claims: Ints
) -> tuple[Array, ...]:
    """The values of each object, and its density if that is to be kept."""
    weighty, t, streams = drawing.weighty, templates(), drawing.streams
    evidence = drawing.likelihoods.evidence(counts, shifts, claims)
    positions = np.empty((block.size, drawing.per_object))  # in [0, 1) of the range
    parts = evidence.cells * PARTS_PER_CELL
    densities = np.empty((block.size if drawing.keep else 0, parts), dtype=np.float32)
    loops.release_posteriors(
        *(evidence, weighty.usual, weighty.wanted, weighty.log_profile, weighty.log_places),
        *(
            weighty.prior.rows(block.first, block.size),
            t.curves,
            t.curve_begin,
            t.curve_reach,
            PARTS_PER_CELL,
        ),
        *(drawing.noise.variance, drawing.background),
        *(streams.key, streams.nonces(block.names, block.first), 0, block.size, densities, positions),
    )
    values = drawing.range.low + drawing.range.length * positions
    return (values, densities) if drawing.keep else (values,)


def _joint(parts: Sequence[Floats]) -> Floats:
    """The joint prior of (shape, scale, share), which are independent."""
    shapes, scales, shares = parts
    joint: Floats = shapes[:, None, None] * scales[:, None] * shares
    return joint


def _rounded(claims: Ints) -> Ints:
    """Numbers of claims; large ones are rounded down by at most about 1 %, so that they share tables."""
    steps = np.floor(TABLES_PER_DOUBLING * np.log2(np.maximum(claims, 1) / MOST_EXACT_TABLES))
    grid = np.floor(MOST_EXACT_TABLES * 2.0 ** (steps / TABLES_PER_DOUBLING)).astype(np.int64)
    rounded: Ints = np.where(claims <= MOST_EXACT_TABLES, claims, grid)
    return rounded


def _leave_one_out(locations: Floats, even: float) -> Floats:
    """The location prior of each object: uniform mixed with the mean posterior of the other objects."""
    size, cells = locations.shape
    if size == 1:
        return np.full((1, cells), 1.0 / cells)
    others = np.maximum(locations.sum(axis=0) - locations, 0.0) / (size - 1)
    prior: Floats = even / cells + (1 - even) * others
    return prior


def _smoothed(expected: Floats) -> Floats:
    """Expected counts as shares, with a pseudo-count."""
    counts = expected + PSEUDO_COUNT / expected.size
    shares: Floats = counts / counts.sum()
    return shares


def _most(profile: Floats, share: float) -> NDArray[np.bool_]:
    """The fewest (template, share) pairs whose prior sums to at least `share`."""
    order = np.argsort(-profile, axis=None)
    enough = int(np.searchsorted(np.cumsum(profile.ravel()[order]), share)) + 1
    wanted = np.zeros(profile.size, dtype=np.bool_)
    wanted[order[:enough]] = True
    return wanted.reshape(profile.shape)


def bins_for(spread: float, claims: float, epsilon: float, length: float) -> int:
    """The number of bins for the range: bins are narrow if there are many claims or the spread is small.

    With more than `finest` bins, the largest noise among all bins would exceed the count of a crowded bin.
    """
    evidence = claims * epsilon
    width = spread * float(np.clip(1.7 * (30 / evidence) ** 0.35, 0.5, 3.0))
    finest = min(MOST_BINS, 2 * evidence, 2 + exp(min(evidence / 4.5, 10)))
    width = min(max(width, length / finest), length / FEWEST_BINS)
    return max(FEWEST_BINS, round(length / width))
