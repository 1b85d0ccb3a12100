"""Checks of epsilons, deltas, scales and counts."""

from __future__ import annotations

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee

# The product of three numbers within these bounds neither overflows nor underflows.
LARGEST = 1e100
SMALLEST = 1e-100


def check_unit(guarantee: Guarantee, unit: str) -> None:
    """Raise an error unless the guarantee protects `unit`."""
    if guarantee.unit != unit:
        raise ParameterError(f"this guarantee protects a {guarantee.unit}, not a {unit}")


def check_epsilon(number: float, what: str = "epsilon") -> None:
    """Raise an error unless `number` lies in [0, LARGEST]; `what` names it in the message."""
    if not 0 <= number <= LARGEST:
        raise ParameterError(f"{what} must be a number from 0 to {LARGEST:g}, not {number}")


def check_delta(delta: float, *, least: float | None = None) -> None:
    """Raise an error unless delta lies in [0, 1) or, with `least=0.0`, in (0, 1)."""
    if not 0 <= delta < 1 or delta == least:
        raise ParameterError(f"delta must be in {'[' if least is None else '('}0, 1), not {delta}")


def check_positive(number: float, what: str) -> None:
    """Raise an error unless `number` lies in [SMALLEST, LARGEST]; `what` names it in the message."""
    if not SMALLEST <= number <= LARGEST:
        raise ParameterError(f"{what} must be a number from {SMALLEST:g} to {LARGEST:g}, not {number}")


def check_whole(number: int, what: str) -> None:
    """Raise an error unless `number` is an integer in [1, LARGEST]; `what` names it in the message."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= LARGEST:
        raise ParameterError(f"{what} must be a whole number from 1 to {LARGEST:g}, not {number}")
