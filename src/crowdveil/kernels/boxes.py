"""Sums of Gaussian kernels between the claims of one object, in time linear in their number.

The line is cut into boxes of four bandwidths. Within a box a claim has a coordinate t in [-1, 1]. The kernel
between claims of two boxes is a smooth function of their coordinates, so a double series of Chebyshev
polynomials T_0 ... T_23 approximates it with an error below 1e-12:

    k(x, y) = sum_ij T_i(t_x) M_ij T_j(t_y),

where the matrix M depends only on the number of boxes between the two. A sum over claims then takes three
steps: from the claims of a box to 24 moments, from the moments of near boxes to 24 coefficients, and from the
coefficients to a value for each claim. Boxes three or more apart contribute less than 1e-13.

This is the fast Gauss transform (Greengard and Strain, *The Fast Gauss Transform*, 1991,
doi:10.1137/0912004) with Chebyshev polynomials in place of Hermite functions. The T_j(t) are computed once
for an object and reused in every sweep.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled, fused, summed

WIDTH = 4.0  # bandwidths to a box
TERMS = 24
REACH = 3  # boxes this far apart do not interact
_POINTS = 64


def _interactions() -> Floats:
    """The matrices M for boxes 0, 1 and 2 apart, source by target, where the target lies to the left."""
    angles = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    places = np.cos(angles)
    to_series = np.cos(np.outer(np.arange(TERMS), angles)) * (2.0 / _POINTS)
    to_series[0] /= 2.0
    tables = []
    for apart in range(REACH):
        distance = WIDTH * (apart + (places[:, None] - places[None, :]) / 2.0)
        tables.append(to_series @ np.exp(-0.5 * distance**2) @ to_series.T)
    return np.array(tables).reshape(REACH, TERMS * TERMS)


_INTERACTIONS = _interactions()


@compiled
def lay_boxes(x: Floats, h0: float, first: Ints, place: Ints, features: Floats) -> int:
    """Cut ascending claims into boxes; returns the number of boxes.

    `first[b]` is the first claim of box b (n after the last box), `place[b]` the position of the box on the
    line, and `features` holds the T_j of the claims of each box, one row for each j. After a gap wider than
    the kernel's reach, the boxes start again at the next claim, so that positions stay exact at any distance.
    """
    per_box = 1.0 / (WIDTH * h0)
    gap = (REACH - 1) * WIDTH * h0
    anchor = x[0]
    base = 0
    boxes = 0
    for s in range(x.size):
        if s > 0 and x[s] - x[s - 1] > gap:
            anchor = x[s]
            base = place[boxes - 1] + REACH
        steps = (x[s] - anchor) * per_box
        box = int(steps)
        if boxes == 0 or place[boxes - 1] != base + box:
            place[boxes] = base + box
            first[boxes] = s
            boxes += 1
        features[s] = 2.0 * (steps - box) - 1.0
    first[boxes] = x.size
    # From the last box down: the rows of a box start after the coordinates of all earlier claims.
    for b in range(boxes - 1, -1, -1):
        _fill_features(features, first[b], first[b + 1] - first[b])
    return boxes


@compiled
def _fill_features(features: Floats, begin: int, n: int) -> None:
    """Fill the rows T_0 ... T_23 of one box from its coordinates, which are stored at `begin`."""
    rows = features[begin * TERMS : (begin + n) * TERMS]
    t = np.empty(n)
    for s in range(n):
        t[s] = features[begin + s]
    for s in range(n):
        rows[s] = 1.0
        rows[n + s] = t[s]
    for j in range(2, TERMS):
        last = rows[(j - 1) * n : j * n]
        before = rows[(j - 2) * n : (j - 1) * n]
        row = rows[j * n : (j + 1) * n]
        for s in range(n):
            row[s] = 2.0 * t[s] * last[s] - before[s]


@summed
def inner(a: Floats, b: Floats) -> float:
    """The inner product of a and b."""
    total = 0.0
    for s in range(a.size):
        total += a[s] * b[s]
    return total


@compiled
def boxes_times(features: Floats, first: Ints, place: Ints, boxes: int, w: Floats, out: Floats) -> None:
    """Fill `out` with K w, computed through the boxes."""
    moments = np.empty((boxes, TERMS))
    for b in range(boxes):
        begin, end = first[b], first[b + 1]
        n = end - begin
        rows = features[begin * TERMS : end * TERMS]
        for j in range(TERMS):
            moments[b, j] = inner(rows[j * n : (j + 1) * n], w[begin:end])
    series = _exchange(place, boxes, moments)
    for b in range(boxes):
        begin, end = first[b], first[b + 1]
        _evaluate(features[begin * TERMS : end * TERMS], series[b], out[begin:end])


@compiled
def _exchange(place: Ints, boxes: int, moments: Floats) -> Floats:
    """The coefficients of each box, from the moments of its near boxes.

    The kernel depends on t_x - t_y only, so M for the opposite direction is M with the signs of odd i + j
    flipped: one table serves both directions.
    """
    series = np.zeros((boxes, TERMS))
    reversed_series = np.zeros((boxes, TERMS))
    mirrored = np.empty((boxes, TERMS))
    for b in range(boxes):
        for j in range(0, TERMS, 2):
            mirrored[b, j], mirrored[b, j + 1] = moments[b, j], -moments[b, j + 1]
    for b in range(boxes):
        _add(_INTERACTIONS[0], moments[b], series[b])
        a = b - 1
        while a >= 0 and place[b] - place[a] < REACH:
            table = _INTERACTIONS[place[b] - place[a]]
            _add(table, moments[b], series[a])
            _add(table, mirrored[a], reversed_series[b])
            a -= 1
    for b in range(boxes):
        for i in range(0, TERMS, 2):
            series[b, i] += reversed_series[b, i]
            series[b, i + 1] -= reversed_series[b, i + 1]
    return series


@fused
def _add(table: Floats, moments: Floats, series: Floats) -> None:
    """Add moments @ table to a series, four rows at a time."""
    for j in range(0, TERMS, 4):
        a, b, c, d = moments[j], moments[j + 1], moments[j + 2], moments[j + 3]
        four = table[j * TERMS : (j + 4) * TERMS]
        for i in range(TERMS):
            series[i] += (a * four[i] + b * four[TERMS + i]) + (
                c * four[2 * TERMS + i] + d * four[3 * TERMS + i]
            )


@fused
def _evaluate(rows: Floats, series: Floats, out: Floats) -> None:
    """Fill `out` with the value of the series at each claim of a box, four terms at a time."""
    n = out.size
    out[:] = 0.0
    for j in range(0, TERMS, 4):
        a, b, c, d = series[j], series[j + 1], series[j + 2], series[j + 3]
        four = rows[j * n : (j + 4) * n]
        for s in range(n):
            out[s] += (a * four[s] + b * four[n + s]) + (c * four[2 * n + s] + d * four[3 * n + s])
