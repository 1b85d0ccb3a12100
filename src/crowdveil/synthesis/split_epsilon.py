"""One report of several randomized values: each takes a share of epsilon, and together they cost the sum."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import inf, isfinite, nextafter

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.local.record_reports import record_promise


def check_epsilon(epsilon: float) -> None:
    """Refuse what is no number above 0."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, float | int) or not isfinite(epsilon):
        raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")
    if epsilon <= 0:
        raise ParameterError(f"epsilon must be a number above 0, not {epsilon}")


def share_of(epsilon: float, parts: int) -> float:
    """The largest number that so many times is not above epsilon."""
    share = epsilon / parts
    while Fraction(share) * parts > Fraction(epsilon):
        share = nextafter(share, 0.0)
    return share


def together(epsilons: Iterable[float]) -> Guarantee:
    """What a report promises whose values are randomized one by one with these: the sum, rounded up."""
    exact = sum((Fraction(each) for each in epsilons), Fraction(0))
    nearest = float(exact)
    return record_promise(nearest if Fraction(nearest) >= exact else nextafter(nearest, inf))
