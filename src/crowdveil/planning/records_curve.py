"""The expected distance of a records campaign's single columns from the truth, from its questions' laws.

People answer questions about one or several columns. Summed over the other columns, the answers to a question
are reports about one column, whose variance is known. The precisions of all questions that hold a column add
up, the sampling of people included. Estimates with errors of that variance are drawn for a population with
uneven shares, shrunk as the design does and made proper (no share below 0, sum 1), and their total variation
distance is averaged over columns. Nothing is said about dependence between columns.

Of many columns a few with sizes all over the list stand for all of them.
"""

from __future__ import annotations

from math import exp, inf, sqrt

import numpy as np

from crowdveil.accounting.parameters import check_whole
from crowdveil.arrays import Floats
from crowdveil.local.split_krr import SplitKRR
from crowdveil.randomness import seeded
from crowdveil.records import Schema
from crowdveil.simulation.records import population
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.latent_classes import UNEVEN
from crowdveil.synthesis.marginals import norm_sub
from crowdveil.synthesis.question_plan import one_column_share
from crowdveil.synthesis.questions import Question

MOST_COLUMNS = 10  # that are looked at
CELLS_DRAWN = 2000  # of the estimates of each column, at least
FEWEST_DRAWS = 20
PULL = 1.0 / sqrt(UNEVEN)  # the penalty on log-odds as a standard error of them; of shares it is 1/K of that
ROUNDS = 20
UNEVEN_WEIGHT = 2.0  # SamPrivSyn weighs pairs unevenly, which simulations show to double the variance
DEPENDENCE, CLASSES = 0.5, 4  # of the expected population, as in `planning.records`


def records_errors(schema: Schema, design: Design, people: tuple[int, ...]) -> list[float]:
    """Expected mean total variation distance of single columns, for each of these numbers of people."""
    for number in people:
        check_whole(number, "the number of people")
    some = _some_columns(schema, getattr(design, "label", None))
    questions = design.questions(some)
    chances = _as_for_all(design.chances(some, questions, ((), ())), questions, design, schema)
    model = population(some.sizes, DEPENDENCE, CLASSES)
    errors = np.zeros((len(people), len(some.sizes)))
    for column in range(len(some.sizes)):
        shares = model.marginal((column,))
        precision = sum(
            chance / _variances(question, column, shares)
            for chance, question in zip(chances.tolist(), questions, strict=True)
            if column in question.columns
        )
        asked = sum(
            chance
            for chance, question in zip(chances.tolist(), questions, strict=True)
            if column in question.columns
        )
        pull = PULL / shares.size if isinstance(design, LatentClassSynthesis) else inf
        for place, number in enumerate(people):
            some_people = number * len(some.sizes) / len(schema.sizes)
            error = _distance(shares, 1.0 / (some_people * np.asarray(precision)), pull)
            nobody = exp(-some_people * asked)  # then the column is estimated as uniform
            guess = 0.5 * float(np.abs(shares - 1.0 / shares.size).sum())
            errors[place, column] = (1.0 - nobody) * error + nobody * guess
    return [float(mean) for mean in errors.mean(axis=1)]


def _some_columns(schema: Schema, label: str | None) -> Schema:
    """A few columns with sizes all over the list, and the label if there is one."""
    if len(schema.columns) <= MOST_COLUMNS:
        return schema
    by_size = sorted(schema.columns, key=lambda column: column.size)
    places = np.linspace(0, len(by_size) - 1, MOST_COLUMNS).round().astype(int)
    chosen = [by_size[place] for place in places.tolist()]
    chosen += [column for column in by_size if column.name == label and column not in chosen]
    return Schema(tuple(chosen), schema.declared)


def _as_for_all(chances: Floats, questions: tuple[Question, ...], design: Design, schema: Schema) -> Floats:
    """Chances with the share of questions about one column that all columns of the schema call for."""
    single = np.array([len(question.columns) == 1 for question in questions])
    if not isinstance(design, LatentClassSynthesis) or single.all():
        return chances
    share = one_column_share(design.epsilon, len(schema.sizes))
    of_kind = np.where(single, chances[single].sum(), chances[~single].sum())
    scaled: Floats = chances / of_kind * np.where(single, share, 1.0 - share)
    return scaled


def _variances(question: Question, column: int, shares: Floats) -> Floats:
    """For each value of a column: n times the variance of its share, from n reports about the question."""
    sampled = shares * (1.0 - shares)
    if isinstance(question.oracle, SplitKRR):
        response = question.oracle.responses[question.columns.index(column)]
        return UNEVEN_WEIGHT * response.variance(shares, 1) + sampled
    oracle = question.pure
    merged = question.cells / shares.size
    p, q, signal = oracle.keep, oracle.other, oracle.keep - oracle.other
    if oracle.one_cell:  # the cells that are summed exclude each other
        p, q = p + (merged - 1.0) * q, merged * q
        return (shares * (p * (1.0 - p)) + (1.0 - shares) * (q * (1.0 - q))) / signal**2 + sampled
    return (merged * q * (1.0 - q) + shares * (p * (1.0 - p) - q * (1.0 - q))) / signal**2 + sampled


def _distance(shares: Floats, variances: Floats, pull: float) -> float:
    """Mean total variation distance of proper estimates with errors of these variances.

    Errors sum to 0: independent ones with variances u, given their sum, have variances u (1 - u / sum u).
    Estimates are drawn towards uniform shares as if these were known with a standard error of `pull`.
    """
    own = variances.copy()
    for _ in range(ROUNDS):
        own = variances / np.maximum(1.0 - own / own.sum(), 0.5)
    draws = max(FEWEST_DRAWS, CELLS_DRAWN // shares.size)
    normals = seeded(0).stream(shares.size, purpose="records curve").normals(draws * shares.size)
    errors = normals.reshape(draws, -1) * np.sqrt(own)
    errors -= errors.sum(axis=1, keepdims=True) * (own / own.sum())
    kept = 1.0 if pull == inf else pull**2 / (pull**2 + variances)
    uniform = 1.0 / shares.size
    estimates = [norm_sub(uniform + kept * (shares + each - uniform)) for each in errors]
    return float(np.mean([0.5 * np.abs(each - shares).sum() for each in estimates]))
