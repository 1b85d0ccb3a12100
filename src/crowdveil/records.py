"""Records: rows of categorical values over public domains, stored as codes.

A domain is declared without looking at data: by its values, or by the edges of its bins. A domain inferred
from the data reveals what records hold. So `Schema.of_data` marks its result as not declared, and every
guarantee takes that mark into account.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any, Protocol, Self

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Ints, frozen
from crowdveil.claims import as_integers, column_of, refuse
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


@dataclass(frozen=True)
class Schema:
    """The columns of records; `declared` is false if their domains were inferred from data.

    >>> schema = Schema.from_dict({"columns": {"age": {"edges": [0, 30, 60]}, "job": {"values": ["x", "y"]}}})
    >>> schema.names, schema.sizes
    (('age', 'job'), (2, 2))
    """

    columns: tuple[Column, ...]
    declared: bool = True

    def __post_init__(self) -> None:
        if not self.columns:
            raise ParameterError("a schema needs at least one column")
        if len(set(self.names)) < len(self.columns):
            raise ParameterError("a schema has a column twice")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each column."""
        return tuple(column.size for column in self.columns)

    def index(self, column: str | int) -> int:
        """Index of a column, given its name or its index."""
        if isinstance(column, str) and plain_name(column) in self.names:
            return self.names.index(plain_name(column))
        if isinstance(column, int) and 0 <= column < len(self.columns):
            return column
        raise ParameterError(f"there is no column {column!r} in the schema")

    def select(self, names: Sequence[str | int]) -> Schema:
        """The schema of the given columns, in the given order."""
        return Schema(tuple(self.columns[self.index(name)] for name in names), self.declared)

    @classmethod
    def from_dict(cls, mapping: Any) -> Schema:
        """A schema from {"columns": {"age": {"edges": [0, 30, 60]}, "job": {"values": ["a", "b"]}}}."""
        if not isinstance(mapping, Mapping) or not isinstance(mapping.get("columns"), Mapping):
            raise ParameterError('a schema is {"columns": {NAME: {"values": [...]} or {"edges": [...]}}}')
        if unknown := set(mapping) - {"columns", "declared"}:
            raise ParameterError(f"a schema has no {sorted(map(str, unknown))[0]!r}")
        declared = mapping.get("declared", True)
        if not isinstance(declared, bool):
            raise ParameterError("a schema's declared is true or false")
        return cls(tuple(_column_from(name, domain) for name, domain in mapping["columns"].items()), declared)

    def to_dict(self) -> dict[str, Any]:
        """The schema in the form of a schema file."""
        mapping: dict[str, Any] = {"columns": {column.name: column.to_dict() for column in self.columns}}
        return mapping if self.declared else mapping | {"declared": False}

    @classmethod
    def of_data(cls, frame: Any, *, source: str = "records") -> Schema:
        """A schema inferred from data. It is **not private**: its domains reveal what the records hold.

        A column with more than 16 distinct numbers gets at most 16 bins at its quantiles.
        """
        table = nw.from_native(frame, eager_only=True)
        columns = tuple(
            _column_of_data(column_of(table[name].to_native(), name, source), name, source)
            for name in table.columns
        )
        return cls(columns, declared=False)


class RecordTable(Protocol):
    """Records, here or wherever an engine has them."""

    @property
    def schema(self) -> Schema:
        """The columns and their domains."""

    def __len__(self) -> int:
        """The number of records."""

    def take(self, rows: Ints, /) -> Self:
        """The records of these rows, in this order."""


@dataclass(frozen=True, eq=False)
class Records:
    """Rows of codes, one column of codes for each column of the schema.

    >>> schema = Schema((Column("job", values=("cook", "nurse")),))
    >>> records = Records.from_frame(pl.DataFrame({"job": ["nurse", "cook", "nurse"]}), schema)
    >>> records, records.counts("job")
    (Records(3 rows, 1 columns), array([1, 2]))

    Invariants: every code is below the size of its column, and the array is read-only.
    """

    schema: Schema
    codes: Codes  # (n, d)

    def __post_init__(self) -> None:
        unchecked, sizes = np.asarray(self.codes), self.schema.sizes
        if unchecked.ndim != 2 or unchecked.shape[1] != len(sizes) or unchecked.dtype.kind not in "iu":
            raise ParameterError("records need rows of whole numbers, one code for each column")
        if unchecked.size and (unchecked.min() < 0 or (unchecked.max(axis=0) >= sizes).any()):
            raise ParameterError("some code lies outside its column's domain")
        codes = np.ascontiguousarray(unchecked, dtype=np.int32)
        if codes is self.codes and codes.flags.writeable:
            codes = codes.copy()  # do not freeze the caller's array
        object.__setattr__(self, "codes", frozen(codes))

    @classmethod
    def from_frame(
        cls, frame: Any, schema: Schema, *, source: str = "records", clamp: bool = False
    ) -> Records:
        """Records from a Polars, pandas or Arrow table; columns that the schema does not name are ignored.

        A cell of a column with edges is a number or the label of a bin. Cells outside their domain are
        refused; with `clamp`, numbers beyond the edges go into the first or last bin. Error messages call the
        table `source`.
        """
        table = nw.from_native(frame, eager_only=True)
        original_names = {plain_name(name): name for name in table.columns}
        if len(original_names) < len(table.columns):
            raise InputError(f"{source}: two columns have the same name")
        codes = np.empty((len(table), len(schema.columns)), dtype=np.int32)
        for place, column in enumerate(schema.columns):
            if column.name not in original_names:
                raise InputError(f"{source}: there is no column {column.name!r}")
            cells = column_of(table[original_names[column.name]].to_native(), column.name, source)
            codes[:, place] = _codes(cells, column, source, clamp=clamp)
        if len(codes) == 0:
            raise InputError(f"{source}: there are no records (no data rows)")
        return cls(schema, codes)

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    def __repr__(self) -> str:
        return f"Records({len(self)} rows, {len(self.schema.columns)} columns)"

    def column(self, column: str | int) -> Codes:
        """Codes of one column."""
        return self.codes[:, self.schema.index(column)]

    def select(self, names: Sequence[str | int]) -> Records:
        """The records of the given columns, in the given order."""
        places = [self.schema.index(name) for name in names]
        return Records(self.schema.select(names), self.codes[:, places])

    def take(self, rows: NDArray[Any]) -> Records:
        """The rows at the given indices, or where a boolean mask is true."""
        return Records(self.schema, self.codes[rows])

    def counts(self, column: str | int) -> Ints:
        """Number of rows with each code of a column."""
        place = self.schema.index(column)
        return np.bincount(self.codes[:, place], minlength=self.schema.sizes[place]).astype(np.int64)

    def pair(self, a: str | int, b: str | int) -> Ints:
        """Contingency table of columns a (down) and b (across): number of rows with each pair of codes."""
        first, second = self.schema.index(a), self.schema.index(b)
        down, across = self.schema.sizes[first], self.schema.sizes[second]
        cells = self.codes[:, first].astype(np.int64) * across + self.codes[:, second]
        return np.bincount(cells, minlength=down * across).reshape(down, across).astype(np.int64)

    def to_frame(self, *, midpoints: bool = False) -> pl.DataFrame:
        """The records as a table; bins are text like 30..60 or, with `midpoints`, their midpoints."""
        return pl.DataFrame(
            [
                _cells(column, self.codes[:, place], midpoints=midpoints)
                for place, column in enumerate(self.schema.columns)
            ]
        )


def plain_name(text: str) -> str:
    """A name in Unicode normal form C."""
    return unicodedata.normalize("NFC", text)


def _plain(number: float) -> str:
    """A number with all its digits; integers without a decimal point."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _column_from(name: Any, domain: Any) -> Column:
    """A column from its entry in a schema file."""
    if not isinstance(name, str) or not isinstance(domain, Mapping):
        raise ParameterError('each column of a schema is NAME: {"values": [...]} or NAME: {"edges": [...]}')
    if unknown := set(domain) - {"values", "edges", "missing"}:
        raise ParameterError(f"column {name!r}: a domain has no {sorted(map(str, unknown))[0]!r}")
    values, edges = domain.get("values"), domain.get("edges")
    if values is not None:
        if not isinstance(values, list) or not all(
            isinstance(value, str | int) and not isinstance(value, bool) for value in values
        ):
            raise ParameterError(f"column {name!r}: values are a list of texts")
        values = tuple(str(value) for value in values)
    if edges is not None:
        if not isinstance(edges, list) or not all(
            isinstance(edge, float | int) and not isinstance(edge, bool) for edge in edges
        ):
            raise ParameterError(f"column {name!r}: edges are a list of numbers")
        edges = tuple(_number(edge, name) for edge in edges)
    return Column(name, values, edges, domain.get("missing", False))


def _number(edge: float, name: str) -> float:
    try:
        return float(edge)
    except OverflowError:
        raise ParameterError(f"column {name!r}: edges are finite numbers that ascend") from None


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


def _codes(cells: pl.Series, column: Column, source: str, *, clamp: bool) -> Codes:
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


def _cells(column: Column, codes: Codes, *, midpoints: bool) -> pl.Series:
    """A column of codes as a column of text or midpoints; missing cells are null."""
    shown: list[Any] = column.labels()
    if midpoints and column.edges is not None:
        shown = [(low + high) / 2 for low, high in pairwise(column.edges)] + [None] * column.missing
    elif column.missing:
        shown[-1] = None
    kind = pl.Float64 if midpoints and column.edges is not None else pl.String
    return pl.Series(column.name, shown, dtype=kind).gather(codes)


def _column_of_data(cells: pl.Series, name: str, source: str) -> Column:
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
