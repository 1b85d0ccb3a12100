"""Labels: categorical claims, stored as claims whose values are codes of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from crowdveil.cells import as_integers, column_of
from crowdveil.claims import Claims
from crowdveil.errors import InputError
from crowdveil.names import coded


@dataclass(frozen=True, eq=False)
class Labels:
    """Categorical claims: the value of a claim is the index of its label in `choices`.

    >>> labels = Labels.from_columns(["a", "a", "b"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
    >>> labels
    Labels(2 choices, Claims(3 claims, 2 objects, 2 users))
    >>> labels.choices.to_list()
    ['cat', 'dog']
    """

    claims: Claims
    choices: pl.Series  # the distinct labels that were claimed, ascending

    @classmethod
    def from_frame(cls, frame: Any, *, object: str, user: str, value: str, source: str = "labels") -> Labels:
        """Labels from three columns of a Polars, pandas or Arrow table.

        `object`, `user` and `value` are names of columns; error messages call the table `source`.
        """
        table = nw.from_native(frame, eager_only=True)
        for column in (object, user, value):
            if column not in table.columns:
                raise InputError(f"{source}: there is no column {column!r}")
        columns = [column_of(table[name].to_native(), name, source) for name in (object, user, value)]
        codes, choices = coded(as_integers(columns[2]), value, source)
        coded_frame = pl.DataFrame({object: columns[0], user: columns[1], value: pl.Series(codes)})
        claims = Claims.from_frame(coded_frame, object=object, user=user, value=value, source=source)
        return cls(claims, choices)

    @classmethod
    def from_columns(cls, objects: Any, users: Any, labels: Any) -> Labels:
        """Labels from three columns of equal length: lists, NumPy arrays, or Polars or Arrow columns."""
        codes, choices = coded(as_integers(column_of(labels, "labels", "labels")), "labels", "labels")
        return cls(Claims.from_columns(objects, users, codes), choices)

    def __len__(self) -> int:
        return len(self.claims)

    def __repr__(self) -> str:
        return f"Labels({len(self.choices)} choices, {self.claims!r})"
