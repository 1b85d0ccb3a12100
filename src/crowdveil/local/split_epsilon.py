"""One report of several randomized values: each takes an equal share of epsilon, and the costs add up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import inf, isfinite, nextafter

from crowdveil.errors import ParameterError


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a finite number above 0."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, float | int) or not isfinite(epsilon):
        raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")
    if epsilon <= 0:
        raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")


def share_of(epsilon: float, parts: int) -> float:
    """Largest x with parts * x <= epsilon."""
    share = epsilon / parts
    while Fraction(share) * parts > Fraction(epsilon):
        share = nextafter(share, 0.0)
    return share


def sum_of(epsilons: Iterable[float]) -> float:
    """The exact sum, rounded up to a float."""
    exact = sum((Fraction(epsilon) for epsilon in epsilons), Fraction(0))
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else nextafter(nearest, inf)
