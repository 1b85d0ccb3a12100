"""Which questions to ask, and how often: from public numbers alone, and later also from earlier reports.

A question about more columns covers more pairs at once, but each less precisely, as it has more cells. The
best number of columns follows from epsilon and the sizes of the columns: for each number, the precision of
one report about a pair is summed over all questions that hold the pair. Questions of more than two columns
are used only where randomized response is the best oracle, so that a report supports one cell.

Some people are asked about one column: at a small epsilon, questions about pairs alone would not even give
the shares of single values.

Notation: K cells of a question, k of a pair in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, prod, sqrt

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.local.best_oracle import best_oracle
from crowdveil.local.oracle import PureOracle
from crowdveil.local.record_reports import MOST_CELLS
from crowdveil.records import Schema
from crowdveil.synthesis.latent_classes import LatentClasses
from crowdveil.synthesis.questions import Question

MOST_COLUMNS = 5  # of a question
MOST_QUESTIONS = 20_000
MOST_CELLS_IN_ALL = 2_000_000  # of all questions of more than two columns, as they are kept in memory
TOGETHER = 3.6  # this over d is the share of people asked about several columns, up to epsilon 2
MOST_TOGETHER = 0.6
LABELLED = 0.75  # of questions about more columns hold the label, if all columns have as many values
SMALL_FIRST = 0.5  # questions are asked in proportion to 1 / cells^this
ADAPTED = 0.5  # of the people asked about several columns in later rounds follow the learned dependence
NO_DEPENDENCE = 0.003  # total variation of learned tables from independent ones
MOSTLY = 0.95  # the share of people who are then asked about one column


def question_of(schema: Schema, columns: Sequence[int], epsilon: float) -> Question:
    """A question about these columns, with the best oracle for its cells."""
    sizes = tuple(schema.sizes[column] for column in columns)
    if prod(sizes) > MOST_CELLS:
        names = " and ".join(schema.names[column] for column in columns)
        raise ParameterError(
            f"{names} have {prod(sizes):,} cells together, more than {MOST_CELLS:,}: use coarser bins"
        )
    return Question(tuple(columns), sizes, best_oracle(epsilon, prod(sizes)))


def check_pairs(schema: Schema) -> None:
    """Refuse a schema with a pair of columns whose table would be too large."""
    if prod(sorted(schema.sizes)[-2:]) > MOST_CELLS:
        raise ParameterError(f"a pair of columns has more than {MOST_CELLS:,} cells: use coarser bins")


def promise(questions: Sequence[Question]) -> Guarantee:
    """The promise to whoever answers one of these questions, once: the largest epsilon among them."""
    oracles = {question.oracle for question in questions}
    return max((oracle.promise() for oracle in oracles), key=lambda promise: promise.epsilon)


def singles(schema: Schema, epsilon: float) -> list[Question]:
    """A question about each column."""
    return [question_of(schema, (column,), epsilon) for column in range(len(schema.columns))]


def joints(schema: Schema, epsilon: float) -> list[Question]:
    """Questions about sets of columns, of the size that gives the most precise pairs."""
    candidates = [_all(schema, columns, epsilon) for columns in _numbers(schema)]
    if not candidates:
        return []
    return min((asked for asked in candidates if asked), key=lambda asked: _expected_error(schema, asked))


def _numbers(schema: Schema) -> Iterator[int]:
    """The numbers of columns that a question may have."""
    d = len(schema.columns)
    for columns in range(2, min(d, MOST_COLUMNS) + 1):
        largest = prod(sorted(schema.sizes)[-columns:])
        if columns > 2 and (comb(d, columns) > MOST_QUESTIONS or largest > MOST_CELLS):
            return
        yield columns


def _all(schema: Schema, columns: int, epsilon: float) -> list[Question]:
    """All questions about this many columns that may be asked; none if they leave out a pair."""
    every = [question_of(schema, each, epsilon) for each in combinations(range(len(schema.columns)), columns)]
    if columns == 2:
        return every
    asked = [question for question in every if question.pure.one_cell]
    pairs = {pair for question in asked for pair in combinations(question.columns, 2)}
    complete = len(pairs) == comb(len(schema.columns), 2)
    return asked if complete and sum(each.cells for each in asked) <= MOST_CELLS_IN_ALL else []


def _expected_error(schema: Schema, questions: Sequence[Question]) -> float:
    """The expected error of a pair's table, averaged over pairs, if questions are asked equally often."""
    precisions: dict[tuple[int, int], float] = {}
    for question in questions:
        for pair in combinations(range(len(question.columns)), 2):
            first, second = (question.columns[place] for place in pair)
            cells = question.sizes[pair[0]] * question.sizes[pair[1]]
            precision = 1.0 / (pair_variance(question.pure, cells) + 1.0 / cells)
            precisions[first, second] = precisions.get((first, second), 0.0) + precision / len(questions)
    sizes = schema.sizes
    return float(np.mean([sizes[a] * sizes[b] / sqrt(precision) for (a, b), precision in precisions.items()]))


def pair_variance(oracle: PureOracle, cells: int) -> float:
    """n times the variance of a rare cell of a pair with this many cells, from reports about more columns."""
    merged, p, q = oracle.cells / cells, oracle.keep, oracle.other
    if oracle.one_cell:  # the cells that are summed exclude each other
        return merged * q * (1.0 - merged * q) / (p - q) ** 2
    return merged * q * (1.0 - q) / (p - q) ** 2


def chances(
    epsilon: float,
    questions: tuple[Sequence[Question], Sequence[Question]],
    label: int | None = None,
    learned: LatentClasses | None = None,
) -> Floats:
    """The probability of each question, those about one column first.

    With a model `learned` in earlier rounds, half of those who are asked about several columns are asked
    about columns that depend on each other, the others as before. If the model shows no dependence, nearly
    all people are asked about one column.
    """
    single, joint = questions
    if not joint:
        return _normal(np.array([one_column_weight(each) for each in single]))
    share = one_column_share(epsilon, len(single))
    depend = None if learned is None else dependence(learned, joint)
    if depend is not None and depend.mean() < NO_DEPENDENCE:
        share = MOSTLY
    of_single = share * _normal(np.array([one_column_weight(each) for each in single]))
    of_joint = _normal(np.array([each.cells**-SMALL_FIRST for each in joint]))
    if depend is not None:
        of_joint = (1.0 - ADAPTED) * of_joint + ADAPTED * _normal(depend)
    if label is not None:
        holds = np.array([label in each.columns for each in joint])
        weights = np.where(holds, LABELLED / holds.sum(), (1.0 - LABELLED) / max(1, (~holds).sum()))
        of_joint = _normal(of_joint * weights)
    return np.concatenate([of_single, (1.0 - share) * of_joint])


def one_column_share(epsilon: float, columns: int) -> float:
    """The share of people who are asked about one column: halved for every unit of epsilon beyond 2.

    It grows with the number of columns: the more pairs there are, the fewer people are asked about each, and
    the less precise they are.
    """
    few = 1.0 - min(MOST_TOGETHER, TOGETHER / columns)
    return float(min(few, few * 2.0 ** (2.0 - epsilon)))


def one_column_weight(question: Question) -> float:
    """In proportion to the people that make the sum of cells * sqrt(variance / people) least."""
    p, q = question.pure.keep, question.pure.other
    return float((question.cells**2 * q * (1.0 - q) / (p - q) ** 2) ** (1.0 / 3.0))


def dependence(learned: LatentClasses, questions: Sequence[Question]) -> Floats:
    """For each question: the total variation between its learned pairs and independent ones, summed.

    The fit shrinks classes towards each other where reports hold little information, so noise does not count
    as dependence, as it would in the tables of single pairs.
    """
    pairs = {pair: _distance(learned.marginal(pair)) for pair in combinations(range(len(learned.sizes)), 2)}
    return np.array([sum(pairs[pair] for pair in combinations(each.columns, 2)) for each in questions])


def _distance(pair: Floats) -> float:
    return 0.5 * float(np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).sum())


def _normal(weights: Floats) -> Floats:
    total = float(weights.sum())
    normed: Floats = weights / total if total > 0 else np.full(weights.size, 1.0 / weights.size)
    return normed
