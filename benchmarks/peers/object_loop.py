"""PrisCrowd as a careful user of NumPy writes it: object by object, whole arrays inside an object.

The kernel sums K w come from outside, so that it runs on any library's densities.

Notation: x an object's claims, h0 and h bandwidths, w weights that sum to one, g users' weights,
y = |phi(x_s) - f| the distances of claims from a density.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.stopwatch import Arrays, Steps

Floats = NDArray[np.float64]
Sums = Callable[[Floats], Floats]

PER_OBJECT, K, GAMMA = 30, 5, 4.0
TRIES = 100 * PER_OBJECT


def release(inputs: Arrays, make_sums: Callable[[Floats, float], Sums]) -> Steps:
    """Weights to convergence, bandwidths, and claims drawn through the privacy test."""
    ends = inputs["offsets"].tolist()
    places = [slice(a, b) for a, b in pairwise(ends)]
    values, users, user_count = inputs["values"], inputs["users"], int(inputs["user_count"])
    rng = np.random.default_rng()
    yield
    claims = [values[place] for place in places]
    spreads = np.array([x.std(ddof=1) for x in claims])
    floor = 1e-3 * float(np.median(spreads))
    sums = [
        make_sums(x, max(1.06 * float(sd) * x.size**-0.2, floor))
        for x, sd in zip(claims, spreads, strict=True)
    ]
    g = global_weights(sums, places, users, user_count)
    local, released = [], []
    for i, place in enumerate(places):
        local.append(local_weights(sums[i], claims[i].size))
        c, h = combine(claims[i], local[i], g[users[place]], floor)
        released.append(draw(claims[i], c, h, rng))
    yield
    # For checking, local weights go on to where they come to rest: sweeps stop early, each elsewhere.
    combined, bandwidths = np.empty(values.size), np.empty(len(claims))
    for i, place in enumerate(places):
        resting = local_weights(sums[i], claims[i].size, start=local[i], tolerance=1e-10, cap=3000)
        combined[place], bandwidths[i] = combine(claims[i], resting, g[users[place]], floor)
    counts = [len(one) for one in released]
    return {
        "combined": combined,
        "bandwidths": bandwidths,
        "released": np.concatenate(released),
        "released_offsets": np.concatenate([[0], np.cumsum(counts)]),
    }


def distances(sums: Sums, w: Floats) -> Floats:
    """|phi(x_s) - f|^2 = 1 - 2 (K w)_s + w'Kw."""
    heights = sums(w)
    d: Floats = np.maximum(1.0 - 2.0 * heights + w @ heights, 0.0)
    return d


def global_weights(
    sums: list[Sums], places: list[slice], users: NDArray[np.int32], user_count: int
) -> Floats:
    """g = -log of a user's share in all loss, a loss being the mean of a user's squared distances."""
    g = np.ones(user_count)
    made = np.bincount(users, minlength=user_count)
    judged = made > 0
    found = np.empty(users.size)
    for _ in range(50):
        for one, place in zip(sums, places, strict=True):
            w = g[users[place]]
            found[place] = distances(one, w / w.sum())
        losses = np.bincount(users, found, minlength=user_count)[judged] / made[judged]
        new = np.empty(user_count)
        new[judged] = -np.log(np.maximum(losses / losses.sum(), 1e-12))
        new[~judged] = new[judged].mean()
        change = float(np.abs(new - g).max())
        g = new
        if change < 1e-6:
            break
    return g


def local_weights(
    sums: Sums, n: int, *, start: Floats | None = None, tolerance: float = 1e-6, cap: int = 200
) -> Floats:
    """Robust weights by Hampel's loss, iterated until they change by less than a share of 1/n."""
    w = np.full(n, 1.0 / n)
    if n < 8:
        return w
    y = np.sqrt(distances(sums, w)).round(11)
    q1, q2, q3 = np.percentile(y, [50, 75, 95])
    if start is not None:
        w, y = start, np.sqrt(distances(sums, start)).round(11)
    for _ in range(cap):
        safe = np.maximum(y, 1e-300)
        falling = q1 * (q3 - y) / ((q3 - q2) * safe) if q3 > q2 else np.zeros(n)
        new = np.where(y <= q1, 1.0, np.where(y <= q2, q1 / safe, np.where(y < q3, falling, 0.0)))
        new /= new.sum()
        change = float(np.abs(new - w).max())
        w = new
        if change * n < tolerance:
            break
        y = np.sqrt(distances(sums, w)).round(11)
    return w


def combine(x: Floats, local: Floats, g: Floats, floor: float) -> tuple[Floats, float]:
    """The claims' weights, a tenth of which is shared out evenly, and the bandwidth."""
    c = np.sqrt(local * g)
    c /= c.sum()
    squares = c @ c
    apart = x - c @ x
    deviation = math.sqrt(c @ (apart * apart) / (1.0 - squares))
    return 0.9 * c + 0.1 / x.size, max(1.15 * 1.06 * deviation * float(squares) ** 0.2, floor)


def draw(x: Floats, c: Floats, h: float, rng: np.random.Generator) -> Floats:
    """Candidates until enough pass: at least k + Laplace noise claims share the bin of the seed."""
    sums = c.cumsum()
    per_bin = 1.0 / (2.0 * math.log(GAMMA))
    passed: list[Floats] = []
    missing, tries = PER_OBJECT, 0
    while missing > 0 and tries < TRIES:
        count = min(2 * missing, TRIES - tries)
        tries += count
        seeds = sums[:-1].searchsorted(rng.random(count) * sums[-1], side="right")
        y = x[seeds] + h * rng.standard_normal(count)
        bins = np.floor(((y[:, None] - x) / h) ** 2 * per_bin)
        plausible = (bins == bins[np.arange(count), seeds][:, None]).sum(axis=1)
        kept = y[plausible >= K + rng.laplace(size=count)][:missing]
        passed.append(kept)
        missing -= kept.size
    return np.sort(np.concatenate(passed))
