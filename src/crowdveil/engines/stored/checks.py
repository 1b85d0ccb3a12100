"""What is wrong with a table that is read in batches, in the words in which `Claims` refuses one at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from crowdveil.cells import ROWS_NAMED, rows_in_words
from crowdveil.errors import InputError


@dataclass
class _Found:
    """What a check found in all batches."""

    rows: list[int] = field(default_factory=list)  # the first ones
    count: int = 0
    error: InputError | None = None


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
        self._asked: Counter[tuple[str, str]] = Counter()  # of this batch
        self._found: dict[tuple[str, str, int], _Found] = {}  # by column, what is wrong, and which time

    def next_batch(self, rows: int) -> None:
        """Go on to the next batch, behind one of so many rows."""
        self._first += rows
        self._asked.clear()

    def refuse(self, mask: pl.Series, source: str, column: str, what: str) -> None:  # noqa: ARG002, as asked
        """Note the rows of a batch where `mask` is true; each check of a column is noted, in their order."""
        found = self._note(column, what)
        if mask.any():
            rows = mask.arg_true().head(ROWS_NAMED - len(found.rows))
            found.rows += (rows + 1 + self._first).to_list()
            found.count += int(mask.sum())

    def kind(self, column: str, error: InputError) -> None:
        """Note that a column is of a kind that is not taken."""
        found = self._note(column, "")
        found.count, found.error = 1, error

    def _note(self, column: str, what: str) -> _Found:
        """What was found before by the same check: one that asks for the second time is another one."""
        self._asked[column, what] += 1
        return self._found.setdefault((column, what, self._asked[column, what]), _Found())

    @property
    def all_right(self) -> bool:
        """Whether nothing was wrong yet."""
        return not any(found.count for found in self._found.values())

    def raise_first(self) -> None:
        """Raise `InputError` for what was wrong first in the order of checks, if anything was."""
        for key in sorted(self._found, key=lambda key: self._columns.index(key[0])):
            (column, what, _), found = key, self._found[key]
            if found.error is not None:
                raise found.error
            if found.count:
                rows = rows_in_words(found.rows, found.count)
                raise InputError(f"{self._source}: column {column!r} {what} in {rows}")
