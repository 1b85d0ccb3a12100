"""The loops on an estimated density: corrected by its noisy histogram, and drawn from.

A density is a row of masses of equal parts of the range. Nothing here sees a raw claim.
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

CAUTION = 5.0  # residuals beyond a fit count where they are clearly larger than by chance


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
    """Add to a fitted curve what its histogram says beyond it and its background, and what is kept of that.

    The residuals of all bins are shrunk by the factor of James and Stein: to nothing where they are no larger
    than the noise explains, hardly at all where they are much larger. The background that is kept has the
    shape that the histogram gives it: what lies above the fitted curve and above a level that leaves the
    right mass. Between the middles of bins both are interpolated.
    """
    early = shift * per_bin // CELLS  # parts of the first bin that lie before the range
    bins = (curve.size + early - 1) // per_bin + 1
    beyond = np.empty(bins)
    own = np.empty(bins)
    corrected = np.empty(curve.size)
    found = expected = 0.0
    for b in range(bins):
        first, last = max(0, b * per_bin - early), min(curve.size, (b + 1) * per_bin - early)
        fitted = 0.0
        for x in range(first, last):
            fitted += (1.0 - background) * curve[x]
        model = fitted + background * (last - first) / curve.size
        beyond[b] = counts[b] / n - model
        own[b] = counts[b] / n - fitted
        expected += model * (1.0 - model) / n + noise_variance / n / n
        found += beyond[b] * beyond[b]
    by_chance = expected * (1.0 + CAUTION / math.sqrt(bins))
    trusted = max(0.0, 1.0 - by_chance / found) if found > 0.0 else 0.0
    level = shift_to_mass(own, background)
    for b in range(bins):
        first, last = max(0, b * per_bin - early), min(curve.size, (b + 1) * per_bin - early)
        beyond[b] *= trusted
        if kept > 0.0:
            beyond[b] += kept / background * max(0.0, own[b] - level)
        beyond[b] /= last - first
    for x in range(curve.size):
        place = (x + early + 0.5) / per_bin - 0.5
        left = min(max(math.floor(place), 0), bins - 1)
        right = min(left + 1, bins - 1)
        more = beyond[left] + (beyond[right] - beyond[left]) * min(max(place - left, 0.0), 1.0)
        corrected[x] = max(0.0, (1.0 - background) * curve[x] + more)
    whole = total(corrected)
    if whole > 0.0:  # else noise took everything away: the fit stays
        for x in range(curve.size):
            curve[x] = corrected[x] / whole


@compiled
def shift_to_mass(values: Floats, mass: float) -> float:
    """The level above which the values add up to `mass`."""
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


@compiled
def draw_all_strata(densities: Floats, key: Words, nonces: Words, first: int, last: int, out: Floats) -> None:
    """The same for each row of densities, with a stream of its own."""
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(first, last):
        start(state, key, nonces[i])
        draw_strata(state, densities[i], out[i])
