"""What is asked follows from public numbers: columns of a question, chances, and the label's share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from small_tables import ADULT_SIZES, SIZES, dependent, schema_of

from crowdveil.errors import ParameterError
from crowdveil.local.record_reports import MOST_CELLS
from crowdveil.randomness import seeded
from crowdveil.synthesis import question_plan
from crowdveil.synthesis.latent_classes import LatentClasses
from crowdveil.synthesis.questions import Table

ADULT = schema_of(ADULT_SIZES)


@pytest.mark.parametrize(
    ("epsilon", "columns"),
    [(0.5, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 3), (8, 3), (10, 4)],
)
def test_columns_of_a_question(epsilon: float, columns: int) -> None:
    """More than two only where randomized response is best; every pair is asked about."""
    asked = question_plan.joints(ADULT, epsilon)
    every = list(combinations(range(9), columns))
    best = [question_plan.question_of(ADULT, each, epsilon).oracle.name for each in every]
    wanted = [each for each, name in zip(every, best, strict=True) if columns == 2 or name == "krr"]
    assert [question.columns for question in asked] == wanted
    assert {pair for each in wanted for pair in combinations(each, 2)} == set(combinations(range(9), 2))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0, 8.0])
@pytest.mark.parametrize("label", [None, 1])
@pytest.mark.parametrize("learned", [False, True])
def test_chances_sum_to_one(epsilon: float, label: int | None, learned: bool) -> None:
    schema = schema_of(SIZES)
    questions = question_plan.singles(schema, epsilon), question_plan.joints(schema, epsilon)
    model = LatentClasses(SIZES, np.array([0.5, 0.5]), np.random.default_rng(0).dirichlet(np.ones(14), 2))
    found = question_plan.chances(epsilon, questions, label, model if learned else None)
    assert found.min() > 0
    assert found.sum() == pytest.approx(1.0)
    alone = found[: len(SIZES)].sum()
    few = question_plan.one_column_share(1.0, len(SIZES))
    assert alone == pytest.approx(few if epsilon <= 2 else few * 2.0 ** (2.0 - epsilon))


def test_more_columns_leave_fewer_people_for_pairs() -> None:
    assert [round(question_plan.one_column_share(1.0, d), 2) for d in (1, 4, 6, 9, 18)] == [
        0.4,
        0.4,
        0.4,
        0.6,
        0.8,
    ]
    assert question_plan.one_column_share(4.0, 9) == pytest.approx(0.15)


def test_most_questions_hold_the_label() -> None:
    questions = question_plan.singles(ADULT, 2.0), question_plan.joints(ADULT, 2.0)
    held = np.array([8 in question.columns for question in questions[1]])
    plain, labelled = (question_plan.chances(2.0, questions, label)[9:] for label in (None, 8))
    assert labelled[held].sum() / labelled.sum() >= question_plan.LABELLED
    assert plain[held].sum() / plain.sum() < 0.5
    np.testing.assert_allclose(plain.sum(), labelled.sum())


def test_columns_that_depend_are_asked_more() -> None:
    """Two classes in which columns 0 and 1 go together and the others are independent."""
    chances = np.hstack([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], np.full((2, 4), 0.5)])
    model = LatentClasses((2, 2, 2, 2), np.array([0.5, 0.5]), chances)
    asked = [
        question_plan.question_of(schema_of((2, 2, 2, 2)), each, 1.0) for each in ((0, 1), (1, 2), (0, 1, 3))
    ]
    np.testing.assert_allclose(question_plan.dependence(model, asked), [0.5, 0.0, 0.5], atol=1e-12)
    schema = schema_of((2, 2, 2, 2))
    questions = question_plan.singles(schema, 0.5), question_plan.joints(schema, 0.5)
    together = question_plan.chances(0.5, questions, None, model)[4:]
    holding = np.array([{0, 1} <= set(question.columns) for question in questions[1]])
    assert together[holding].sum() > question_plan.ADAPTED * together.sum()


def test_variance_of_a_pair_in_a_larger_question() -> None:
    """Merged cells of a question about three columns, against the spread of many small surveys."""
    records = dependent(600, (2, 3, 4))
    for epsilon in (0.5, 4.0):
        question = question_plan.question_of(records.schema, (0, 1, 2), epsilon)
        found = []
        for seed in range(150):
            reports = question.oracle.perturb(question.codes(records.codes), rng=seeded(seed))
            table = Table(question, question.oracle.support(reports), 600)
            found.append(table.frequencies().sum(axis=2))
        rare = np.unravel_index(int(records.pair(0, 1).argmin()), (2, 3))
        expected = question_plan.pair_variance(question.pure, 6) / 600
        assert np.var(found, axis=0)[rare] == pytest.approx(expected, rel=0.5)


def test_too_many_cells() -> None:
    wide = schema_of((1200, 1200))
    with pytest.raises(ParameterError, match=f"more than {MOST_CELLS:,}"):
        question_plan.joints(wide, 1.0)


def test_one_column_has_nothing_to_go_with() -> None:
    schema = schema_of((5,))
    assert question_plan.joints(schema, 1.0) == []
    np.testing.assert_allclose(question_plan.chances(1.0, (question_plan.singles(schema, 1.0), ())), [1.0])
