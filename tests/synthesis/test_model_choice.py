"""Penalties of columns: what is noise in one half of the reports does not help to explain the other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from crowdveil.arrays import Floats
from crowdveil.local.best_oracle import best_oracle
from crowdveil.randomness import seeded
from crowdveil.synthesis.design import Halves
from crowdveil.synthesis.latent_classes import Evidence, LatentClasses, fit, log_likelihood
from crowdveil.synthesis.model_choice import INDEPENDENT, PENALTIES, chosen_penalties, fitted_to
from crowdveil.synthesis.questions import Question, Table

SIZES = (3, 4, 3, 4, 3, 4)
EPSILON = 2.0


def _model(strength: float) -> LatentClasses:
    """Two classes that differ in the first three columns only."""
    rows = []
    for c in range(2):
        for column, size in enumerate(SIZES):
            even = np.full(size, 1 / size)
            typical = np.eye(size)[c * (size - 1)]
            rows.append((1 - strength) * even + strength * typical if column < 3 else even)
    return LatentClasses(SIZES, np.array([0.5, 0.5]), np.concatenate(rows).reshape(2, -1))


def _half(model: LatentClasses, people: int, seed: int) -> list[Table]:
    """Reports of so many people about each pair."""
    tables = []
    for place, pair in enumerate(combinations(range(len(SIZES)), 2)):
        sizes = tuple(SIZES[column] for column in pair)
        question = Question(pair, sizes, best_oracle(EPSILON, sizes[0] * sizes[1]))
        rng = seeded(seed).part(f"pair {place}")
        codes = question.codes(model.sample(people, rng=rng))
        tables.append(
            Table(question, question.oracle.support(question.oracle.perturb(codes, rng=rng)), people)
        )
    return tables


def _halves(strength: float, people: int) -> Halves:
    return (_half(_model(strength), people, 1), _half(_model(strength), people, 2))


def _distance(found: LatentClasses, model: LatentClasses) -> Floats:
    """Of the table of each pair."""
    pairs = combinations(range(len(SIZES)), 2)
    return np.array([0.5 * np.abs(found.marginal(pair) - model.marginal(pair)).sum() for pair in pairs])


def test_columns_that_depend_are_told_from_those_that_do_not() -> None:
    found = chosen_penalties(_halves(0.9, 3000), SIZES)
    assert (found[:3] < INDEPENDENT).all()
    assert (found[3:] == INDEPENDENT).sum() >= 2
    assert set(found.tolist()) <= {*PENALTIES, INDEPENDENT}


def test_the_order_of_halves_does_not_matter() -> None:
    halves = _halves(0.9, 500)
    np.testing.assert_array_equal(
        chosen_penalties(halves, SIZES), chosen_penalties((halves[1], halves[0]), SIZES)
    )


def test_noise_is_not_believed() -> None:
    """Where nothing depends on anything, what is fitted is nearer to the truth than with one penalty."""
    halves, model = _halves(0.0, 1500), _model(0.0)
    found = fitted_to(halves, SIZES)
    overfitted = fit(Evidence.of([*halves[0], *halves[1]], SIZES))
    assert _distance(found, model).mean() < 0.6 * _distance(overfitted, model).mean()


def test_what_depends_is_believed() -> None:
    halves, model = _halves(0.9, 3000), _model(0.9)
    independent = fit(Evidence.of([*halves[0], *halves[1]], SIZES), apart=1e3)
    assert _distance(fitted_to(halves, SIZES), model)[0] < 0.3 * _distance(independent, model)[0]


def test_with_one_half_nothing_is_believed() -> None:
    half, _ = _halves(0.9, 3000)
    np.testing.assert_array_equal(chosen_penalties((half, ()), SIZES), INDEPENDENT)
    np.testing.assert_array_equal(chosen_penalties(((), half), SIZES), INDEPENDENT)


def test_more_is_believed_where_less_is_asked() -> None:
    """With the highest threshold nothing is; with none, all that has any worth."""
    halves = _halves(0.9, 300)
    none, some, most = (
        (chosen_penalties(halves, SIZES, least_worth=worth) < INDEPENDENT).sum() for worth in (1e9, 1.0, 0.0)
    )
    assert none == 0
    assert some <= most
    assert most > 0


def test_without_a_column_shares_of_values_stay_and_tables_that_lack_it_too() -> None:
    model = _model(0.8)
    without = model.without(1)
    for column in range(len(SIZES)):
        np.testing.assert_allclose(without.marginal((column,)), model.marginal((column,)))
    np.testing.assert_allclose(without.marginal((0, 2)), model.marginal((0, 2)))
    apart = np.outer(model.marginal((0,)), model.marginal((1,)))
    np.testing.assert_allclose(without.marginal((0, 1)), apart)
    assert np.abs(model.marginal((0, 1)) - apart).max() > 0.05


def test_a_fit_goes_on_from_where_another_ended() -> None:
    told = Evidence.of(_half(_model(0.9), 2000, 1), SIZES)
    begun = fit(told, steps=60)
    more = fit(told, steps=1, start=begun)
    assert log_likelihood(more, told) == pytest.approx(log_likelihood(begun, told), rel=1e-5)
    np.testing.assert_allclose(more.marginal((0, 1)), begun.marginal((0, 1)), atol=0.01)
