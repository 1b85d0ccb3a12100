"""What counts of an event in two worlds prove about epsilon and delta: confidence bounds from below.

Notation: p and q the event's chances in the two worlds, p_L and q_U one-sided Clopper-Pearson bounds at
level 1 - alpha/2 each, so that both hold with probability at least 1 - alpha. Where several events or
directions are tested on the same draws, alpha is divided among them (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from crowdveil.errors import ParameterError


@dataclass(frozen=True)
class Counts:
    """How often an event happened in so many draws of each world; `hits` of the world where p is."""

    hits: int
    other_hits: int
    draws: int


@dataclass(frozen=True)
class LowerBounds:
    """With confidence 1 - alpha no mechanism with these chances has less."""

    epsilon: float | None  # given the claimed delta; None where p_L <= delta
    delta: float  # given the claimed epsilon; negative where nothing is shown


def lower_chance(hits: int, draws: int, error: float) -> float:
    """Clopper and Pearson: the chance is at least this, but for `error`."""
    from scipy.stats import beta

    return 0.0 if hits == 0 else float(beta.ppf(error, hits, draws - hits + 1))


def upper_chance(hits: int, draws: int, error: float) -> float:
    """Clopper and Pearson: the chance is at most this, but for `error`."""
    from scipy.stats import beta

    return 1.0 if hits == draws else float(beta.isf(error, hits + 1, draws - hits))


def lower_bounds(
    counts: Counts, *, epsilon: float, delta: float, alpha: float, comparisons: int = 1
) -> LowerBounds:
    """eps_L = log((p_L - delta)/q_U) and delta_L = p_L - e^epsilon q_U.

    On paper eps_L > epsilon says the same as delta_L > delta; the verdict is read off delta_L.
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie between 0 and 1, not {alpha:g}")
    error = alpha / 2 / comparisons
    p = lower_chance(counts.hits, counts.draws, error)
    q = upper_chance(counts.other_hits, counts.draws, error)
    return LowerBounds(math.log((p - delta) / q) if p > delta else None, p - math.exp(epsilon) * q)
