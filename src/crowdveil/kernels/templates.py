"""The loops of the empirical Bayes estimate: how likely a noisy histogram is under every template.

Nothing here sees a raw claim: counts are noisy already, and all that follows is post-processing.

Notation: a *template* is a shape at a scale; with a location j (a cell) and a share s of even background it
says with which probability p_b a claim falls into bin b. A bin's noisy count is Binomial(n, p_b) plus
discrete noise. `masses` holds each template's bin probabilities for the three places a location can
have inside its bin; `reach` says how many bins to either side they cover.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints, Singles
from crowdveil.compiled import compiled, inlined
from crowdveil.kernels.curves import correct_curve, draw_strata
from crowdveil.kernels.histograms import CELLS
from crowdveil.kernels.ranges import total
from crowdveil.randomness.chacha import STATE_WORDS, Words, start

Steps = NDArray[np.uint8]

STEPS = 256  # probabilities are told apart in steps of their square root
NEGLIGIBLE = 12.0  # how far below the best, in log-likelihood, a template is left out
HOPELESS = 16.0  # the same for a location under the usual templates


class Evidence(NamedTuple):
    """All noisy histograms, and the templates they are compared with."""

    counts: Ints  # (N, bins + 1)
    shifts: NDArray[np.int8]  # (N,)
    claims: Ints  # (N,)
    tables: Singles  # likelihood tables one after the other ...
    table_begin: Ints  # (N,) ... and which one is an object's
    table_top: Ints  # (N,)
    cells: int
    reach: Ints  # (C,)
    begin: Ints  # (C,)
    masses: Floats
    steps: Steps  # (S, masses)
    shares: Floats  # (S,)


@inlined
def step_of(p: float) -> int:
    """The step of a probability."""
    return min(STEPS - 1, int(math.sqrt(p) * STEPS))


@compiled
def likelihood_table(n: int, decay: float) -> Singles:
    """log P(noisy count = y | p) for y = 0 ... n and p by steps, up to a constant, under Laplace noise.

    Counts below 0 or above n are as telling as 0 or n: the noise's tails are geometric, so what lies beyond
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
    """The same under Gaussian noise; rows 0 and n hold all that lies beyond: P(y <= 0), P(y >= n)."""
    table = np.empty((n + 1, STEPS), dtype=np.float32)
    sd = math.sqrt(variance)
    width = int(8.0 * sd) + 1
    mass, up_to = np.empty(2 * width + 1), np.empty(2 * width + 1)
    for y in range(mass.size):
        mass[y] = math.exp(-0.5 * (y - width) ** 2 / variance)
    whole = total(mass)
    so_far = 0.0
    for y in range(mass.size):
        mass[y] /= whole
        so_far += mass[y]
        up_to[y] = so_far
    for k in range(STEPS):
        p = ((k + 0.5) / STEPS) ** 2
        middle, reach = n * p, 8.0 * math.sqrt(n * p * (1.0 - p)) + 20.0
        first, last = max(0, int(middle - reach)), min(n, int(middle + reach))
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
                chance[0] += binomial * up_to[width - c]
            if n - c <= width:
                chance[n] += binomial * up_to[width - (n - c)]  # the noise is symmetric
            for y in range(max(1, c - width), min(n - 1, c + width) + 1):
                chance[y] += binomial * mass[y - c + width]
        for y in range(n + 1):
            table[y, k] = math.log(chance[y] + 1e-300)
    return table


@compiled
def background_steps(shares: Floats, masses: Floats, full: float, steps: Steps) -> None:
    """For every share and mass the step of (1 - share) mass + share full, full the mass of a whole bin."""
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
    """out[j, c, s]: the log-likelihood of histogram i under location j, template c, share s, where wanted."""
    counts, shift, n, cells = evidence.counts[i], evidence.shifts[i], evidence.claims[i], evidence.cells
    reach, begin, masses = evidence.reach, evidence.begin, evidence.masses
    steps, shares = evidence.steps, evidence.shares
    first = evidence.table_begin[i]
    table = evidence.tables[first : first + evidence.table_top[i] + 1]
    bins = (cells - 1 + shift) // CELLS + 1
    top = table.shape[0] - 1
    sums = np.zeros((bins + 1, shares.size))
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
            whole = middle - r >= 1 and middle + r <= bins - 2
            if not whole:
                edge[b0 : b1 + 1] = 0.0
                for d in range(2 * r + 1):
                    edge[min(max(middle - r + d, b0), b1)] += masses[at + d]
            for s in range(shares.size):
                if not wanted[c, s]:
                    continue
                found = sums[bins, s] - (sums[b1 + 1, s] - sums[b0, s])
                if whole:
                    for d in range(2 * r + 1):
                        found += rows[b0 + d, steps[s, at + d]]
                else:
                    for b in range(b0, b1 + 1):
                        inside = min(cells, CELLS * (b + 1) - shift) - max(0, CELLS * b - shift)
                        p = (1.0 - shares[s]) * edge[b] + shares[s] * inside / cells
                        found += rows[b, step_of(p)]
                out[j, c, s] = found


@compiled
def fill_likelihoods(
    evidence: Evidence,
    chosen: Ints,
    wanted: NDArray[np.bool_],
    first: int,
    last: int,
    out: Singles,
) -> None:
    """Likelihoods relative to the largest, for the chosen objects number first ... last - 1."""
    rows = np.empty((evidence.counts.shape[1], STEPS), dtype=np.float32)
    everywhere = np.ones(evidence.cells, dtype=np.bool_)
    for place in range(first, last):
        log_likelihoods(evidence, chosen[place], wanted, everywhere, rows, out[place])
        highest = np.float32(-np.inf)
        for j in range(evidence.cells):
            for c in range(evidence.reach.size):
                for s in range(evidence.shares.size):
                    highest = max(highest, out[place, j, c, s])
        for j in range(evidence.cells):
            for c in range(evidence.reach.size):
                for s in range(evidence.shares.size):
                    out[place, j, c, s] = math.exp(out[place, j, c, s] - highest)


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
    """Draw object i's synthetic claims into row i of `out`, as places in [0, 1) of the range, ascending.

    They are drawn from the posterior mean of the templates and what the histogram says beyond it, with or
    without the background, one from each of equally likely strata. Where `density` has a row for each object
    the curve itself is kept there.
    """
    cells, shares = evidence.cells, evidence.shares
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    rows = np.empty((evidence.counts.shape[1], STEPS), dtype=np.float32)
    fit = np.empty((cells, evidence.reach.size, shares.size), dtype=np.float32)
    curve = np.empty(cells * per_cell)
    places = np.empty(cells, dtype=np.bool_)
    for i in range(first, last):
        prior = log_place[place_row[i]]
        # First a few templates everywhere, then all of them where an object can be.
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
    """Keep the locations that some usual template makes likely enough to matter."""
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
    """The posterior mean density without background, as masses of equal parts of the range that sum to one.

    Returns the posterior mean share of the background.
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
    whole = total(curve)
    for x in range(curve.size):
        curve[x] /= whole
    return background / weights
