"""What is wrong with a table that is read in batches, in the words in which `Claims` refuses one at once."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from crowdveil.claims import ROWS_NAMED, rows_in_words
from crowdveil.errors import InputError


class Checks:
    """Notes rows that are wrong; what `Claims` would find first is what is raised, for all batches.

    Parameters
    ----------
    source:
        The name of the table in errors.
    columns:
        The names of the columns in the order in which they are looked at.

    """

    def __init__(self, source: str, columns: Sequence[str]) -> None:
        self._source, self._columns = source, list(columns)
        self._first = 0  # the number of the batch's first row
        self._found: dict[tuple[str, str], tuple[list[int], int]] = {}
        self._kinds: dict[tuple[str, str], InputError] = {}

    def next_batch(self, rows: int) -> None:
        """Go on to the next batch, behind one of so many rows."""
        self._first += rows

    def refuse(self, mask: pl.Series, source: str, column: str, what: str) -> None:  # noqa: ARG002, as asked
        """Note the rows of a batch where `mask` is true; each check of a column is noted, in their order."""
        first, count = self._found.setdefault((column, what), ([], 0))
        if mask.any():
            rows = (mask.arg_true().head(ROWS_NAMED) + 1 + self._first).to_list()
            self._found[column, what] = [*first, *rows][:ROWS_NAMED], count + int(mask.sum())

    def kind(self, column: str, error: InputError) -> None:
        """Note that a column is of a kind that is not taken."""
        self._found.setdefault((column, str(error)), ([], 1))
        self._kinds[column, str(error)] = error

    @property
    def all_right(self) -> bool:
        """Whether nothing was wrong yet."""
        return not any(count for _, count in self._found.values())

    def raise_first(self) -> None:
        """Raise `InputError` for what was wrong first in the order of checks, if anything was."""
        for key in sorted(self._found, key=lambda key: self._columns.index(key[0])):
            rows, count = self._found[key]
            if count:
                column, what = key
                raise self._kinds.get(key) or InputError(
                    f"{self._source}: column {column!r} {what} in {rows_in_words(rows, count)}"
                )
