"""What is asked follows from public numbers: columns of a question, chances, and the label's share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from small_tables import ADULT_SIZES, SIZES, dependent, schema_of

from crowdveil.errors import ParameterError
from crowdveil.local.oracle import MOST_CELLS
from crowdveil.randomness import seeded
from crowdveil.synthesis import planning
from crowdveil.synthesis.latent_classes import LatentClasses
from crowdveil.synthesis.questions import ask

ADULT = schema_of(ADULT_SIZES)


@pytest.mark.parametrize(
    ("epsilon", "columns"),
    [(0.5, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 3), (8, 3), (10, 4)],
)
def test_columns_of_a_question(epsilon: float, columns: int) -> None:
    asked = planning.joints(ADULT, epsilon)
    assert [question.columns for question in asked] == list(combinations(range(9), columns))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0, 8.0])
@pytest.mark.parametrize("label", [None, 1])
@pytest.mark.parametrize("learned", [False, True])
def test_chances_sum_to_one(epsilon: float, label: int | None, learned: bool) -> None:
    schema = schema_of(SIZES)
    questions = planning.singles(schema, epsilon), planning.joints(schema, epsilon)
    model = LatentClasses(SIZES, np.array([0.5, 0.5]), np.random.default_rng(0).dirichlet(np.ones(14), 2))
    found = planning.chances(epsilon, questions, label, model if learned else None)
    assert found.min() > 0
    assert found.sum() == pytest.approx(1.0)
    alone = found[: len(SIZES)].sum()
    assert alone == pytest.approx(0.6 if epsilon <= 2 else 0.6 * 2.0 ** (2.0 - epsilon))


def test_most_questions_hold_the_label() -> None:
    questions = planning.singles(ADULT, 2.0), planning.joints(ADULT, 2.0)
    held = np.array([8 in question.columns for question in questions[1]])
    plain, labelled = (planning.chances(2.0, questions, label)[9:] for label in (None, 8))
    assert labelled[held].sum() / labelled.sum() >= planning.LABELLED
    assert plain[held].sum() / plain.sum() < 0.5
    np.testing.assert_allclose(plain.sum(), labelled.sum())


def test_columns_that_depend_are_asked_more() -> None:
    """Two classes in which columns 0 and 1 go together and the others are independent."""
    chances = np.hstack([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], np.full((2, 4), 0.5)])
    model = LatentClasses((2, 2, 2, 2), np.array([0.5, 0.5]), chances)
    assert planning.dependence(model, (0, 1)) == pytest.approx(0.5)
    assert planning.dependence(model, (1, 2)) == pytest.approx(0.0)
    schema = schema_of((2, 2, 2, 2))
    questions = planning.singles(schema, 0.5), planning.joints(schema, 0.5)
    together = planning.chances(0.5, questions, None, model)[4:]
    holding = np.array([{0, 1} <= set(question.columns) for question in questions[1]])
    assert together[holding].sum() > planning.ADAPTED * together.sum()


def test_variance_of_a_pair_in_a_larger_question() -> None:
    """Merged cells of a question about three columns, against the spread of many small surveys."""
    records = dependent(600, (2, 3, 4))
    for epsilon in (0.5, 4.0):
        question = planning.question_of(records.schema, (0, 1, 2), epsilon)
        found = []
        for seed in range(150):
            (table,) = ask(records, [question], np.zeros(600, dtype=np.int64), rng=seeded(seed))
            assert table is not None
            found.append(table.frequencies().sum(axis=2))
        rare = np.unravel_index(int(records.pair(0, 1).argmin()), (2, 3))
        expected = planning.pair_variance(question.oracle, 6) / 600
        assert np.var(found, axis=0)[rare] == pytest.approx(expected, rel=0.5)


def test_too_many_cells() -> None:
    wide = schema_of((1200, 1200))
    with pytest.raises(ParameterError, match=f"more than {MOST_CELLS:,}"):
        planning.joints(wide, 1.0)


def test_one_column_has_nothing_to_go_with() -> None:
    schema = schema_of((5,))
    assert planning.joints(schema, 1.0) == []
    np.testing.assert_allclose(planning.chances(1.0, (planning.singles(schema, 1.0), ())), [1.0])
