"""Records: rows of categorical values over public domains, stored as codes.

A domain is declared without looking at data: by its values, or by the edges of its bins. A domain inferred
from the data reveals what records hold. So `Schema.of_data` marks its result as not declared, and every
guarantee takes that mark into account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Ints, frozen
from crowdveil.cells import column_of
from crowdveil.columns import Column, cells_of, codes_of, column_of_data, plain_name
from crowdveil.errors import InputError, ParameterError

__all__ = ["Column", "RecordTable", "Records", "Schema"]


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
            column_of_data(column_of(table[name].to_native(), name, source), name, source)
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
            codes[:, place] = codes_of(cells, column, source, clamp=clamp)
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
                cells_of(column, self.codes[:, place], midpoints=midpoints)
                for place, column in enumerate(self.schema.columns)
            ]
        )


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
