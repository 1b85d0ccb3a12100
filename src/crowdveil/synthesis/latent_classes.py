"""A latent class model of records, fitted to all tables of reports at once by penalised maximum likelihood.

A record belongs to one of C latent classes, and within a class its columns are independent. Every table of
reports (one column, pairs, triples, whatever the oracle) is a noisy marginal of the same model, so all of
them are fitted together under the oracles' own laws. Dependence that noise hides in one table can show in
many of them together; and the fit is a proper distribution, whose marginals are consistent.

Penalties on log-odds shrink the classes towards their common part (`apart`, which may differ from column to
column: see `model_choice`), and that part towards uniform shares (`uneven`): with little information, columns
come out independent.

The likelihood of a table is the product over its cells. This is exact for randomized response, whose counts
are multinomial; the bits of unary or hashed reports are taken for independent. The fit is post-processing and
costs no privacy.

Notation: C classes, d columns, V values of all columns together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdveil.arrays import Codes, Floats, Ints
from crowdveil.engines import Engine, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels.latent_classes import climb
from crowdveil.kernels.products import product
from crowdveil.randomness import Randomness, seeded
from crowdveil.synthesis.descent import lowest
from crowdveil.synthesis.marginals import rounded
from crowdveil.synthesis.questions import Table

CLASSES = 16
APART = 3.0  # penalty of classes that differ, in squared logarithms of odds
UNEVEN = 0.2  # penalty of uneven shares of values
START = 0.3  # standard deviation of the classes' log-odds at the start
STEPS = 200
BLOCKS = 16  # of cells, summed in one fixed order whatever the threads
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Shares of classes, and for each class the probabilities of all columns' values, column after column."""

    sizes: tuple[int, ...]
    shares: Floats  # (C,)
    chances: Floats  # (C, V)

    @cached_property
    def begins(self) -> Ints:
        """(d + 1,): where columns begin among all values."""
        return begins_of(self.sizes)

    def of_column(self, column: int) -> Floats:
        """(C, size): the probabilities of a column's values."""
        return self.chances[:, self.begins[column] : self.begins[column + 1]]

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The marginal on these columns."""
        joint = self.shares.reshape(-1, *[1] * len(columns))
        for axis, column in enumerate(columns):
            shape = [1] * len(columns)
            shape[axis] = self.sizes[column]
            joint = joint * self.of_column(column).reshape(-1, *shape)
        marginal: Floats = joint.sum(axis=0)
        return marginal

    def without(self, column: int) -> LatentClasses:
        """The same model, except that one column is independent of the classes."""
        chances = self.chances.copy()
        chances[:, self.begins[column] : self.begins[column + 1]] = product(
            self.shares, self.of_column(column)
        )
        return LatentClasses(self.sizes, self.shares, chances)

    def sample(self, rows: int, *, rng: Randomness) -> Codes:
        """(rows, d): codes of records, in random order.

        The counts of classes, and of values within a class, are the expected ones rounded at random. That has
        less variance than drawing every record independently.
        """
        stream = rng.stream("records", purpose="latent classes")
        counts = rounded(rows * self.shares, rows, stream.uniforms(1)[0])
        codes = np.empty((rows, len(self.sizes)), dtype=np.int32)
        first = 0
        for c, count in enumerate(counts):
            for column in range(len(self.sizes)):
                each = rounded(count * self.of_column(column)[c], count, stream.uniforms(1)[0])
                values = np.repeat(np.arange(each.size, dtype=np.int32), each)
                codes[first : first + count, column] = values[np.argsort(stream.uniforms(count))]
            first += count
        return codes[np.argsort(stream.uniforms(rows))]


def begins_of(sizes: Sequence[int]) -> Ints:
    """(d + 1,): where columns begin among all values."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of all tables with one number of columns."""

    places: Codes  # (cells, columns)
    keep: Floats
    other: Floats
    ones: Floats
    zeros: Floats


@dataclass(frozen=True, eq=False)
class Evidence:
    """All tables of reports about columns of these sizes, laid out for the likelihood."""

    sizes: tuple[int, ...]
    kinds: tuple[_Cells, ...]  # for each number of columns

    @classmethod
    def of(cls, tables: Sequence[Table], sizes: tuple[int, ...]) -> Evidence:
        """The cells of these tables."""
        begins, kinds = begins_of(sizes), dict[int, list[Table]]()
        for table in tables:
            kinds.setdefault(len(table.question.columns), []).append(table)
        return cls(sizes, tuple(_cells(each, begins) for _, each in sorted(kinds.items())))


def _cells(tables: Sequence[Table], begins: Ints) -> _Cells:
    parts = []
    for table in tables:
        question, oracle = table.question, table.question.pure
        cells = np.flatnonzero(table.support) if oracle.one_cell else np.arange(question.cells)
        values = np.unravel_index(cells, question.sizes)
        places = [begins[column] + value for column, value in zip(question.columns, values, strict=True)]
        ones = table.support[cells].astype(np.float64)
        zeros = np.zeros(cells.size) if oracle.one_cell else table.asked - ones
        chances = [np.full(cells.size, chance) for chance in (oracle.keep, oracle.other)]
        parts.append((np.stack(places, axis=1).astype(np.int32), *chances, ones, zeros))
    return _Cells(*(np.ascontiguousarray(np.concatenate(each)) for each in zip(*parts, strict=True)))


def fit(
    evidence: Evidence,
    *,
    classes: int = CLASSES,
    apart: float | Floats = APART,
    uneven: float = UNEVEN,
    steps: int = STEPS,
    start: LatentClasses | None = None,
    engine: Engine | None = None,
) -> LatentClasses:
    """The classes of largest penalised likelihood; `apart` is one penalty for all columns, or one for each.

    The search starts near independence, or from the classes at `start`.
    """
    if classes < 1:
        raise ParameterError(f"there must be at least one class, not {classes}")
    engine, sizes, begins = engine or LocalEngine(), evidence.sizes, begins_of(evidence.sizes)
    values = int(begins[-1])
    penalties = np.repeat(np.broadcast_to(np.asarray(apart, dtype=np.float64), len(sizes)), sizes)

    def loss_and_gradient(x: Floats) -> tuple[float, Floats]:
        shares, common, own = _unpacked(x, classes, values)
        chances = _softmax(common + own, begins)
        gain, of_shares, of_chances = _likelihood(evidence, shares, chances, engine)
        spread = (np.square(own) * penalties).sum(axis=1)
        around = common - _column_means(common, begins)
        loss = -gain + 0.5 * float(product(shares, spread)) + 0.5 * uneven * float(product(around, around))
        of_shares = -of_shares + 0.5 * spread
        of_logs = _through_softmax(-of_chances, chances, begins)
        return loss, np.concatenate(
            [
                shares * (of_shares - product(shares, of_shares)),
                of_logs.sum(axis=0) + uneven * around,
                (of_logs + penalties * shares[:, None] * own).ravel(),
            ]
        )

    begin = _near_independence(classes, values) if start is None else _packed(start)
    shares, common, own = _unpacked(lowest(loss_and_gradient, begin, steps=steps), classes, values)
    return LatentClasses(sizes, shares, _softmax(common + own, begins))


def _near_independence(classes: int, values: int) -> Floats:
    own = START * seeded(0).stream("classes", purpose="latent classes").normals(classes * values)
    return np.concatenate([np.zeros(classes + values), own])


def _packed(classes: LatentClasses) -> Floats:
    """The inverse of `_unpacked`, which is not unique."""
    logs = np.log(classes.chances)
    logs -= np.stack([_column_means(each, classes.begins) for each in logs])
    common = product(classes.shares, logs)
    return np.concatenate([np.log(classes.shares), common, (logs - common).ravel()])


def log_likelihood(classes: LatentClasses, evidence: Evidence, *, engine: Engine | None = None) -> float:
    """The log-likelihood of the evidence under these classes."""
    return _likelihood(evidence, classes.shares, classes.chances, engine or LocalEngine())[0]


def _likelihood(
    evidence: Evidence, shares: Floats, chances: Floats, engine: Engine
) -> tuple[float, Floats, Floats]:
    """The log-likelihood and its gradient with respect to shares (C,) and chances (C, V)."""
    by_value = np.ascontiguousarray(chances.T)
    gains = np.zeros(BLOCKS * len(evidence.kinds))
    of_shares = np.zeros((gains.size, shares.size))
    of_chances = np.zeros((gains.size, *by_value.shape))

    def some(first: int, last: int) -> None:
        for block in range(first, last):
            cells, part = evidence.kinds[block // BLOCKS], block % BLOCKS
            many = cells.keep.size
            gains[block] = climb(
                *(cells.places, cells.keep, cells.other, cells.ones, cells.zeros, shares, by_value),
                *(many * part // BLOCKS, many * (part + 1) // BLOCKS, of_shares[block], of_chances[block]),
            )

    work = shares.size * sum(cells.places.size for cells in evidence.kinds)
    engine.spread("fitting", gains.size, some, operations=float(work))
    return float(gains.sum()), of_shares.sum(axis=0) / shares, (of_chances.sum(axis=0) / by_value).T


def _unpacked(x: Floats, classes: int, values: int) -> tuple[Floats, Floats, Floats]:
    """Shares (C,), common log-odds (V,), and each class's difference from them (C, V)."""
    odds = np.exp(x[:classes] - x[:classes].max())
    shares = np.maximum(odds / odds.sum(), LEAST)
    return shares, x[classes : classes + values], x[classes + values :].reshape(classes, values)


def _softmax(logs: Floats, begins: Ints) -> Floats:
    """Probabilities of values, column by column."""
    peaks = np.maximum.reduceat(logs, begins[:-1], axis=1)
    odds = np.exp(logs - np.repeat(peaks, np.diff(begins), axis=1))
    sums = np.repeat(np.add.reduceat(odds, begins[:-1], axis=1), np.diff(begins), axis=1)
    chances: Floats = np.maximum(odds / sums, LEAST)
    return chances


def _through_softmax(of_chances: Floats, chances: Floats, begins: Ints) -> Floats:
    """The gradient with respect to log-odds from the one with respect to probabilities."""
    means = np.add.reduceat(chances * of_chances, begins[:-1], axis=1)
    slopes: Floats = chances * (of_chances - np.repeat(means, np.diff(begins), axis=1))
    return slopes


def _column_means(logs: Floats, begins: Ints) -> Floats:
    sizes = np.diff(begins)
    means: Floats = np.repeat(np.add.reduceat(logs, begins[:-1]) / sizes, sizes)
    return means
