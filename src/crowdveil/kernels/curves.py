"""Loops on an estimated density: correction by a noisy histogram, and sampling.

A density is a row of the masses of equal parts of the range. Nothing here uses a raw claim.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.histograms import CELLS
from crowdveil.kernels.ranges import total
from crowdveil.kernels.sorting import sort
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.samplers import uniform

CAUTION = 5.0  # residuals are used only if they clearly exceed what noise explains


@compiled
def correct_curve(
    counts: Ints,
    shift: int,
    n: int,
    noise_variance: float,
    background: float,
    kept: float,
    per_bin: int,
    curve: Floats,
) -> None:
    """Add to a fitted curve the shrunken residuals of its histogram, and background of mass `kept`.

    The residuals from the curve and its uniform background are shrunk by the James-Stein factor: to 0 if they
    are no larger than the noise explains, hardly at all if they are much larger. The kept background takes
    its shape from the histogram: the excess over the fitted curve above a level that leaves the right mass.
    Both are interpolated between the middles of bins.
    """
    early = shift * per_bin // CELLS  # parts of the first bin that lie before the range
    bins = (curve.size + early - 1) // per_bin + 1
    residuals = np.empty(bins)
    excess = np.empty(bins)
    corrected = np.empty(curve.size)
    observed = expected = 0.0
    for b in range(bins):
        first, last = max(0, b * per_bin - early), min(curve.size, (b + 1) * per_bin - early)
        fitted = 0.0
        for x in range(first, last):
            fitted += (1.0 - background) * curve[x]
        model = fitted + background * (last - first) / curve.size
        residuals[b] = counts[b] / n - model
        excess[b] = counts[b] / n - fitted
        expected += model * (1.0 - model) / n + noise_variance / n / n
        observed += residuals[b] * residuals[b]
    explained = expected * (1.0 + CAUTION / math.sqrt(bins))
    shrinkage = max(0.0, 1.0 - explained / observed) if observed > 0.0 else 0.0
    level = shift_to_mass(excess, background)
    for b in range(bins):
        first, last = max(0, b * per_bin - early), min(curve.size, (b + 1) * per_bin - early)
        residuals[b] *= shrinkage
        if kept > 0.0:
            residuals[b] += kept / background * max(0.0, excess[b] - level)
        residuals[b] /= last - first
    for x in range(curve.size):
        place = (x + early + 0.5) / per_bin - 0.5
        left = min(max(math.floor(place), 0), bins - 1)
        right = min(left + 1, bins - 1)
        more = residuals[left] + (residuals[right] - residuals[left]) * min(max(place - left, 0.0), 1.0)
        corrected[x] = max(0.0, (1.0 - background) * curve[x] + more)
    mass = total(corrected)
    if mass > 0.0:  # otherwise noise cancelled everything: keep the fit
        for x in range(curve.size):
            curve[x] = corrected[x] / mass


@compiled
def shift_to_mass(values: Floats, mass: float) -> float:
    """The level at which the parts of the values above it sum to `mass`."""
    ascending = np.empty(values.size)
    for k in range(values.size):
        ascending[k] = values[k]
    sort(ascending)
    above = level = 0.0
    for k in range(ascending.size):
        above += ascending[ascending.size - 1 - k]
        level = (above - mass) / (k + 1)
        if k == ascending.size - 1 or level >= ascending[ascending.size - 2 - k]:
            break
    return level


@compiled
def draw_strata(state: Words, curve: Floats, out: Floats) -> None:
    """Fill `out` with one draw from each of `out.size` equally likely strata of a density."""
    part = 0
    cumulative = 0.0
    for k in range(out.size):
        target = (k + uniform(state)) / out.size
        while part < curve.size - 1 and cumulative + curve[part] < target:
            cumulative += curve[part]
            part += 1
        inside = (target - cumulative) / curve[part] if curve[part] > 0.0 else 0.5
        out[k] = (part + min(inside, 1.0)) / curve.size


@compiled
def draw_all_strata(densities: Floats, key: Words, nonces: Words, first: int, last: int, out: Floats) -> None:
    """As `draw_strata` for each row of `densities`, with its own stream."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(first, last):
        start(state, key, nonces[i])
        draw_strata(state, densities[i], out[i])


@compiled
def smoothed_rows(rows: Floats, kernel: Floats, out: Floats) -> None:
    """Fill each row of `out` with the convolution of a row with `kernel`, where the two fully overlap."""
    for i in range(rows.shape[0]):
        for x in range(out.shape[1]):
            total = 0.0
            for k in range(kernel.size):
                total += rows[i, x + k] * kernel[k]
            out[i, x] = total
