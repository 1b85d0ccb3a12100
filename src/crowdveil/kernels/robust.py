"""Robust local weights: claims far from the others weigh less (Hampel's loss, iteratively reweighted).

One sweep maps weights w to F(w): the distances y of claims from the density with weights w, then Hampel's
psi(y) / y, normalised. Plain sweeps converge slowly (20 to 50 of them), along nearly the same line. So once
steps are small, two of them are extrapolated (a secant step). If the sweep after a secant step moves farther
than the one before it, plain sweeps continue until steps are smaller still.
"""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled, summed
from crowdveil.kernels.gaussian import MANY_SWEEPS, Room, prepare, room_for, squared_distances, times
from crowdveil.kernels.ranges import longest, normalise
from crowdveil.kernels.sorting import ascending

# Mathematically equal distances differ in their last digits, and sums through boxes have errors up to 1e-12.
# Distances closer than this count as equal where Hampel's weight is discontinuous.
TIE = 2.0**-33
SMALL_STEP = 0.1  # secant steps begin when no claim's weight moves by more than this share of 1/n
PATIENCE = 0.3  # after a failed secant step the threshold is this share of the step that it led to


@compiled
def percentile(y: Floats, order: Ints, share: float) -> float:
    """The quantile of y at `share`, linearly interpolated; `order` sorts y."""
    place = share * (y.size - 1)
    low = int(place)
    lower, upper = y[order[low]], y[order[low + 1 if low + 1 < y.size else low]]
    return lower + (place - low) * (upper - lower)


@compiled
def hampel(y: Floats, q1: float, q2: float, q3: float) -> None:
    """Replace distances y by psi(y) / y, the weight of a claim at distance y under Hampel's loss."""
    slope = 1.0 / (q3 - q2) if q3 - q2 > TIE else 0.0
    for s in range(y.size):
        near = 1.0 if y[s] <= q1 else q1 / y[s]
        far = (q3 - y[s]) * slope if y[s] < q3 else 0.0
        y[s] = near if y[s] <= q2 + TIE else near * far


@compiled
def root_distances(w: Floats, kw: Floats) -> None:
    """Turn K w into the distances y = |phi(x_s) - f|, in place."""
    squared_distances(w, kw)
    for s in range(w.size):
        kw[s] = math.sqrt(kw[s])


@compiled
def largest_step(old: Floats, new: Floats) -> float:
    """The largest change of a claim's weight, as a share of 1/n."""
    step = 0.0
    for s in range(old.size):
        moved = abs(new[s] - old[s])
        step = moved if moved > step else step
    return step * old.size


@summed
def secant(w: Floats, new: Floats, last_step: Floats) -> float:
    """The extrapolation factor along the line through the last two images, at which the step vanishes."""
    projection = 0.0
    squares = 0.0
    for s in range(w.size):
        change = new[s] - w[s] - last_step[s]
        projection += change * (new[s] - w[s])
        squares += change * change
    return projection / squares if squares > 0.0 else 0.0


@compiled
def reweigh(
    room: Room,
    boxes: int,
    tolerance: float,
    cap: int,
    w: Floats,
    new: Floats,
    last_step: Floats,
    last_new: Floats,
    order: Ints,
    spare: Ints,
) -> None:
    """Sweep, from uniform weights w, until no weight moves by `tolerance`; at most `cap` sweeps.

    All arrays have one entry for each claim; those after w are scratch.
    """
    q1 = q2 = q3 = 0.0
    threshold = SMALL_STEP
    previous = np.inf
    has_previous = False  # whether last_step and last_new hold a previous sweep
    extrapolated = False  # whether w is the result of a secant step
    for sweep in range(cap):
        times(room, boxes, w, new)
        root_distances(w, new)
        if sweep == 0:
            ascending(new, order, spare)
            q1 = percentile(new, order, 0.50)
            q2 = percentile(new, order, 0.75)
            q3 = percentile(new, order, 0.95)
        hampel(new, q1, q2, q3)
        normalise(new)
        step = largest_step(w, new)
        if step < tolerance or sweep == cap - 1:
            for s in range(w.size):
                w[s] = new[s]
            return
        if extrapolated and step >= previous:
            threshold = PATIENCE * (step if step < threshold else threshold)
            has_previous = False
        extrapolated = has_previous and step < threshold and step < previous
        if extrapolated:
            factor = secant(w, new, last_step)
            for s in range(w.size):
                extended = new[s] - factor * (new[s] - last_new[s])
                last_step[s], last_new[s] = new[s] - w[s], new[s]
                w[s] = extended if extended > 0.0 else 0.0
            normalise(w)
        else:
            for s in range(w.size):
                last_step[s], last_new[s] = new[s] - w[s], new[s]
                w[s] = new[s]
        has_previous = True
        previous = step


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
    """Fill `out` with robust kernel density weights of the claims of each object, which sum to one.

    Objects with fewer than `fewest` claims, or whose claims are all equal, get uniform weights.
    """
    n_max = longest(offsets, first, last)
    room = room_for(n_max)
    new, last_step, last_new = np.empty(n_max), np.empty(n_max), np.empty(n_max)
    order, spare = np.empty(n_max, dtype=np.int64), np.empty(n_max, dtype=np.int64)
    for i in range(first, last):
        x = values[offsets[i] : offsets[i + 1]]
        n = x.size
        w = out[offsets[i] : offsets[i + 1]]
        w[:] = 1.0 / n
        if n < fewest or h0[i] == 0.0:
            continue
        boxes = prepare(x, h0[i], MANY_SWEEPS, room)
        reweigh(room, boxes, tolerance, cap, w, new[:n], last_step[:n], last_new[:n], order[:n], spare[:n])
