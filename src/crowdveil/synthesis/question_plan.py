"""What to ask for a synthetic table: from public numbers alone, and later from what reports already told.

A question about more columns tells about more pairs of them at once, but each less well, as it has more
cells. How many columns a question should have follows from epsilon and the sizes of columns: for each number
of columns, what one report tells about each pair is added up over all questions that hold the pair. More than
two are asked about only where randomized response is the best oracle, so that a report supports one cell.

Some people are asked about one column: at a small epsilon pairs alone would not even tell the shares of
single values.

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
MOST_CELLS_IN_ALL = 2_000_000  # of all questions of more than two columns: they are kept, and counted
TOGETHER = 3.6  # columns, so to say, of all: that share of people is asked about more columns up to epsilon 2
MOST_TOGETHER = 0.6
LABELLED = 0.75  # of questions about more columns hold the label, if all columns have as many values
SMALL_FIRST = 0.5  # questions are asked in proportion to 1 / cells^this
ADAPTED = 0.5  # of those who are asked about more columns in later rounds: follow what was learned
NO_DEPENDENCE = 0.003  # total variation of learned tables from independent ones
MOSTLY = 0.95  # of people are asked about one column then


def question_of(schema: Schema, columns: Sequence[int], epsilon: float) -> Question:
    """A question about these columns, with the oracle of the least variance."""
    sizes = tuple(schema.sizes[column] for column in columns)
    if prod(sizes) > MOST_CELLS:
        names = " and ".join(schema.names[column] for column in columns)
        raise ParameterError(
            f"{names} have {prod(sizes):,} cells together, more than {MOST_CELLS:,}: use coarser bins"
        )
    return Question(tuple(columns), sizes, best_oracle(epsilon, prod(sizes)))


def check_pairs(schema: Schema) -> None:
    """Refuse a table of a pair that would be too large."""
    if prod(sorted(schema.sizes)[-2:]) > MOST_CELLS:
        raise ParameterError(f"a pair of columns has more than {MOST_CELLS:,} cells: use coarser bins")


def promise(questions: Sequence[Question]) -> Guarantee:
    """What is promised to whoever answers one of these questions, once: the largest epsilon among them."""
    return max((question.oracle.promise() for question in questions), key=lambda promise: promise.epsilon)


def singles(schema: Schema, epsilon: float) -> list[Question]:
    """A question about each column."""
    return [question_of(schema, (column,), epsilon) for column in range(len(schema.columns))]


def joints(schema: Schema, epsilon: float) -> list[Question]:
    """A question about every few columns: as many of them as tell most about pairs."""
    tried = [_all(schema, columns, epsilon) for columns in _numbers(schema)]
    if not tried:
        return []
    return min((asked for asked in tried if asked), key=lambda asked: _expected_error(schema, asked))


def _numbers(schema: Schema) -> Iterator[int]:
    """How many columns a question may have."""
    d = len(schema.columns)
    for columns in range(2, min(d, MOST_COLUMNS) + 1):
        largest = prod(sorted(schema.sizes)[-columns:])
        if columns > 2 and (comb(d, columns) > MOST_QUESTIONS or largest > MOST_CELLS):
            return
        yield columns


def _all(schema: Schema, columns: int, epsilon: float) -> list[Question]:
    """All questions about so many columns that may be asked; none, if they leave out a pair."""
    every = [question_of(schema, each, epsilon) for each in combinations(range(len(schema.columns)), columns)]
    if columns == 2:
        return every
    asked = [question for question in every if question.pure.one_cell]
    pairs = {pair for question in asked for pair in combinations(question.columns, 2)}
    whole = len(pairs) == comb(len(schema.columns), 2)
    return asked if whole and sum(each.cells for each in asked) <= MOST_CELLS_IN_ALL else []


def _expected_error(schema: Schema, questions: Sequence[Question]) -> float:
    """About how far tables of pairs will be off if all questions are asked alike: the mean over pairs."""
    told: dict[tuple[int, int], float] = {}
    for question in questions:
        for pair in combinations(range(len(question.columns)), 2):
            first, second = (question.columns[place] for place in pair)
            cells = question.sizes[pair[0]] * question.sizes[pair[1]]
            precision = 1.0 / (pair_variance(question.pure, cells) + 1.0 / cells)
            told[first, second] = told.get((first, second), 0.0) + precision / len(questions)
    sizes = schema.sizes
    return float(np.mean([sizes[a] * sizes[b] / sqrt(precision) for (a, b), precision in told.items()]))


def pair_variance(oracle: PureOracle, cells: int) -> float:
    """Of the share of a rare cell of a pair with so many, times the number of reports about more columns."""
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
    """How likely each question is asked, those about one column first.

    With something `learned` in earlier rounds, half of those who are asked about more than one column are
    asked about columns that depend on each other, the others as before. If it shows no dependence, nearly
    all people are asked about one column.
    """
    single, joint = questions
    if not joint:
        return _normal(np.array([one_column_weight(each) for each in single]))
    share = one_column_share(epsilon, len(single))
    depend = None if learned is None else dependence(learned, joint)
    if depend is not None and depend.mean() < NO_DEPENDENCE:
        share = MOSTLY
    alone = share * _normal(np.array([one_column_weight(each) for each in single]))
    together = _normal(np.array([each.cells**-SMALL_FIRST for each in joint]))
    if depend is not None:
        together = (1.0 - ADAPTED) * together + ADAPTED * _normal(depend)
    if label is not None:
        holds = np.array([label in each.columns for each in joint])
        weights = np.where(holds, LABELLED / holds.sum(), (1.0 - LABELLED) / max(1, (~holds).sum()))
        together = _normal(together * weights)
    return np.concatenate([alone, (1.0 - share) * together])


def one_column_share(epsilon: float, columns: int) -> float:
    """Of people who are asked about one column: halved for every unit of epsilon beyond 2.

    The more columns there are, the more pairs of them share those who are asked about pairs, and the less
    they can tell about each.
    """
    few = 1.0 - min(MOST_TOGETHER, TOGETHER / columns)
    return float(min(few, few * 2.0 ** (2.0 - epsilon)))


def one_column_weight(question: Question) -> float:
    """People needed: the error of a column is cells * sqrt(variance / people), and the sum is to be least."""
    p, q = question.pure.keep, question.pure.other
    return float((question.cells**2 * q * (1.0 - q) / (p - q) ** 2) ** (1.0 / 3.0))


def dependence(learned: LatentClasses, questions: Sequence[Question]) -> Floats:
    """How far the learned pairs of each question are from independent ones: total variation, added up.

    The classes are held near to each other where reports tell little, so that noise does not count as
    dependence, as it would in tables of single pairs.
    """
    pairs = {pair: _distance(learned.marginal(pair)) for pair in combinations(range(len(learned.sizes)), 2)}
    return np.array([sum(pairs[pair] for pair in combinations(each.columns, 2)) for each in questions])


def _distance(pair: Floats) -> float:
    return 0.5 * float(np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).sum())


def _normal(weights: Floats) -> Floats:
    whole = float(weights.sum())
    normed: Floats = weights / whole if whole > 0 else np.full(weights.size, 1.0 / weights.size)
    return normed
