"""Lower confidence bounds on epsilon and delta from the counts of an event in two worlds.

Notation: p and q the event's probabilities in the two worlds, p_L and q_U one-sided Clopper-Pearson bounds at
level 1 - alpha/2 each, so that both hold with probability at least 1 - alpha. If several events or directions
are tested on the same draws, alpha is divided among them (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from crowdveil.errors import ParameterError


@dataclass(frozen=True)
class Counts:
    """Counts of an event in `draws` draws of each world; `hits` are those in the world of p."""

    hits: int
    other_hits: int
    draws: int


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds on epsilon and delta that hold with confidence 1 - alpha."""

    epsilon: float | None  # at the claimed delta; None if p_L <= delta
    delta: float  # at the claimed epsilon; negative if nothing is shown


def lower_chance(hits: int, draws: int, error: float) -> float:
    """Clopper-Pearson lower bound of a probability, wrong with probability at most `error`."""
    from scipy.stats import beta

    return 0.0 if hits == 0 else float(beta.ppf(error, hits, draws - hits + 1))


def upper_chance(hits: int, draws: int, error: float) -> float:
    """Clopper-Pearson upper bound of a probability, wrong with probability at most `error`."""
    from scipy.stats import beta

    return 1.0 if hits == draws else float(beta.isf(error, hits + 1, draws - hits))


def lower_mean(mean: float, draws: int, error: float) -> float:
    """Lower bound of the expectation of numbers in [0, 1], wrong with probability at most `error`.

    Hoeffding's: the mean of n numbers reaches m with probability at most exp(-n KL(m, mu)) if they have the
    expectation mu < m, where KL is the relative entropy of two coins.
    """
    enough = -math.log(error) / draws
    low, high = 0.0, mean
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _coins_entropy(mean, middle) > enough else (low, middle)
    return low


def _coins_entropy(p: float, q: float) -> float:
    if q <= 0.0 or q >= 1.0:
        return math.inf if p != q else 0.0
    heads = p * math.log(p / q) if p > 0 else 0.0
    tails = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return heads + tails


def lower_bounds(
    counts: Counts, *, epsilon: float, delta: float, alpha: float, comparisons: int = 1
) -> LowerBounds:
    """eps_L = log((p_L - delta)/q_U) and delta_L = p_L - e^epsilon q_U.

    In exact arithmetic eps_L > epsilon is equivalent to delta_L > delta; the verdict uses delta_L.
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie between 0 and 1, not {alpha:g}")
    error = alpha / 2 / comparisons
    p = lower_chance(counts.hits, counts.draws, error)
    q = upper_chance(counts.other_hits, counts.draws, error)
    return LowerBounds(math.log((p - delta) / q) if p > delta else None, p - math.exp(epsilon) * q)
