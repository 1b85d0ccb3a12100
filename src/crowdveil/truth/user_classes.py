"""Classes of users with similar errors, assigned for each part of the objects from the other parts.

This is cross-fitting: if all reports of a user decided the class, users who agree with a posterior by chance
would gain weight for it, and the posteriors would be overconfident.

Notation: F parts of the objects, M users, S spreads of errors, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.answers import Symbols
from crowdveil.arrays import Floats, Ints
from crowdveil.engines import Engine
from crowdveil.kernels import symbol_counts
from crowdveil.kernels.products import product

PARTS = 10


def normed(logs: Floats) -> Floats:
    """Rows of log-probabilities as probabilities that sum to 1."""
    chances = np.exp(logs - logs.max(axis=-1, keepdims=True))
    normalised: Floats = chances / chances.sum(axis=-1, keepdims=True)
    return normalised


@dataclass(frozen=True, eq=False)
class Parts:
    """The reports of all users, split into parts of the objects."""

    symbols: list[Symbols]  # (M, objects) each

    @classmethod
    def of(cls, symbols: Symbols) -> Parts:
        """The objects in order, split into at most ten parts."""
        count = min(PARTS, symbols.shape[1])
        return cls([np.ascontiguousarray(part) for part in np.array_split(symbols, count, axis=1)])

    def fits(self, groups: Ints, table: Floats, engine: Engine) -> Floats:
        """Sums (F, M, S) of `table[group, object, symbol, spread]` over each user's reports on a part."""
        ends = np.cumsum([part.shape[1] for part in self.symbols])[:-1]
        tables = [np.ascontiguousarray(part) for part in np.split(table, ends, axis=1)]
        users = groups.size
        out = np.empty((len(self.symbols), users, table.shape[3]))

        def work(first: int, last: int) -> None:
            for f in range(first, last):
                symbol_counts.summed_by_user(self.symbols[f], groups, tables[f], 0, users, out[f])

        engine.spread("users", len(self.symbols), work)
        return out

    def counts(self, groups: Ints, group_count: int, symbols: int, engine: Engine) -> Floats:
        """Counts of reports by group, object and symbol; a user's group may differ between parts."""
        out = [np.empty((group_count, part.shape[1], symbols)) for part in self.symbols]

        def work(first: int, last: int) -> None:
            for f in range(first, last):
                symbol_counts.by_object(self.symbols[f], groups[f], 0, out[f].shape[1], out[f])

        engine.spread("objects", len(out), work)
        return np.concatenate(out, axis=1)


@dataclass(frozen=True, eq=False)
class Classes:
    """Each user's class in each part, and the expected distribution of error spreads in each class."""

    of_users: Ints  # (F, M)
    sizes: Floats  # (C,)
    expected: Floats  # (C, S)

    @classmethod
    def from_fits(cls, fits: Floats, shares: Floats, spreads: Floats, count: int) -> Classes:
        """Classes of about equal size, from careful to careless.

        `fits` are log-likelihoods by part, user and spread; `shares` is the prior of spreads over all users.
        """
        logs = np.log(np.maximum(shares, np.finfo(float).tiny))
        posteriors = normed(fits.sum(axis=0) - fits + logs)  # (F, M, S)
        scores = product(posteriors, np.log(spreads))
        ends = np.quantile(scores, np.arange(1, count) / count, axis=1)  # (C - 1, F)
        of_users = np.stack([np.searchsorted(e, s) for e, s in zip(ends.T, scores, strict=True)])
        sizes = np.bincount(of_users.ravel(), minlength=count).astype(np.float64)
        expected = np.tile(shares, (count, 1))
        for c in np.flatnonzero(sizes):
            expected[c] = posteriors[of_users == c].mean(axis=0)
        return cls(of_users, sizes, expected)
