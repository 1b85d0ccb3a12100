"""What epsilons, deltas, scales and counts have to be."""

from __future__ import annotations

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

# Products of three such numbers are still numbers that a float can hold.
LARGEST = 1e100
SMALLEST = 1e-100


def check_unit(guarantee: Guarantee, unit: str) -> None:
    """Refuse a guarantee for another unit."""
    if guarantee.unit != unit:
        raise ParameterError(f"this guarantee protects a {guarantee.unit}, not a {unit}")


def check_epsilon(number: float, what: str = "epsilon") -> None:
    """Refuse what is no number of at least 0, or too large."""
    if not 0 <= number <= LARGEST:
        raise ParameterError(f"{what} must be a number from 0 to {LARGEST:g}, not {number}")


def check_delta(delta: float, *, least: float | None = None) -> None:
    """Refuse what is not in [0, 1); with `least=0.0` also 0 itself."""
    if not 0 <= delta < 1 or delta == least:
        raise ParameterError(f"delta must be in {'[' if least is None else '('}0, 1), not {delta}")


def check_positive(number: float, what: str) -> None:
    """Refuse what is no number above 0, or too large or small."""
    if not SMALLEST <= number <= LARGEST:
        raise ParameterError(f"{what} must be a number from {SMALLEST:g} to {LARGEST:g}, not {number}")


def check_whole(number: int, what: str) -> None:
    """Refuse what is no whole number of at least 1, or too large."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= LARGEST:
        raise ParameterError(f"{what} must be a whole number from 1 to {LARGEST:g}, not {number}")
