"""Classes of users who err alike, told for each part of the objects by reports about the other parts.

Told by all of their reports, whoever agrees with a belief by chance would be trusted for it, and beliefs
would be too sure of themselves.

Notation: F parts of the objects, M users, S spreads of errors, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.answers import Symbols
from crowdveil.arrays import Floats, Ints
from crowdveil.engines import LocalEngine
from crowdveil.kernels import symbol_counts
from crowdveil.kernels.products import product

PARTS = 10


def normed(logs: Floats) -> Floats:
    """Rows of logs as chances that sum to 1."""
    chances = np.exp(logs - logs.max(axis=-1, keepdims=True))
    found: Floats = chances / chances.sum(axis=-1, keepdims=True)
    return found


@dataclass(frozen=True, eq=False)
class Parts:
    """Reports of all users, cut into parts of the objects."""

    symbols: list[Symbols]  # (M, objects) each

    @classmethod
    def of(cls, symbols: Symbols) -> Parts:
        """The objects in order, in ten parts."""
        count = min(PARTS, symbols.shape[1])
        return cls([np.ascontiguousarray(part) for part in np.array_split(symbols, count, axis=1)])

    def fits(self, groups: Ints, table: Floats, engine: LocalEngine) -> Floats:
        """(F, M, S): sums of `table[group, object, symbol, spread]` over each user's reports about a part."""
        ends = np.cumsum([part.shape[1] for part in self.symbols])[:-1]
        tables = [np.ascontiguousarray(part) for part in np.split(table, ends, axis=1)]
        users = groups.size
        out = np.empty((len(self.symbols), users, table.shape[3]))

        def work(first: int, last: int) -> None:
            for f in range(first, last):
                symbol_counts.summed_by_user(self.symbols[f], groups, tables[f], 0, users, out[f])

        engine.spread("users", len(self.symbols), work)
        return out

    def counts(self, groups: Ints, many: int, symbols: int, engine: LocalEngine) -> Floats:
        """(many, N, symbols): how often each was reported, by object and by users' groups in its part."""
        out = [np.empty((many, part.shape[1], symbols)) for part in self.symbols]

        def work(first: int, last: int) -> None:
            for f in range(first, last):
                symbol_counts.by_object(self.symbols[f], groups[f], 0, out[f].shape[1], out[f])

        engine.spread("objects", len(out), work)
        return np.concatenate(out, axis=1)


@dataclass(frozen=True, eq=False)
class Classes:
    """Each user's class in each part, and what shares of spreads a class should have."""

    of_users: Ints  # (F, M)
    sizes: Floats  # (C,)
    expected: Floats  # (C, S)

    @classmethod
    def told(cls, fits: Floats, shares: Floats, spreads: Floats, count: int) -> Classes:
        """Classes of about equal size, from careful to careless; all users together have these shares."""
        logs = np.log(np.maximum(shares, np.finfo(float).tiny))
        chances = normed(fits.sum(axis=0) - fits + logs)  # (F, M, S)
        scores = product(chances, np.log(spreads))
        ends = np.quantile(scores, np.arange(1, count) / count, axis=1)  # (C - 1, F)
        of_users = np.stack([np.searchsorted(e, s) for e, s in zip(ends.T, scores, strict=True)])
        sizes = np.bincount(of_users.ravel(), minlength=count).astype(np.float64)
        expected = np.tile(shares, (count, 1))
        for c in np.flatnonzero(sizes):
            expected[c] = chances[of_users == c].mean(axis=0)
        return cls(of_users, sizes, expected)
