"""The loops of the empirical Bayes estimate: how likely a noisy histogram is under every template.

Nothing here sees a raw claim: counts are noisy already, and all that follows is post-processing.

Notation: a *template* c is a shape at a scale. With a location j (a cell) and a share s of even background it
gives the probability p_b that a claim falls into bin b. A bin's noisy count is Binomial(n, p_b) plus discrete
noise. `masses` holds each template's bin probabilities for the three cells of a bin that a location can be;
`reach` is the number of bins to either side that they cover.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints, Singles
from crowdveil.compiled import compiled, inlined, summed
from crowdveil.kernels.curves import correct_curve, draw_strata
from crowdveil.kernels.histograms import CELLS
from crowdveil.kernels.ranges import total
from crowdveil.randomness.chacha import STATE_WORDS, Words, start

Steps = NDArray[np.uint8]

STEPS = 256  # probabilities are rounded to steps of their square root
NEGLIGIBLE = 12.0  # a template whose log-likelihood is so far below the best is left out
HOPELESS = 16.0  # so is a location, by the log-likelihoods of the usual templates


class Evidence(NamedTuple):
    """All noisy histograms, and the templates they are compared with."""

    counts: Ints  # (N, bins + 1)
    shifts: NDArray[np.int8]  # (N,)
    claims: Ints  # (N,)
    tables: Singles  # likelihood tables, end to end
    table_begin: Ints  # (N,) the first row of an object's table
    table_top: Ints  # (N,) the largest count in it
    cells: int
    reach: Ints  # (C,)
    begin: Ints  # (C,) where a template's masses begin
    masses: Floats
    steps: Steps  # (S, masses)
    shares: Floats  # (S,)


@inlined
def step_of(p: float) -> int:
    """The step that a probability is rounded to."""
    return min(STEPS - 1, int(math.sqrt(p) * STEPS))


@compiled
def likelihood_table(n: int, decay: float) -> Singles:
    """log P(noisy count = y | p) for y = 0 ... n and p by steps, up to a constant, under Laplace noise.

    A count below 0 or above n tells as much as 0 or n: the noise's tails are geometric, so going further out
    changes the likelihood of every p by the same factor.
    """
    table = np.empty((n + 1, STEPS), dtype=np.float32)
    choose = np.empty(n + 1)
    for c in range(n + 1):
        choose[c] = math.lgamma(n + 1.0) - math.lgamma(c + 1.0) - math.lgamma(n - c + 1.0)
    ratio = math.exp(-decay)
    binomial = np.empty(n + 1)
    below = np.empty(n + 1)
    for k in range(STEPS):
        p = ((k + 0.5) / STEPS) ** 2
        for c in range(n + 1):
            binomial[c] = math.exp(choose[c] + c * math.log(p) + (n - c) * math.log1p(-p))
        carry = 0.0
        for c in range(n + 1):
            carry = carry * ratio + binomial[c]
            below[c] = carry
        carry = 0.0
        for c in range(n, -1, -1):
            above = carry * ratio
            carry = above + binomial[c]
            table[c, k] = math.log(below[c] + above + 1e-300)
    return table


@compiled
def gaussian_likelihood_table(n: int, variance: float) -> Singles:
    """The same under Gaussian noise. Rows 0 and n hold the tails: log P(y <= 0 | p) and log P(y >= n | p)."""
    table = np.empty((n + 1, STEPS), dtype=np.float32)
    sd = math.sqrt(variance)
    width = int(8.0 * sd) + 1
    mass, cumulative = np.empty(2 * width + 1), np.empty(2 * width + 1)  # of the noise
    for y in range(mass.size):
        mass[y] = math.exp(-0.5 * (y - width) ** 2 / variance)
    scale = total(mass)
    so_far = 0.0
    for y in range(mass.size):
        mass[y] /= scale
        so_far += mass[y]
        cumulative[y] = so_far
    for k in range(STEPS):
        p = ((k + 0.5) / STEPS) ** 2
        mean, reach = n * p, 8.0 * math.sqrt(n * p * (1.0 - p)) + 20.0
        first, last = max(0, int(mean - reach)), min(n, int(mean + reach))
        chance = np.zeros(n + 1)
        for c in range(first, last + 1):
            binomial = math.exp(
                math.lgamma(n + 1.0)
                - math.lgamma(c + 1.0)
                - math.lgamma(n - c + 1.0)
                + c * math.log(p)
                + (n - c) * math.log1p(-p)
            )
            if c <= width:
                chance[0] += binomial * cumulative[width - c]
            if n - c <= width:
                chance[n] += binomial * cumulative[width - (n - c)]  # the noise is symmetric
            for y in range(max(1, c - width), min(n - 1, c + width) + 1):
                chance[y] += binomial * mass[y - c + width]
        for y in range(n + 1):
            table[y, k] = math.log(chance[y] + 1e-300)
    return table


@compiled
def background_steps(shares: Floats, masses: Floats, full: float, steps: Steps) -> None:
    """steps[s, m]: the step of (1 - share) mass + share full, where `full` is the background of a bin."""
    for s in range(shares.size):
        for m in range(masses.size):
            steps[s, m] = step_of((1.0 - shares[s]) * masses[m] + shares[s] * full)


@compiled
def log_likelihoods(
    evidence: Evidence,
    i: int,
    wanted: NDArray[np.bool_],
    places: NDArray[np.bool_],
    rows: Singles,
    out: Singles,
) -> None:
    """out[j, c, s]: the log-likelihood of histogram i at location j, under template c with share s.

    Only locations in `places` and pairs (c, s) in `wanted` are filled. `rows` is scratch space.
    """
    counts, shift, n, cells = evidence.counts[i], evidence.shifts[i], evidence.claims[i], evidence.cells
    reach, begin, masses = evidence.reach, evidence.begin, evidence.masses
    steps, shares = evidence.steps, evidence.shares
    first = evidence.table_begin[i]
    table = evidence.tables[first : first + evidence.table_top[i] + 1]
    bins = (cells - 1 + shift) // CELLS + 1
    top = table.shape[0] - 1
    sums = np.zeros((bins + 1, shares.size))  # of log-likelihoods under background alone, over bins
    for b in range(bins):
        # Tables of very many claims are shrunk: a count is brought to their scale.
        y = counts[b] if top == n else np.int64(counts[b] * (top / n))
        y = min(max(y, 0), top)
        for step in range(STEPS):
            rows[b, step] = table[y, step]
        inside = min(cells, CELLS * (b + 1) - shift) - max(0, CELLS * b - shift)
        for s in range(shares.size):
            sums[b + 1, s] = sums[b, s] + rows[b, step_of(shares[s] * inside / cells)]
    edge = np.empty(bins)
    for j in range(cells):
        if not places[j]:
            continue
        middle = (j + shift) // CELLS
        phase = (j + shift) % CELLS
        for c in range(reach.size):
            r = reach[c]
            at = begin[c] + phase * (2 * r + 1)
            b0 = max(0, middle - r)
            b1 = min(bins - 1, middle + r)
            inner = middle - r >= 1 and middle + r <= bins - 2
            if not inner:  # what lies beyond the range counts for its last bins
                edge[b0 : b1 + 1] = 0.0
                for d in range(2 * r + 1):
                    edge[min(max(middle - r + d, b0), b1)] += masses[at + d]
            for s in range(shares.size):
                if not wanted[c, s]:
                    continue
                log_likelihood = sums[bins, s] - (sums[b1 + 1, s] - sums[b0, s])
                if inner:
                    for d in range(2 * r + 1):
                        log_likelihood += rows[b0 + d, steps[s, at + d]]
                else:
                    for b in range(b0, b1 + 1):
                        inside = min(cells, CELLS * (b + 1) - shift) - max(0, CELLS * b - shift)
                        p = (1.0 - shares[s]) * edge[b] + shares[s] * inside / cells
                        log_likelihood += rows[b, step_of(p)]
                out[j, c, s] = log_likelihood


@compiled
def fill_likelihoods(
    evidence: Evidence, wanted: NDArray[np.bool_], first: int, last: int, out: Singles
) -> None:
    """Likelihoods of the objects number first ... last - 1, relative to each object's largest."""
    rows = np.empty((evidence.counts.shape[1], STEPS), dtype=np.float32)
    everywhere = np.ones(evidence.cells, dtype=np.bool_)
    for place in range(first, last):
        log_likelihoods(evidence, place, wanted, everywhere, rows, out[place])
        highest = np.float32(-np.inf)
        for j in range(evidence.cells):
            for c in range(evidence.reach.size):
                for s in range(evidence.shares.size):
                    highest = max(highest, out[place, j, c, s])
        for j in range(evidence.cells):
            for c in range(evidence.reach.size):
                for s in range(evidence.shares.size):
                    out[place, j, c, s] = math.exp(out[place, j, c, s] - highest)


@summed
def expect(
    likelihoods: Singles,
    profile: Singles,
    place_prior: Floats,
    first: int,
    last: int,
    locations: Floats,
    evenness: Floats,
    expected: Singles,
) -> None:
    """One expectation step of EM, for the sampled objects number first ... last - 1.

    `likelihoods[i, j, p]` is that of object i at location j with profile p (a template and a share), and
    `profile` and `place_prior[i]` are the priors of profiles and of locations. Fills `locations[i]`, the
    posterior of object i's location, and `evenness[i]`, the ratio of the evidence if every location had a
    prior of one to the evidence as it is. Adds to `expected[p]` the number of objects expected to have
    profile p, divided by the prior of p.
    """
    cells, profiles = likelihoods.shape[1:]
    for i in range(first, last):
        evidence = even = 0.0
        for j in range(cells):
            row = likelihoods[i, j]
            fit = np.float32(0.0)
            for p in range(profiles):
                fit += row[p] * profile[p]
            even += float(fit)
            locations[i, j] = fit * place_prior[i, j]
            evidence += locations[i, j]
        evenness[i] = even / evidence
        for j in range(cells):
            locations[i, j] /= evidence
            row = likelihoods[i, j]
            weight = np.float32(place_prior[i, j] / evidence)
            for p in range(profiles):
                expected[p] += weight * row[p]


@compiled
def release_posteriors(
    evidence: Evidence,
    usual: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    log_prior: Floats,
    log_place: Floats,
    place_row: Ints,
    curves: Floats,
    curve_begin: Ints,
    curve_reach: Ints,
    per_cell: int,
    noise_variance: float,
    keep_background: bool,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    density: Singles,
    out: Floats,
) -> None:
    """Draw object i's synthetic claims into row i of `out`: ascending positions in [0, 1) of the range.

    The density is the posterior mean of the templates, corrected by what the histogram says beyond it, with
    or without the background. One claim is drawn from each of equally likely strata. If `density` has rows,
    row i keeps the density.
    """
    cells, shares = evidence.cells, evidence.shares
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    rows = np.empty((evidence.counts.shape[1], STEPS), dtype=np.float32)
    fit = np.empty((cells, evidence.reach.size, shares.size), dtype=np.float32)
    curve = np.empty(cells * per_cell)
    places = np.empty(cells, dtype=np.bool_)
    for i in range(first, last):
        prior = log_place[place_row[i]]
        # First the usual templates everywhere, then all wanted ones at the locations that are left.
        places[:] = True
        log_likelihoods(evidence, i, usual, places, rows, fit)
        keep_likely(fit, usual, prior, places)
        log_likelihoods(evidence, i, wanted, places, rows, fit)
        background = posterior_curve(
            fit, wanted, places, shares, log_prior, prior, curves, curve_begin, curve_reach, per_cell, curve
        )
        counts, shift, n = evidence.counts[i], evidence.shifts[i], evidence.claims[i]
        kept = background if keep_background else max(0.0, background - 0.5)
        correct_curve(counts, shift, n, noise_variance, background, kept, CELLS * per_cell, curve)
        if density.shape[0] > 0:
            for x in range(curve.size):
                density[i, x] = curve[x]
        start(state, key, nonces[i])
        draw_strata(state, curve, out[i])


@compiled
def keep_likely(fit: Singles, usual: NDArray[np.bool_], log_place: Floats, places: NDArray[np.bool_]) -> None:
    """Mark in `places` the locations whose best usual template is likely enough to matter."""
    cells, templates, shares = fit.shape
    best = np.empty(cells)
    highest = -np.inf
    for j in range(cells):
        best[j] = -np.inf
        for c in range(templates):
            for s in range(shares):
                if usual[c, s]:
                    best[j] = max(best[j], fit[j, c, s] + log_place[j])
        highest = max(highest, best[j])
    for j in range(cells):
        places[j] = best[j] > highest - HOPELESS


@compiled
def posterior_curve(
    fit: Singles,
    wanted: NDArray[np.bool_],
    places: NDArray[np.bool_],
    shares: Floats,
    log_prior: Floats,
    log_place: Floats,
    curves: Floats,
    curve_begin: Ints,
    curve_reach: Ints,
    per_cell: int,
    curve: Floats,
) -> float:
    """Fill `curve` with the posterior mean density without background: masses of equal parts, of sum one.

    Returns the posterior mean of the share of background.
    """
    cells, templates, _ = fit.shape
    highest = -np.inf
    for j in range(cells):
        if not places[j]:
            continue
        for c in range(templates):
            for s in range(shares.size):
                if wanted[c, s]:
                    highest = max(highest, fit[j, c, s] + log_prior[c, s] + log_place[j])
    curve[:] = 0.0
    weights = background = 0.0
    for j in range(cells):
        if not places[j]:
            continue
        for c in range(templates):
            weight = 0.0
            for s in range(shares.size):
                if wanted[c, s]:
                    score = fit[j, c, s] + log_prior[c, s] + log_place[j] - highest
                    if score > -NEGLIGIBLE:
                        weight += math.exp(score)
                        background += math.exp(score) * shares[s]
            weights += weight
            if weight > 0.0:
                left = j * per_cell + per_cell // 2 - curve_reach[c]
                for d in range(max(0, -left), min(2 * curve_reach[c], curve.size - left)):
                    curve[left + d] += weight * curves[curve_begin[c] + d]
    mass = total(curve)
    for x in range(curve.size):
        curve[x] /= mass
    return background / weights
