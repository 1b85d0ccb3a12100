"""Loops that draw synthetic claims: candidates subject to the privacy test, and noisy claims."""

from __future__ import annotations

import math

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.compiled import compiled, inlined
from crowdveil.kernels.ranges import longest
from crowdveil.kernels.sorting import first_above, sort
from crowdveil.randomness.chacha import STATE_WORDS, Words, start
from crowdveil.randomness.samplers import discrete_laplace, laplace_at_least, normal, uniform

SCAN = 400  # up to this many claims a linear scan in vector instructions is faster than a search


@inlined
def bin_of(x: float, y: float, h: float, per_bin: float) -> float:
    """The bin of a claim x: floor(((y - x) / h)^2 per_bin)."""
    return np.floor(((y - x) / h) ** 2 * per_bin)


@compiled
def plausible_seeds(x: Floats, s: int, y: float, h: float, per_bin: float) -> int:
    """Number of plausible seeds of y: the claims in the same bin as the true seed s.

    With per_bin = 1 / (2 ln gamma) the kernels at y of claims in one bin differ by less than a factor gamma.
    """
    wanted = bin_of(x[s], y, h, per_bin)
    if x.size > SCAN:
        return seeds_by_search(x, y, h, per_bin, wanted)
    count = 0
    for t in range(x.size):
        count += bin_of(x[t], y, h, per_bin) == wanted
    return count


@compiled
def seeds_by_search(x: Floats, y: float, h: float, per_bin: float, wanted: float) -> int:
    """As `plausible_seeds`, by binary search: bins decrease along ascending claims up to y, then increase."""
    turn = first_above(x, y)
    # The claims in bins up to `wanted` are one interval around y; those in lower bins are subtracted.
    count = 0
    for below, sign in ((False, 1), (True, -1)):
        low, high = 0, turn
        while low < high:
            middle = (low + high) // 2
            bin_here = bin_of(x[middle], y, h, per_bin)
            if bin_here > wanted or (below and bin_here == wanted):
                low = middle + 1
            else:
                high = middle
        count -= sign * low
        low, high = turn, x.size
        while low < high:
            middle = (low + high) // 2
            bin_here = bin_of(x[middle], y, h, per_bin)
            if bin_here > wanted or (below and bin_here == wanted):
                high = middle
            else:
                low = middle + 1
        count += sign * low
    return count


@compiled
def picked(cumulative: Floats, place: float) -> int:
    """The first index whose cumulative weight exceeds `place`."""
    if cumulative.size > SCAN:
        return first_above(cumulative, place)
    count = 0
    for s in range(cumulative.size):
        count += cumulative[s] <= place
    return count


@compiled
def grid_step(h: float) -> float:
    """The spacing of the grid that candidates are rounded to: a power of two near h / 1000.

    The last digits of x + h z would reveal which claims x cannot be its seed; on a common grid every point
    can be reached from every claim.
    """
    return 2.0 ** (math.floor(math.log2(h)) - 10)


@compiled
def draw_through_test(
    offsets: Ints,
    values: Floats,
    combined: Floats,
    bandwidth: Floats,
    low: float,
    high: float,
    k: int,
    gamma: float,
    rate_num: int,
    rate_den: int,
    require_k: bool,
    tested: bool,
    tries: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    out: Floats,
    passed: Ints,
) -> None:
    """Fill row i of `out` with released claims of object i, ascending, and `passed[i]` with their number.

    Objects without a bandwidth or with fewer than k claims release nothing. At most `tries` candidates are
    drawn for an object; a candidate outside [low, high] fails. The test, if `tested`, is: the number of
    plausible seeds is at least k plus Laplace noise of rate num/den and, if `require_k`, also at least k.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    cumulative = np.empty(longest(offsets, first, last))
    for i in range(first, last):
        a, b = offsets[i], offsets[i + 1]
        passed[i] = 0
        h = bandwidth[i]
        if b - a < k or h == 0.0:
            continue
        x = values[a:b]
        start(state, key, nonces[i])
        total = 0.0
        for s in range(b - a):
            total += combined[a + s]
            cumulative[s] = total
        per_bin = 1.0 / (2.0 * math.log(gamma))
        step = grid_step(h)
        for _ in range(tries):
            s = min(picked(cumulative[: b - a], uniform(state) * total), b - a - 1)
            y = np.rint((x[s] + h * normal(state)) / step) * step
            if not low <= y <= high:
                continue
            if tested:
                count = plausible_seeds(x, s, y, h, per_bin)
                if require_k and count < k:
                    continue
                if not laplace_at_least(state, k - count, rate_num, rate_den):
                    continue
            out[i, passed[i]] = y
            passed[i] += 1
            if passed[i] == out.shape[1]:
                break
        sort(out[i, : passed[i]])


@compiled
def add_grid_noise(
    offsets: Ints,
    grid: Ints,
    num: int,
    den: int,
    key: Words,
    nonces: Words,
    first: int,
    last: int,
    out: Ints,
) -> None:
    """Fill `out` with integers plus exact discrete Laplace noise of scale num/den, sorted within each object.

    Sorting is needed for privacy: claims are laid out in the order of their private values.
    """
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    for i in range(first, last):
        start(state, key, nonces[i])
        a, b = offsets[i], offsets[i + 1]
        for s in range(a, b):
            out[s] = grid[s] + discrete_laplace(state, num, den)
        sort(out[a:b])
