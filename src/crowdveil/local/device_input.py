"""What a device is given: the public list of objects and its user's values; checked, never quoted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from crowdveil.arrays import Floats, Ints
from crowdveil.cells import column_of
from crowdveil.errors import InputError
from crowdveil.names import coded
from crowdveil.randomness import Name


def public_objects(names: Iterable[Name]) -> pl.Series:
    """Names of objects, ascending: all text (by code points, as NFC) or all whole numbers, none twice.

    Reports about every cell are in this order, and devices draw their noise in this order.
    """
    return ascending(names, "object")[0]


def ascending(names: Iterable[Name], kind: str) -> tuple[pl.Series, Ints]:
    """Names of one kind, each of them once, ascending; and where each of them was among those given."""
    column = column_of(names if isinstance(names, pl.Series) else list(names), kind, f"{kind}s")
    if column.is_empty():
        raise InputError(f"the list of {kind}s is empty")
    codes, distinct = coded(column, kind, f"{kind}s")
    if len(distinct) < len(column):
        raise InputError(f"the list of {kind}s has one of them twice")
    return distinct, np.argsort(codes)


def finite_numbers(values: Any) -> Floats:
    """Finite floats in a row. What NumPy would complain about quotes cells, so it is not passed on."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("the values are not all numbers") from None
    if numbers.ndim != 1:
        raise InputError("the values must be a row of numbers")
    if not np.isfinite(numbers).all():
        raise InputError("some of the values are not finite numbers")
    return numbers
