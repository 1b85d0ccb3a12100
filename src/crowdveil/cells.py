"""Cells of a column: which numbers they hold, and what an error tells of those that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from crowdveil.arrays import Floats
from crowdveil.errors import InputError

ROWS_NAMED = 5
LARGEST_VALUE = 1e150  # squares of larger values overflow


Refuse = Callable[[pl.Series, str, str, str], None]
"""`refuse(mask, source, column, what)`: what to do about the rows where `mask` is true, if any."""


def column_of(column: Any, name: str, source: str) -> pl.Series:
    """The column as a Polars series. Polars' own error is replaced: its message could quote a cell."""
    try:
        return pl.Series(column)
    except Exception:  # a foreign column type may raise anything
        message = f"{source}: column {name!r} mixes kinds of cells or holds something that cannot be used"
        raise InputError(message) from None


def as_integers(labels: pl.Series) -> pl.Series:
    """Labels cast to integers if they are floats without a fraction; other labels unchanged."""
    if labels.dtype.is_float() and not labels.is_null().any():
        numbers = labels.cast(pl.Int64, strict=False)
        if (numbers == labels).fill_null(value=False).all():
            return numbers
    return labels


def typed(column: pl.Series) -> pl.Series:
    """The column, as text if it has neither a type nor cells."""
    untyped = len(column) == 0 and column.dtype in (pl.Null, pl.Object)
    return pl.Series(column.name, [], dtype=pl.String) if untyped else column


def rows_in_words(first: list[int], count: int) -> str:
    """Text that lists the first of some rows; rows count from 1, without the header."""
    shown = ", ".join(str(row) for row in first[:ROWS_NAMED])
    more = f" and {count - ROWS_NAMED} more" if count > ROWS_NAMED else ""
    return f"{'row' if count == 1 else 'rows'} {shown}{more} (the header not counted)"


def refuse(mask: pl.Series, source: str, column: str, what: str) -> None:
    """Raise an error that names the column and the first rows where `mask` is true, if any."""
    if mask.any():
        rows = (mask.arg_true() + 1).to_list()
        raise InputError(f"{source}: column {column!r} {what} in {rows_in_words(rows, len(rows))}")


def numbers_of(
    values: pl.Series, column: str, source: str, *, saturate: bool, refuse: Refuse = refuse
) -> Floats:
    """The values as floats; an error names the rows that do not hold a number, or one that is too large."""
    refuse(values.is_null(), source, column, "is empty")
    if isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum)):
        text = values.cast(pl.String).str.strip_chars()
        refuse(text == "", source, column, "is empty")
        numbers = text.cast(pl.Float64, strict=False)
        refuse(numbers.is_null(), source, column, "holds text instead of a number")
    elif values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
    else:
        raise InputError(f"{source}: column {column!r} does not hold numbers")
    array = numbers.to_numpy()
    if array.size and not (array.min() >= -LARGEST_VALUE and array.max() <= LARGEST_VALUE):
        refuse(numbers.is_nan(), source, column, "is NaN")
        if not saturate:
            refuse(numbers.is_infinite(), source, column, "is infinite")
            refuse(numbers.abs() > LARGEST_VALUE, source, column, f"is beyond {LARGEST_VALUE:g}")
        array = array.clip(-LARGEST_VALUE, LARGEST_VALUE)
    # Adding 0.0 turns -0.0 into 0.0: the two compare equal but print differently.
    return array + 0.0
