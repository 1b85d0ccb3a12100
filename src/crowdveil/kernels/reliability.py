"""Loops for PrisCrowd's weights: the losses of users, and user weights combined with local weights."""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.compiled import compiled
from crowdveil.kernels.bandwidths import usable, weighted_spread
from crowdveil.kernels.gaussian import ONE_SWEEP, prepare, room_for, squared_distances, times
from crowdveil.kernels.ranges import longest, normalise


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
    """Add the distance of each claim from its object's user-weighted density to its user's total.

    Totals are integer multiples of 1/unit, so the order of addition does not matter. Objects without a
    bandwidth carry no information about users and are skipped.
    """
    n_max = longest(offsets, first, last)
    room = room_for(n_max)
    weights = np.empty(n_max)
    sums = np.empty(n_max)
    for i in range(first, last):
        if h0[i] == 0.0:
            continue
        a, b = offsets[i], offsets[i + 1]
        w = weights[: b - a]
        d = sums[: b - a]
        for s in range(b - a):
            w[s] = g[user_codes[a + s]]
        normalise(w)
        times(room, prepare(values[a:b], h0[i], ONE_SWEEP, room), w, d)
        squared_distances(w, d)
        for s in range(b - a):
            totals[user_codes[a + s]] += np.int64(d[s] * unit + 0.5)


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
    """Fill `combined` with c = sqrt(l g), normalised, and `bandwidth` with h = factor s_w n_eff^(-1/5).

    l are the local weights and g the user weights. Afterwards c is mixed with uniform weights, so that each
    claim has at least `least_share` / n. Objects whose claims are all equal get bandwidth 0.
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
