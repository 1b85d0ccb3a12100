"""How far the tables of a collection are from the truth, estimated from its own reports.

A parametric bootstrap: a model is fitted to all reports, new reports to the same questions are drawn from it
under the same oracles, and the design makes tables of these. Their distance from the model is about that of
the collection's tables from the truth, as far as it comes from the oracles' noise, from the sampling of
people and from the design's own shrinkage.

A design shrinks dependence that reports do not show clearly, and the model has none either, so that the
bootstrap cannot tell what was lost. But then raw frequencies are farther from the tables than in the
bootstrap. That excess, shrunk by its own standard error, is added.

No report is drawn: only the counts of each question, whose law is known. It is post-processing and costs no
privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt
from typing import Any

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.kernels.products import product
from crowdveil.local.oracle import PureOracle
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import Randomness, Stream, seeded
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.model_choice import fitted_to
from crowdveil.synthesis.questions import Question, Table, merged

FEW = 2000  # answers to a question: beyond, their counts are drawn from a normal approximation
CAUTION = 2.0  # standard errors of the excess at which half of it counts
PURPOSE = "self assessment"
COVERS = (
    "The estimated mean total variation distance of the tables of single columns from those of all people "
    "like the participants. It covers the noise on devices, the sampling of people, and what the method "
    "missed as far as reports show it, but neither false answers nor differences between those who took part "
    "and others. Tables of pairs and whole rows are farther from the truth; how far is not estimated."
)

Tables = Mapping[tuple[int, ...], Floats]
Model = Callable[[Question], Floats]
"""The expected shares of a question's cells."""
Misfits = Mapping[tuple[int, ...], float]


@dataclass(frozen=True)
class Assessment:
    """Expected total variation distances, as means over tables; None where there are no such tables."""

    columns: float
    pairs: float | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data, with what the number covers; that of pairs is not calibrated, and not told."""
        return {"columns": self.columns, "covers": COVERS}


def assessed(collection: Collection, tables: Tables) -> Assessment:
    """The expected distance of a collection's tables, which its design made of all reports.

    Draws come from the collection's public seed: the same reports always give the same numbers.
    """
    model, known = _model(collection, tables)
    rng = seeded(collection.seed).part(PURPOSE)
    redrawn = _redrawn(collection.halves, model, rng)
    again = collection.design.tables(collection.schema, redrawn)
    expected = []
    for ways in (1, 2):
        seen, by_chance = _misfits(collection.tables, tables, ways), _misfits(merged(redrawn), again, ways)
        missed = _excess(seen, by_chance, tables)
        expected.append(min(1.0, sqrt(_distance(again, known, ways) ** 2 + max(0.0, missed))))
    asked_pairs = any(len(columns) == 2 for columns in tables)
    return Assessment(expected[0], expected[1] if asked_pairs else None)


def _model(collection: Collection, tables: Tables) -> tuple[Model, Tables]:
    """What new reports are drawn from, and its tables of single columns and of pairs.

    Latent classes that explain all reports; where an oracle has no likelihood, the tables themselves.
    """
    if not all(isinstance(question.oracle, PureOracle) for question in collection.questions):
        return lambda question: tables[question.columns], tables
    classes = fitted_to(collection.halves, collection.schema.sizes)
    return lambda question: classes.marginal(question.columns), {
        each: classes.marginal(each) for each in tables
    }


def _distance(tables: Tables, known: Tables, ways: int) -> float:
    """Mean total variation distance of tables of so many columns; one that was not made counts as 1."""
    distances = [
        0.5 * float(np.abs(tables[columns] - shares).sum()) if columns in tables else 1.0
        for columns, shares in known.items()
        if len(columns) == ways
    ]
    return float(np.mean(distances)) if distances else 0.0


# --- new reports --------------------------------------------------------------------------------------------


def _redrawn(halves: Halves, model: Model, rng: Randomness) -> tuple[tuple[Table, ...], tuple[Table, ...]]:
    even, odd = (
        tuple(
            _drawn(table, model, rng.stream(f"{half} {place}", purpose=PURPOSE))
            for place, table in enumerate(tables)
        )
        for half, tables in enumerate(halves)
    )
    return even, odd


def _drawn(table: Table, model: Model, stream: Stream) -> Table:
    """New counts of as many answers to the same question, if the model is true."""
    oracle, asked = table.question.oracle, table.asked
    shares = np.maximum(model(table.question), 0.0)
    shares = shares / shares.sum()
    if isinstance(oracle, SplitKRR):
        for axis, response in enumerate(oracle.responses):
            sums = shares.sum(axis=axis, keepdims=True)
            shares = response.other * sums + (response.keep - response.other) * shares
        return Table(table.question, _counts(shares.ravel(), asked, stream), asked)
    keep, other = table.question.pure.keep, table.question.pure.other
    if table.question.pure.one_cell:
        law = other + (keep - other) * shares.ravel()
        return Table(table.question, _counts(law / law.sum(), asked, stream), asked)
    true = _counts(shares.ravel(), asked, stream)
    deviations = np.sqrt(true * (keep * (1 - keep)) + (asked - true) * (other * (1 - other)))
    drawn = true * keep + (asked - true) * other + deviations * stream.normals(true.size)
    return Table(table.question, np.clip(np.rint(drawn), 0, asked).astype(np.int64), asked)


def _counts(law: Floats, draws: int, stream: Stream) -> Ints:
    """How often each cell is drawn; the sum is exact only for few draws."""
    if draws <= FEW:
        cells = np.searchsorted(np.cumsum(law)[:-1], stream.uniforms(draws), side="right")
        return np.bincount(cells, minlength=law.size).astype(np.int64)
    roots, normals = np.sqrt(law), stream.normals(law.size)
    around = roots * normals - law * float(product(roots, normals))
    return np.clip(np.rint(draws * law + sqrt(draws) * around), 0, draws).astype(np.int64)


# --- dependence that was missed -----------------------------------------------------------------------------


def _misfits(counted: Sequence[Table], tables: Tables, ways: int) -> dict[tuple[int, ...], float]:
    """For each table of so many columns: the squared distance of raw frequencies from it."""
    sums: dict[tuple[int, ...], Floats] = {}
    weights: dict[tuple[int, ...], int] = {}
    for each in counted:
        columns, frequencies = each.question.columns, each.frequencies()
        for places in combinations(range(len(columns)), ways):
            chosen = tuple(columns[place] for place in places)
            others = tuple(place for place in range(len(columns)) if place not in places)
            part = each.asked * frequencies.sum(axis=others)
            sums[chosen] = sums[chosen] + part if chosen in sums else part
            weights[chosen] = weights.get(chosen, 0) + each.asked
    return {
        columns: float(np.square(total / weights[columns] - tables[columns]).sum())
        for columns, total in sums.items()
        if columns in tables
    }


def _excess(seen: Misfits, expected: Misfits, tables: Tables) -> float:
    """The squared distance, as a total variation, by which tables miss reports more than in the bootstrap.

    Raw frequencies of K cells with errors of one variance have a misfit with a relative standard error of
    sqrt(2 / K). What a table misses lies where people are: its errors are taken for normal, with standard
    deviations in proportion to the roots of shares p. A squared distance m is then a squared total variation
    of m (sum of sqrt(p))^2 / (2 pi); the sum is that of the table, and its square K if all shares are equal.
    """
    both = [columns for columns in seen if columns in expected]
    if not both:
        return 0.0
    cells = np.array([tables[columns].size for columns in both], dtype=np.float64)
    by_chance = np.array([expected[columns] for columns in both])
    scale = np.array([np.sqrt(np.maximum(tables[columns], 0.0)).sum() for columns in both]) ** 2 / (2.0 * pi)
    excess = scale * (np.array([seen[columns] for columns in both]) - by_chance)
    errors = scale * by_chance * np.sqrt(2.0 / cells)
    mean, error = float(excess.mean()), CAUTION * sqrt(2.0 * float(np.square(errors).sum())) / len(both)
    return mean * mean**2 / (mean**2 + error**2) if mean else 0.0
