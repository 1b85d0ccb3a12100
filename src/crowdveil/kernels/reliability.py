"""The loops behind PrisCrowd's weights: users' losses, robust local weights, and both combined."""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.gaussian import (
    MATRIX_LIMIT,
    SMALL,
    fill_matrix,
    kernel_times,
    matrix_times,
    squared_distances,
    usable,
)

# Distances that are equal on paper differ in their last bits; Hampel's weight jumps, so they must not.
TIE = 2.0**-36


@compiled
def longest(offsets: Ints, first: int, last: int) -> int:
    """The largest number of claims of an object in the range."""
    n = 0
    for i in range(first, last):
        n = max(n, offsets[i + 1] - offsets[i])
    return n


@compiled
def normalise(w: Floats) -> None:
    """Make weights sum to one; uniform where none is left."""
    total = 0.0
    for s in range(w.size):
        total += w[s]
    for s in range(w.size):
        w[s] = w[s] / total if total > 0.0 else 1.0 / w.size


@compiled
def add_losses(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    h0: Floats,
    g: Floats,
    unit: float,
    first: int,
    last: int,
    totals: Ints,
) -> None:
    """Add every claim's distance from its object's density, weighted by users, to its user's total.

    Totals are whole multiples of 1/unit, so that the order of adding cannot matter. Objects without a
    bandwidth tell nothing about users and are passed over.
    """
    n_max = longest(offsets, first, last)
    matrix = np.empty(SMALL * SMALL)
    weights = np.empty(n_max)
    sums = np.empty(n_max)
    row = np.empty(n_max)
    scratch = np.empty(max(n_max, SMALL * SMALL))
    for i in range(first, last):
        if h0[i] == 0.0:
            continue
        a, b = offsets[i], offsets[i + 1]
        w = weights[: b - a]
        d = sums[: b - a]
        for s in range(b - a):
            w[s] = g[user_codes[a + s]]
        normalise(w)
        if b - a <= SMALL:
            fill_matrix(values[a:b], h0[i], matrix, scratch)
            matrix_times(matrix, w, d)
        else:
            kernel_times(values[a:b], h0[i], w, d, row, scratch)
        squared_distances(w, d)
        for s in range(b - a):
            totals[user_codes[a + s]] += np.int64(d[s] * unit + 0.5)


@compiled
def percentile(ascending: Floats, share: float) -> float:
    """The linearly interpolated percentile of ascending numbers."""
    place = share * (ascending.size - 1)
    low = math.floor(place)
    high = min(low + 1, ascending.size - 1)
    return ascending[low] + (place - low) * (ascending[high] - ascending[low])


@compiled
def hampel(y: float, q1: float, q2: float, q3: float) -> float:
    """psi(y) / y for Hampel's loss: what a claim at distance y counts for."""
    if y <= q1:
        return 1.0
    if y <= q2:
        return q1 / y
    if y < q3:
        return q1 * (q3 - y) / ((q3 - q2) * y)
    return 0.0


@compiled
def local_weights(
    offsets: Ints,
    values: Floats,
    h0: Floats,
    fewest: int,
    tolerance: float,
    cap: int,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Robust kernel density weights of each object by reweighting under Hampel's loss; they sum to one.

    Objects with fewer than `fewest` claims, or all of them equal, get uniform weights.
    """
    n_max = longest(offsets, first, last)
    matrix = np.empty(min(n_max, MATRIX_LIMIT) ** 2)
    sums = np.empty(n_max)
    row = np.empty(n_max)
    scratch = np.empty(max(n_max, SMALL * SMALL))
    for i in range(first, last):
        x = values[offsets[i] : offsets[i + 1]]
        n = x.size
        w = out[offsets[i] : offsets[i + 1]]
        w[:] = 1.0 / n
        if n < fewest or h0[i] == 0.0:
            continue
        kept = n <= MATRIX_LIMIT
        if kept:
            fill_matrix(x, h0[i], matrix, scratch)
        y = sums[:n]
        q1 = q2 = q3 = 0.0
        for sweep in range(cap):
            if kept:
                matrix_times(matrix, w, y)
            else:
                kernel_times(x, h0[i], w, y, row, scratch)
            squared_distances(w, y)
            for s in range(n):
                y[s] = math.floor(math.sqrt(y[s]) / TIE + 0.5) * TIE
            if sweep == 0:
                ascending = np.sort(y)
                q1 = percentile(ascending, 0.50)
                q2 = percentile(ascending, 0.75)
                q3 = percentile(ascending, 0.95)
            for s in range(n):
                y[s] = hampel(y[s], q1, q2, q3)
            normalise(y)
            change = 0.0
            for s in range(n):
                change = max(change, abs(y[s] - w[s]))
                w[s] = y[s]
            if change * n < tolerance:
                break


@compiled
def combine(
    offsets: Ints,
    user_codes: Codes,
    values: Floats,
    g: Floats,
    local: Floats,
    factor: float,
    floor: float,
    least_share: float,
    first: int,
    last: int,
    combined: Floats,
    bandwidth: Floats,
) -> None:
    """c = sqrt(l g) normalised, and the bandwidth h = factor s_w n_eff^(-1/5) that goes with it.

    Then a floor: each claim keeps at least `least_share` / n. Objects whose claims are all equal get no
    bandwidth.
    """
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        x = values[a:b]
        c = combined[a:b]
        n = x.size
        for s in range(n):
            c[s] = math.sqrt(local[a + s] * g[user_codes[a + s]])
        normalise(c)
        if n < 2 or x[0] == x[n - 1]:
            bandwidth[i] = 0.0
        else:
            bandwidth[i] = usable(max(floor, factor * weighted_spread(x, c)), x)
        for s in range(n):
            c[s] = (1.0 - least_share) * c[s] + least_share / n


@compiled
def weighted_spread(x: Floats, c: Floats) -> float:
    """s_w n_eff^(-1/5), with s_w^2 = sum c (x - mean)^2 / (1 - sum c^2) and n_eff = 1 / sum c^2."""
    centre = x[x.size // 2]
    unit = x[x.size - 1] - x[0]
    mean = 0.0
    squares = 0.0
    for s in range(x.size):
        mean += c[s] * (x[s] - centre)
        squares += c[s] * c[s]
    if squares >= 1.0 or unit == 0.0:
        return 0.0
    variance = 0.0
    for s in range(x.size):
        variance += c[s] * ((x[s] - centre - mean) / unit) ** 2
    return unit * math.sqrt(variance / (1.0 - squares)) * squares**0.2
