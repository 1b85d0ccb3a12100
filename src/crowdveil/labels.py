"""Labels: who picked which of some labels for an object. Claims whose values are codes of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from crowdveil.claims import Claims, coded, column_of, whole
from crowdveil.errors import InputError


@dataclass(frozen=True, eq=False)
class Labels:
    """Claims of labels: a claim's value is the place of its label among `choices`."""

    claims: Claims
    choices: pl.Series  # the labels that were picked at least once, ascending

    @classmethod
    def from_frame(cls, frame: Any, *, object: str, user: str, value: str, source: str = "labels") -> Labels:
        """Labels from three columns of a Polars, pandas or Arrow table; `source` names it in errors."""
        table = nw.from_native(frame, eager_only=True)
        for column in (object, user, value):
            if column not in table.columns:
                raise InputError(f"{source}: there is no column {column!r}")
        columns = [column_of(table[name].to_native(), name, source) for name in (object, user, value)]
        codes, choices = coded(whole(columns[2]), value, source)
        coded_frame = pl.DataFrame({object: columns[0], user: columns[1], value: pl.Series(codes)})
        claims = Claims.from_frame(coded_frame, object=object, user=user, value=value, source=source)
        return cls(claims, choices)

    @classmethod
    def from_columns(cls, objects: Any, users: Any, labels: Any) -> Labels:
        """Labels from three columns of equal length: lists, NumPy arrays, or Polars or Arrow columns."""
        codes, choices = coded(whole(column_of(labels, "labels", "labels")), "labels", "labels")
        return cls(Claims.from_columns(objects, users, codes), choices)

    def __len__(self) -> int:
        return len(self.claims)

    def __repr__(self) -> str:
        return f"Labels({len(self.choices)} choices, {self.claims!r})"
