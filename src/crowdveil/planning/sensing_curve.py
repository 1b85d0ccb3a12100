"""The expected error of a sensing campaign's truths in closed form: fast enough to be shown while one types.

The model is that of `sensing_errors`: truths are uniform at some distance from the ends of the range, users'
error variances are exponential, so that errors of all users together are Laplace errors, and Laplace noise is
added. Users are taken for alike: what truth discovery learns of single users would make errors smaller.

An object's claims have together the Fisher information of one normal measurement. The estimate is the
posterior median under that measurement and a uniform prior on the range, as the noise-aware method has it if
objects tell nothing of each other: with little information it is the middle of the range. Claims that were
clamped to the range pull estimates inwards, however many there are.

Notation: everything is in units of the range; b is the scale of users' errors, s that of the noise.
"""

from __future__ import annotations

from functools import lru_cache
from math import hypot, pi, sqrt

import numpy as np

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.arrays import Floats

SPREAD = 0.1  # of users' errors, in units of the range
TRUTHS = 41
POINTS = 2001  # of integrals over a claim's error
FARTHEST = 40.0  # end of these integrals, in scales
DEVIATIONS = 5.0  # end of integrals over a normal error
NEARLY_EQUAL = 1e-3  # scales that differ by a smaller share are moved apart


def sensing_error(epsilon: float, people: int, spread: float = SPREAD) -> float:
    """Expected mean absolute error in units of the range, with one claim of each of these people.

    Parameters
    ----------
    epsilon:
        Of one claim.
    people:
        The number of claims about an object.
    spread:
        Root of the users' mean error variance.

    """
    check_positive(epsilon, "epsilon")
    check_whole(people, "the number of people")
    check_positive(spread, "the spread")
    margin, scale = min(2.0 * spread, 0.25), spread / sqrt(2.0)
    deviation = 1.0 / sqrt(people * location_information(scale, 1.0 / epsilon))
    return hypot(_median_error(deviation, margin), _pull(scale, margin))


@lru_cache(maxsize=1024)
def location_information(b: float, s: float) -> float:
    """Fisher information about the centre of the sum of two Laplace variables of scales b and s.

    The density at a distance x is (b e^(-x/b) - s e^(-x/s)) / (2 (b^2 - s^2)).
    """
    if abs(b - s) < NEARLY_EQUAL * b:
        b = s * (1.0 + NEARLY_EQUAL)
    x = FARTHEST * max(b, s) * np.square(np.linspace(0.0, 1.0, POINTS))
    by_b, by_s, twice = np.exp(-x / b), np.exp(-x / s), 2.0 * (b * b - s * s)
    density, slope = (b * by_b - s * by_s) / twice, (by_s - by_b) / twice
    return 2.0 * _integral(np.square(slope) / density, x)


def _integral(heights: Floats, x: Floats) -> float:
    return float(np.sum(0.5 * (heights[1:] + heights[:-1]) * np.diff(x)))


def _median_error(deviation: float, margin: float) -> float:
    """Mean distance of a uniform truth from the posterior median, given one measurement of this deviation."""
    from scipy.special import ndtr, ndtri

    if deviation < margin / (2 * DEVIATIONS):  # the prior makes no difference
        return deviation * sqrt(2.0 / pi)
    truths = np.linspace(margin, 0.5, TRUTHS)[:, None]  # the other half is symmetric
    z = np.linspace(-DEVIATIONS, DEVIATIONS, 8 * TRUTHS + 1)
    weights = np.exp(-0.5 * z * z)
    measured = truths + deviation * z
    near = np.minimum(measured, 1.0 - measured)  # tails are precise on this side only
    half = 0.5 * (ndtr(-near / deviation) + ndtr((1.0 - near) / deviation))
    medians = np.clip(near + deviation * ndtri(half), 0.0, 1.0)
    medians = np.where(measured <= 0.5, medians, 1.0 - medians)
    errors = (np.abs(medians - truths) * weights).sum(axis=1) / weights.sum()
    return float(errors.mean())


def _pull(scale: float, margin: float) -> float:
    """Mean bias of a mean claim by clamping: an error exceeds a distance d by b/2 e^(-d/b) on average."""
    truths = np.linspace(margin, 1.0 - margin, 8 * TRUTHS)
    pulled = np.exp(-truths / scale) - np.exp((truths - 1.0) / scale)
    return float(np.abs(0.5 * scale * pulled).mean())
