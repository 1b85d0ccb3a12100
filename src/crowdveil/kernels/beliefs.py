"""Posteriors of truths under a known law of noise, and the fit of each error level to each user.

A level is a possible spread of a user's own errors. `tables[k]` holds the log-density at level k of a claim's
distance from the truth, at integer multiples of `spacing`; beyond its end it is extrapolated with `slope`. A
user's level may lie between two levels.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled, inlined

POINTS = 48  # grid points of an object's window
REACH = 6.0  # initial half-width of the window, in posterior standard deviations
_FAR = math.sqrt(3.0)  # nodes of the three-point Gauss-Hermite rule, with weights 1/6, 2/3, 1/6
_LEAST = -1e5
_TAIL = 1e-4  # largest density at the window's ends, relative to the mode


@inlined
def at(row: Floats, distance: float, spacing: float, slope: float) -> float:
    """The log-density at a distance, interpolated in a row of the tables."""
    place = distance / spacing
    end = row.size - 1
    if place >= end:
        return max(_LEAST, row[end] + slope * (distance - end * spacing))
    k = int(place)
    return row[k] + (place - k) * (row[k + 1] - row[k])


@compiled
def believe(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    tables: Floats,
    spacing: float,
    slope: float,
    levels: Floats,
    a: float,
    b: float,
    flat: float,
    low: float,
    high: float,
    first: int,
    last: int,
    reach: Floats,
    means: Floats,
    errors: Floats,
    medians: Floats,
) -> None:
    """Replace each object's mean and standard deviation by those of its posterior; fill `medians`.

    The posterior is computed on a window of `reach` previous standard deviations to either side of the
    previous mean; if that cuts off too much, the object's `reach` doubles for the following sweeps. The prior
    of a truth is a mixture of Beta(a, b) on [low, high] and, with weight `flat`, the uniform distribution.
    """
    log_belief = np.empty(POINTS)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    for i in range(first, last):
        begin = max(low, means[i] - reach[i] * errors[i])
        end = min(high, means[i] + reach[i] * errors[i])
        step = (end - begin) / (POINTS - 1)
        for p in range(POINTS):
            # The prior density may be infinite at an end of the range: evaluate it a quarter step inside.
            share = (min(max(begin + p * step, low + 0.25 * step), high - 0.25 * step) - low) / (high - low)
            shape = math.exp((a - 1.0) * math.log(share) + (b - 1.0) * math.log1p(-share) - log_beta)
            log_belief[p] = math.log((1.0 - flat) * shape + flat)
        for s in range(offsets[i], offsets[i + 1]):
            level = levels[user_codes[s]]
            k = min(int(level), tables.shape[0] - 2)
            above = level - k
            for p in range(POINTS):
                distance = abs(values[s] - (begin + p * step))
                log_belief[p] += (1.0 - above) * at(tables[k], distance, spacing, slope) + above * at(
                    tables[k + 1], distance, spacing, slope
                )
        top = log_belief[0]
        for p in range(1, POINTS):
            top = max(top, log_belief[p])
        mass = first_moment = 0.0
        for p in range(POINTS):
            log_belief[p] = math.exp(log_belief[p] - top) * (0.5 if p in (0, POINTS - 1) else 1.0)
            mass += log_belief[p]
            first_moment += log_belief[p] * p
        middle = first_moment / mass
        second_moment = 0.0
        for p in range(POINTS):
            second_moment += log_belief[p] * (p - middle) * (p - middle)
        means[i] = begin + middle * step
        p, cumulative = 0, log_belief[0]
        while cumulative < 0.5 * mass:
            p += 1
            cumulative += log_belief[p]
        # Each point represents the half steps on both sides of it.
        medians[i] = min(
            end, max(begin, begin + (p + 0.5 - (cumulative - 0.5 * mass) / log_belief[p]) * step)
        )
        # The variance of a step is added: the next window is never narrower than the grid resolves.
        errors[i] = step * math.sqrt(second_moment / mass + 1.0 / 12.0)
        cut = (begin > low and log_belief[0] > _TAIL) or (end < high and log_belief[POINTS - 1] > _TAIL)
        if cut:  # the window was too narrow or misplaced
            reach[i] *= 2.0


@compiled
def add_fits(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    tables: Floats,
    spacing: float,
    slope: float,
    unit: float,
    means: Floats,
    errors: Floats,
    first: int,
    last: int,
    totals: Ints,
) -> None:
    """Add each claim's expected log-density at every level to its user's totals, one total for each level.

    Totals are integer multiples of 1/unit. Objects with one claim carry no information about users.
    """
    count = tables.shape[0]
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        if b - a < 2:
            continue
        far = _FAR * errors[i]
        for s in range(a, b):
            residual = values[s] - means[i]
            place = user_codes[s] * count
            for k in range(count):
                row = tables[k]
                fit = (2.0 / 3.0) * at(row, abs(residual), spacing, slope)
                fit += (1.0 / 6.0) * at(row, abs(residual - far), spacing, slope)
                fit += (1.0 / 6.0) * at(row, abs(residual + far), spacing, slope)
                totals[place + k] += np.int64(fit * unit)
