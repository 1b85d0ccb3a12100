"""Names that are learnt batch by batch, and then their codes."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdveil.arrays import Codes, Ints
from crowdveil.claims import names_of, normalized
from crowdveil.engines.stored.checks import Checks


class Tally:
    """Distinct names and how many rows each has, over batches of rows.

    It is a list of tables of which each is at least twice as long as the next one. So a row is merged few
    times, and the tables have little more rows than there are names.
    """

    def __init__(self) -> None:
        self._tables: list[pl.DataFrame] = []

    def add(self, names: pl.Series, rows: pl.Series) -> None:
        """Count these names, each of which has so many rows of a batch."""
        self._tables.append(pl.DataFrame({"name": names, "rows": rows}))
        while len(self._tables) > 1 and self._tables[-2].height < 2 * self._tables[-1].height:
            self._tables.append(_merged([self._tables.pop(), self._tables.pop()]))

    def result(self, column: str) -> tuple[pl.Series, Ints]:
        """All names, ascending, and the number of rows of each."""
        whole = _merged(self._tables).sort("name")
        self._tables = []
        return whole["name"].alias(column), whole["rows"].cast(pl.Int64).to_numpy()


def _merged(tables: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(tables).group_by("name").agg(pl.col("rows").sum())


def counted(names: pl.Series, column: str, source: str, checks: Checks) -> pl.DataFrame:
    """The spellings in a batch, in normal form C, and how many rows each has."""
    found = names_of(names, column, source, refuse=checks.refuse)
    counted = found.to_frame("name").group_by("name").len("rows")
    if found.dtype == pl.String:
        forms = normalized(counted["name"], found, column, source, refuse=checks.refuse)
        counted = counted.with_columns(forms.alias("name"))
    return counted


class Codebook:
    """Codes of names: their places among all names, which ascend."""

    def __init__(self, names: pl.Series) -> None:
        self._text = pl.Enum(names) if names.dtype == pl.String else None
        self._numbers = None if self._text else names.to_numpy()

    def codes(self, names: pl.Series) -> Codes | None:
        """The codes of these names; None if some name is not among all."""
        if self._text is not None and names.dtype == pl.String:
            places = names.cast(self._text, strict=False).to_physical()
            if places.null_count():  # spelled in another form
                places = names.str.normalize("NFC").cast(self._text, strict=False).to_physical()
            return None if places.null_count() else places.cast(pl.Int32).to_numpy()
        if self._numbers is None or not names.dtype.is_integer():
            return None
        sought = names.to_numpy()
        found = np.minimum(np.searchsorted(self._numbers, sought), self._numbers.size - 1)
        return found.astype(np.int32) if (self._numbers[found] == sought).all() else None
