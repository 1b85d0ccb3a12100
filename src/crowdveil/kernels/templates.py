"""The loops of the empirical Bayes estimate: how likely a noisy histogram is under every template.

Nothing here sees a raw claim: counts are noisy already, and all that follows is post-processing.

Notation: a *template* is a shape at a scale; with a location j (a cell) and a share s of even background it
says with which probability p_b a claim falls into bin b. A bin's noisy count is Binomial(n, p_b) plus
discrete Laplace noise. `masses` holds each template's bin probabilities for the three places a location can
have inside its bin; `reach` says how many bins to either side they cover.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints, Singles
from crowdveil.compiled import compiled, inlined
from crowdveil.kernels.histograms import CELLS
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.samplers import uniform

Steps = NDArray[np.uint8]

STEPS = 256  # probabilities are told apart in steps of their square root
NEGLIGIBLE = 12.0  # how far below the best, in log-likelihood, a template is left out
HOPELESS = 16.0  # the same for a location under the usual templates


@inlined
def step_of(p: float) -> int:
    """The step of a probability."""
    return min(STEPS - 1, int(math.sqrt(p) * STEPS))


@compiled
def likelihood_table(n: int, decay: float) -> Singles:
    """log P(noisy count = y | p) for y = 0 ... n and p by steps, up to a constant.

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
def background_steps(shares: Floats, masses: Floats, full: float, steps: Steps) -> None:
    """For every share and mass the step of (1 - share) mass + share full, full the mass of a whole bin."""
    for s in range(shares.size):
        for m in range(masses.size):
            steps[s, m] = step_of((1.0 - shares[s]) * masses[m] + shares[s] * full)


@compiled
def log_likelihoods(
    counts: Ints,
    shift: int,
    n: int,
    cells: int,
    table: Singles,
    reach: Ints,
    begin: Ints,
    masses: Floats,
    steps: Steps,
    shares: Floats,
    wanted: NDArray[np.bool_],
    places: NDArray[np.bool_],
    rows: Singles,
    out: Singles,
) -> None:
    """out[j, c, s]: the log-likelihood of a histogram under location j, template c, share s, where wanted."""
    bins = (cells - 1 + shift) // CELLS + 1
    top = table.shape[0] - 1
    sums = np.zeros((bins + 1, shares.size))
    for b in range(bins):
        # Tables of very many claims are shrunk: a count is brought to their scale.
        y = counts[b] if top == n else np.int64(counts[b] * (top / n))
        rows[b] = table[min(max(y, 0), top)]
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
                total = sums[bins, s] - (sums[b1 + 1, s] - sums[b0, s])
                if whole:
                    for d in range(2 * r + 1):
                        total += rows[b0 + d, steps[s, at + d]]
                else:
                    for b in range(b0, b1 + 1):
                        inside = min(cells, CELLS * (b + 1) - shift) - max(0, CELLS * b - shift)
                        p = (1.0 - shares[s]) * edge[b] + shares[s] * inside / cells
                        total += rows[b, step_of(p)]
                out[j, c, s] = total


@compiled
def fill_likelihoods(
    chosen: Ints,
    counts: Ints,
    shifts: NDArray[np.int8],
    claims: Ints,
    tables: Singles,
    table_begin: Ints,
    table_top: Ints,
    cells: int,
    reach: Ints,
    begin: Ints,
    masses: Floats,
    steps: Steps,
    shares: Floats,
    wanted: NDArray[np.bool_],
    first: int,
    last: int,
    out: Singles,
) -> None:
    """Likelihoods relative to the largest, for the chosen objects number first ... last - 1."""
    rows = np.empty((counts.shape[1], STEPS), dtype=np.float32)
    everywhere = np.ones(cells, dtype=np.bool_)
    for place in range(first, last):
        i = chosen[place]
        table = tables[table_begin[i] : table_begin[i] + table_top[i] + 1]
        log_likelihoods(
            counts[i],
            shifts[i],
            claims[i],
            cells,
            table,
            reach,
            begin,
            masses,
            steps,
            shares,
            wanted,
            everywhere,
            rows,
            out[place],
        )
        highest = out[place].max()
        for j in range(cells):
            for c in range(reach.size):
                for s in range(shares.size):
                    out[place, j, c, s] = math.exp(out[place, j, c, s] - highest)


@compiled
def release_posteriors(
    counts: Ints,
    shifts: NDArray[np.int8],
    claims: Ints,
    tables: Singles,
    table_begin: Ints,
    table_top: Ints,
    cells: int,
    reach: Ints,
    begin: Ints,
    masses: Floats,
    steps: Steps,
    shares: Floats,
    usual: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    log_prior: Floats,
    log_place: Floats,
    place_row: Ints,
    curves: Floats,
    curve_begin: Ints,
    curve_reach: Ints,
    per_cell: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    density: Singles,
    out: Floats,
) -> None:
    """Draw object i's synthetic claims into row i of `out`, as places in [0, 1) of the range, ascending.

    They are drawn from the posterior mean of the templates without their background, one from each of
    equally likely strata. Where `density` has a row for each object the curve itself is kept there.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    rows = np.empty((counts.shape[1], STEPS), dtype=np.float32)
    fit = np.empty((cells, reach.size, shares.size), dtype=np.float32)
    curve = np.empty(cells * per_cell)
    places = np.empty(cells, dtype=np.bool_)
    for i in range(first, last):
        table = tables[table_begin[i] : table_begin[i] + table_top[i] + 1]
        prior = log_place[place_row[i]]
        # First a few templates everywhere, then all of them where an object can be.
        for look in (usual, wanted):
            if look is usual:
                places[:] = True
            log_likelihoods(
                counts[i],
                shifts[i],
                claims[i],
                cells,
                table,
                reach,
                begin,
                masses,
                steps,
                shares,
                look,
                places,
                rows,
                fit,
            )
            if look is usual:
                keep_likely(fit, usual, prior, places)
        posterior_curve(
            fit, wanted, places, log_prior, prior, curves, curve_begin, curve_reach, per_cell, curve
        )
        if density.shape[0] > 0:
            for x in range(curve.size):
                density[i, x] = curve[x]
        start(state, key, nonces[i])
        draw_strata(state, curve, out[i])


@compiled
def keep_likely(fit: Singles, usual: NDArray[np.bool_], log_place: Floats, places: NDArray[np.bool_]) -> None:
    """Keep the locations that some usual template makes likely enough to matter."""
    cells, templates, shares = fit.shape
    best = np.full(cells, -np.inf)
    for j in range(cells):
        for c in range(templates):
            for s in range(shares):
                if usual[c, s]:
                    best[j] = max(best[j], fit[j, c, s] + log_place[j])
    least = best.max() - HOPELESS
    for j in range(cells):
        places[j] = best[j] > least


@compiled
def posterior_curve(
    fit: Singles,
    wanted: NDArray[np.bool_],
    places: NDArray[np.bool_],
    log_prior: Floats,
    log_place: Floats,
    curves: Floats,
    curve_begin: Ints,
    curve_reach: Ints,
    per_cell: int,
    curve: Floats,
) -> None:
    """The posterior mean density, as masses of equal parts of the range that sum to one."""
    cells, templates, shares = fit.shape
    highest = -np.inf
    for j in range(cells):
        if not places[j]:
            continue
        for c in range(templates):
            for s in range(shares):
                if wanted[c, s]:
                    highest = max(highest, fit[j, c, s] + log_prior[c, s] + log_place[j])
    curve[:] = 0.0
    for j in range(cells):
        if not places[j]:
            continue
        for c in range(templates):
            weight = 0.0
            for s in range(shares):
                if wanted[c, s]:
                    score = fit[j, c, s] + log_prior[c, s] + log_place[j] - highest
                    if score > -NEGLIGIBLE:
                        weight += math.exp(score)
            if weight > 0.0:
                left = j * per_cell + per_cell // 2 - curve_reach[c]
                for d in range(max(0, -left), min(2 * curve_reach[c], curve.size - left)):
                    curve[left + d] += weight * curves[curve_begin[c] + d]
    curve /= curve.sum()


@compiled
def draw_strata(state: Words, curve: Floats, out: Floats) -> None:
    """One draw from each of equally likely strata of a density given by masses of equal parts."""
    part = 0
    passed = 0.0
    for k in range(out.size):
        aim = (k + uniform(state)) / out.size
        while part < curve.size - 1 and passed + curve[part] < aim:
            passed += curve[part]
            part += 1
        inside = (aim - passed) / curve[part] if curve[part] > 0.0 else 0.5
        out[k] = (part + min(inside, 1.0)) / curve.size
