"""A column of records: its public domain, and the codes of its cells.

A domain is declared without looking at data: by its values, or by the edges of its bins. A domain inferred
from the data reveals what records hold.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes
from crowdveil.cells import as_integers, refuse
from crowdveil.errors import InputError, ParameterError

MOST_VALUES = 2**14  # per column: contingency tables of two columns are held in memory
BINS_OF_DATA = 16
MISSING = "(missing)"
EMPTY = "is empty (its domain has no missing)"


@dataclass(frozen=True)
class Column:
    """A column and its public domain: either its values or the edges of its bins.

    Bins are [edge, next edge); the last bin includes its upper edge. With `missing`, the domain has one more
    code, the last, for cells without a value.
    """

    name: str
    values: tuple[str, ...] | None = None
    edges: tuple[float, ...] | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError("a column needs a name")
        if (self.values is None) == (self.edges is None):
            raise ParameterError(f"column {self.name!r} has either values or edges")
        if not isinstance(self.missing, bool):
            raise ParameterError(f"column {self.name!r}: missing is true or false")
        object.__setattr__(self, "name", plain_name(self.name))
        if self.values is not None:
            object.__setattr__(self, "values", self._checked_values(self.values))
        if self.edges is not None:
            object.__setattr__(self, "edges", self._checked_edges(self.edges))
        if not 2 <= self.size <= MOST_VALUES:
            raise ParameterError(
                f"column {self.name!r} has {self.size} values; a domain has 2 to {MOST_VALUES:,}"
            )

    def _checked_values(self, values: Sequence[str]) -> tuple[str, ...]:
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise ParameterError(f"column {self.name!r}: values are texts that are not empty")
        plain = tuple(plain_name(value) for value in values)
        if len(set(plain)) < len(plain):
            raise ParameterError(f"column {self.name!r} has a value twice")
        if self.missing and MISSING in plain:
            raise ParameterError(f"column {self.name!r}: {MISSING} is the name of missing cells")
        return plain

    def _checked_edges(self, edges: Sequence[float]) -> tuple[float, ...]:
        numbers = tuple(float(edge) for edge in edges)
        if not all(isfinite(edge) for edge in numbers) or any(a >= b for a, b in pairwise(numbers)):
            raise ParameterError(f"column {self.name!r}: edges are finite numbers that ascend")
        return numbers

    @property
    def size(self) -> int:
        """Number of codes, including the one for missing cells."""
        present = len(self.values) if self.values is not None else max(0, len(self.edges or ()) - 1)
        return present + self.missing

    @property
    def ordered(self) -> bool:
        """Whether codes have the order of the numbers that they stand for."""
        return self.edges is not None and not self.missing

    def labels(self) -> list[str]:
        """The text of each code: its value, or its bin in the form 30..60."""
        if self.values is not None:
            present = list(self.values)
        else:
            present = [f"{_plain(low)}..{_plain(high)}" for low, high in pairwise(self.edges or ())]
        return [*present, MISSING] if self.missing else present

    def to_dict(self) -> dict[str, Any]:
        """The domain in the form of a schema file."""
        domain: dict[str, Any] = (
            {"values": list(self.values)} if self.values is not None else {"edges": list(self.edges or ())}
        )
        return domain | {"missing": True} if self.missing else domain


def plain_name(text: str) -> str:
    """A name in Unicode normal form C."""
    return unicodedata.normalize("NFC", text)


def _plain(number: float) -> str:
    """A number with all its digits; integers without a decimal point."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _text(cells: pl.Series, source: str, name: str, *, whole: bool | None = None) -> pl.Series:
    """Cells as text in Unicode normal form C; empty cells are null."""
    kind = cells.dtype
    if kind.is_nested() or (kind in (pl.Object, pl.Binary, pl.Null) and cells.null_count() < len(cells)):
        raise InputError(f"{source}: column {name!r} holds something that cannot be used")
    if kind.is_float():
        cells = cells.fill_nan(None)
        numbers = cells.drop_nulls()
        if whole is None:
            whole = len(numbers) == 0 or as_integers(numbers).dtype == pl.Int64
        if whole:
            cells = cells.cast(pl.Int64)
    text = cells.cast(pl.String).str.normalize("NFC")
    return text.set(text.str.strip_chars() == "", None)


@dataclass(frozen=True, eq=False)
class CodedCells:
    """The codes of a column's cells, null where there is none, and which cells have none."""

    codes: pl.Series
    empty: pl.Series
    outside: pl.Series


def outside_domain(column: Column) -> str:
    """What is said of a cell outside the domain."""
    if column.edges is not None:
        return "is neither a number between the declared edges nor the label of a bin"
    return "is not one of the declared values"


def codes_of(cells: pl.Series, column: Column, source: str, *, clamp: bool) -> Codes:
    """The code of each cell; an error names the rows of cells outside the domain."""
    found = coded_cells(cells, column, source, clamp=clamp)
    refuse(found.empty, source, column.name, EMPTY)
    refuse(found.outside, source, column.name, outside_domain(column))
    return found.codes.to_numpy()


def coded_cells(
    cells: pl.Series, column: Column, source: str, *, clamp: bool, whole: bool | None = None
) -> CodedCells:
    """The code of each cell.

    A column of floats that holds whole numbers only is read as one of integers; `whole` says whether it does,
    if these are not all of its cells.
    """
    text = _text(cells, source, column.name, whole=whole)
    absent = text.is_null()
    labels = column.labels()
    present = labels[:-1] if column.missing else labels
    places = text.replace_strict(present, range(len(present)), default=None, return_dtype=pl.Int32)
    if column.missing:
        places = places.set(absent, column.size - 1)
        places = places.set((text == MISSING).fill_null(value=False), column.size - 1)
    if column.edges is not None:
        places = places.fill_null(_bins(cells, text, column.edges, clamp=clamp))
    empty = absent if not column.missing else pl.repeat(False, len(absent), dtype=pl.Boolean, eager=True)
    return CodedCells(places, empty, places.is_null() & ~empty)


def _bins(cells: pl.Series, text: pl.Series, edges: tuple[float, ...], *, clamp: bool) -> pl.Series:
    """The bin of each cell; null if the cell holds no number or one beyond the edges."""
    numeric = cells.dtype.is_numeric()
    numbers = (cells if numeric else text.str.strip_chars()).cast(pl.Float64, strict=False)
    values = numbers.fill_null(np.nan).to_numpy()
    if clamp:
        values = np.clip(values, edges[0], edges[-1])
    inside = (values >= edges[0]) & (values <= edges[-1])
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return pl.Series(bins.astype(np.int32)).set(pl.Series(~inside), None)


def cells_of(column: Column, codes: Codes, *, midpoints: bool) -> pl.Series:
    """A column of codes as a column of text or midpoints; missing cells are null."""
    shown: list[Any] = column.labels()
    if midpoints and column.edges is not None:
        shown = [(low + high) / 2 for low, high in pairwise(column.edges)] + [None] * column.missing
    elif column.missing:
        shown[-1] = None
    kind = pl.Float64 if midpoints and column.edges is not None else pl.String
    return pl.Series(column.name, shown, dtype=kind).gather(codes)


def column_of_data(cells: pl.Series, name: str, source: str) -> Column:
    """A domain inferred from a column: its distinct values, or bins if it holds many numbers."""
    text = _text(cells, source, name)
    missing = bool(text.is_null().any())
    present = text.drop_nulls()
    values = present.unique().sort().to_list()
    if len(values) + missing < 2:
        raise InputError(f"{source}: column {name!r} has one value only; leave it out")
    numbers = present.cast(pl.Float64, strict=False)
    padded = not cells.dtype.is_numeric() and bool(present.str.contains(r"^\s*[+-]?0\d").any())
    if len(values) > BINS_OF_DATA and not padded and numbers.is_finite().fill_null(value=False).all():
        return Column(name, None, _quantile_edges(numbers.to_numpy()), missing)
    if len(values) + missing > MOST_VALUES:
        raise InputError(f"{source}: column {name!r} has more than {MOST_VALUES:,} values")
    return Column(name, tuple(values), None, missing)


def _quantile_edges(numbers: NDArray[np.float64]) -> tuple[float, ...]:
    """Edges at the quantiles of the numbers, with at least two bins."""
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, BINS_OF_DATA + 1)))
    if edges.size < 3:
        second = np.unique(numbers)[1]
        edges = np.unique(np.concatenate([edges, [second]]))
    return tuple(edges.tolist())
