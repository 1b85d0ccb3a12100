"""Names that are learnt batch by batch, and then their codes."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Codes, Ints
from crowdveil.engines.stored.checks import Checks
from crowdveil.names import names_of, normalized

FEWEST_MERGED = 10_000  # new names, if there are few old ones


class Codebook:
    """Codes of names: their places in a list of distinct ones.

    Names are looked up by their hashes, in ascending order, which is much faster than by texts in any order;
    what is found is compared, so that names with the same hash are not confused.
    """

    def __init__(self, names: pl.Series) -> None:
        self.names = names
        keys = _keys(names)
        self._order = np.argsort(keys).astype(np.int32)
        self._keys = keys[self._order]

    def known(self, names: pl.Series) -> Codes:
        """The codes of these names; -1 of most that are not in the list, or with a hash of several names."""
        keys = _keys(names)
        order = np.argsort(keys)
        places = np.minimum(np.searchsorted(self._keys, keys[order]), self._keys.size - 1)
        codes = np.empty(keys.size, dtype=np.int32)
        codes[order] = self._order[places]
        codes[(self.names.gather(codes) != names).to_numpy()] = -1
        return codes

    def codes(self, names: pl.Series) -> Codes | None:
        """The codes of these names in a list that ascends, whatever their form; None if some is not there."""
        if names.dtype != self.names.dtype:
            return None
        codes = self.known(names)
        others = np.flatnonzero(codes < 0)
        if others.size:
            forms = names.gather(others)
            forms = forms.str.normalize("NFC") if forms.dtype == pl.String else forms
            codes[others] = np.minimum(self.names.search_sorted(forms).to_numpy(), len(self.names) - 1)
            if (self.names.gather(codes[others]) != forms).any():
                return None
        return codes


def _keys(names: pl.Series) -> NDArray[np.uint64]:
    return names.hash().to_numpy()


def _compact(names: pl.Series) -> pl.Series:
    """The same names with their own texts: otherwise they hold those of all rows that they were found in."""
    if names.dtype != pl.String:
        return names
    return pl.Series(names.name, names.to_arrow(compat_level=pl.CompatLevel.oldest()))


class Tally:
    """Distinct names and how many rows each has, over batches of rows.

    New names wait until they are about as many as the old ones; so they are merged few times.
    """

    def __init__(self) -> None:
        self._old: Codebook | None = None
        self._rows = np.zeros(0, dtype=np.int64)
        self._new: list[pl.DataFrame] = []
        self._waiting = 0

    def new(self, names: pl.Series) -> pl.Series:
        """Count names that are known already; what is left is new, or spelled in another form."""
        if self._old is None:
            return names
        codes = self._old.known(names)
        self._rows += np.bincount(codes[codes >= 0], minlength=self._rows.size)
        return names.filter(codes < 0)

    def add(self, counted: pl.DataFrame) -> None:
        """Count new names: columns `name` and `rows`."""
        self._new.append(counted)
        self._waiting += counted.height
        if self._waiting > max(FEWEST_MERGED, self._rows.size):
            self._merge()

    def _merge(self) -> None:
        old = [] if self._old is None else [pl.DataFrame({"name": self._old.names, "rows": self._rows})]
        self._old = None
        whole = pl.concat([*old, *self._new]).group_by("name").agg(pl.col("rows").sum())
        self._new, self._waiting = [], 0
        self._old, self._rows = Codebook(_compact(whole["name"])), whole["rows"].to_numpy(writable=True)

    def result(self, column: str) -> tuple[pl.Series, Ints]:
        """All names, ascending, and the number of rows of each."""
        self._merge()
        assert self._old is not None
        order = self._old.names.arg_sort()
        names, rows = self._old.names.gather(order).alias(column), self._rows[order.to_numpy()]
        self._old = None
        return names, rows


def learn(tally: Tally, names: pl.Series, column: str, source: str, checks: Checks) -> None:
    """Count the names in a batch in normal form C, as long as nothing is wrong; note what is."""
    found = names_of(names, column, source, refuse=checks.refuse)
    left = tally.new(found) if checks.all_right else found
    counted = left.to_frame("name").group_by("name").agg(pl.len().cast(pl.Int64).alias("rows"))
    counted = counted.with_columns(_compact(counted["name"]))
    if found.dtype == pl.String:
        forms = normalized(counted["name"], found, column, source, refuse=checks.refuse)
        counted = counted.with_columns(forms.alias("name"))
    if checks.all_right:
        tally.add(counted)
