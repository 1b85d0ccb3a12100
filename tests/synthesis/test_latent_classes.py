"""Latent classes: the likelihood and its slopes, what is found in exact tables, and rows drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from small_tables import SIZES, dependent, pair_distance

from crowdveil.arrays import Codes, Floats
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels.latent_classes import climb
from crowdveil.local.best_oracle import best_oracle
from crowdveil.local.oracle import PureOracle
from crowdveil.local.oue import OUE
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.synthesis import latent_classes
from crowdveil.synthesis.latent_classes import Evidence, LatentClasses, fit
from crowdveil.synthesis.questions import Question, Table

TWO = LatentClasses(
    (2, 3, 2, 3),
    np.array([0.7, 0.3]),
    np.array(
        [
            [0.9, 0.1, 0.6, 0.3, 0.1, 0.8, 0.2, 0.2, 0.5, 0.3],
            [0.2, 0.8, 0.1, 0.2, 0.7, 0.3, 0.7, 0.7, 0.2, 0.1],
        ]
    ),
)


def _exact(model: LatentClasses, columns: tuple[int, ...], asked: int, oracle: PureOracle) -> Table:
    """What so many people tell on average, without any noise."""
    sizes = tuple(model.sizes[column] for column in columns)
    expected = oracle.other + (oracle.keep - oracle.other) * model.marginal(columns).ravel()
    return Table(Question(columns, sizes, oracle), np.round(asked * expected).astype(np.int64), asked)


def _exact_tables(model: LatentClasses, ways: int, asked: int, epsilon: float) -> list[Table]:
    return [
        _exact(model, columns, asked, best_oracle(epsilon, int(np.prod([model.sizes[c] for c in columns]))))
        for columns in combinations(range(len(model.sizes)), ways)
    ]


def test_marginals_are_distributions_and_agree() -> None:
    for ways in (1, 2, 3, 4):
        for columns in combinations(range(4), ways):
            marginal = TWO.marginal(columns)
            assert marginal.sum() == pytest.approx(1.0)
            np.testing.assert_allclose(marginal.sum(axis=-1), TWO.marginal(columns[:-1]) if ways > 1 else 1.0)


def test_two_known_classes_are_found_in_exact_tables() -> None:
    """Three columns at a time tell two classes apart; without noise they come out as they are."""
    found = fit(Evidence.of(_exact_tables(TWO, 3, 10**8, 3.0), TWO.sizes), classes=2)
    order = np.argsort(-found.shares)
    np.testing.assert_allclose(found.shares[order], TWO.shares, atol=0.005)
    np.testing.assert_allclose(found.chances[order], TWO.chances, atol=0.005)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_pairs_of_exact_tables_are_met_with_more_classes_than_needed(epsilon: float) -> None:
    found = fit(Evidence.of(_exact_tables(TWO, 2, 10**7, epsilon), TWO.sizes))
    for pair in combinations(range(4), 2):
        np.testing.assert_allclose(found.marginal(pair), TWO.marginal(pair), atol=0.003)


def test_without_information_columns_are_even() -> None:
    table = _exact(TWO, (0, 1), 2, OUE(0.1, 6))
    found = fit(Evidence.of([table], TWO.sizes))
    np.testing.assert_allclose(found.marginal((2, 3)), np.full((2, 3), 1 / 6), atol=0.02)


def test_slopes_are_those_of_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss with all its penalties, of tables of several kinds, at a point far from the best one."""
    seen: list[tuple[Callable[[Floats], tuple[float, Floats]], Floats]] = []

    def spy(loss: Any, start: Floats, *, steps: int) -> Floats:
        seen.append((loss, start))
        return start

    monkeypatch.setattr(latent_classes, "lowest", spy)
    tables = [
        *_exact_tables(TWO, 1, 200, 1.0),
        *_exact_tables(TWO, 2, 500, 0.5),
        *_exact_tables(TWO, 3, 300, 4.0),
    ]
    fit(Evidence.of(tables, TWO.sizes), classes=3, apart=np.array([1.0, 3.0, 10.0, 0.3]))
    loss, start = seen[0]
    point = start + np.random.default_rng(0).normal(size=start.size) * 0.5
    slopes = loss(point)[1]
    for place in range(start.size):
        step = np.zeros(start.size)
        step[place] = 1e-5
        rise = (loss(point + step)[0] - loss(point - step)[0]) / 2e-5
        assert slopes[place] == pytest.approx(rise, abs=2e-4, rel=1e-5)


def _slow_climb(
    cells: tuple[Codes, Floats, Floats, Floats, Floats], shares: Floats, chances: Floats
) -> tuple[float, Floats, Floats]:
    """Cell by cell, with products over all other columns instead of quotients."""
    places, keep, other, ones, zeros = cells
    total, of_shares, of_chances = 0.0, np.zeros_like(shares), np.zeros_like(chances)
    for cell, row in enumerate(places):
        m = sum(shares[c] * np.prod(chances[row, c]) for c in range(shares.size))
        u = other[cell] + (keep[cell] - other[cell]) * m
        total += ones[cell] * np.log(u) + zeros[cell] * np.log(1 - u)
        slope = (ones[cell] / u - zeros[cell] / (1 - u)) * (keep[cell] - other[cell])
        for c in range(shares.size):
            of_shares[c] += slope * np.prod(chances[row, c])
            for k, place in enumerate(row):
                rest = np.delete(row, k)
                of_chances[place, c] += slope * shares[c] * np.prod(chances[rest, c])
    return total, of_shares, of_chances


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_likelihood_is_its_slow_twin(columns: int) -> None:
    rng = np.random.default_rng(columns)
    many, values, classes = 40, 12, 5
    places = np.stack([rng.integers(k * 4, k * 4 + 4, many) for k in range(columns)], axis=1).astype(np.int32)
    keep, other = rng.uniform(0.4, 0.9, many), rng.uniform(0.01, 0.2, many)
    ones = rng.integers(0, 50, many).astype(float)
    zeros = np.where(rng.random(many) < 0.5, 0.0, rng.integers(0, 50, many))
    shares, chances = rng.dirichlet(np.ones(classes)), rng.uniform(0.05, 0.9, (values, classes))
    of_shares, of_chances = np.zeros(classes), np.zeros((values, classes))
    gain = climb(places, keep, other, ones, zeros, shares, chances, 0, 25, of_shares, of_chances)
    gain += climb(places, keep, other, ones, zeros, shares, chances, 25, many, of_shares, of_chances)
    slow = _slow_climb((places, keep, other, ones, zeros), shares, chances)
    assert gain == pytest.approx(slow[0])
    np.testing.assert_allclose(of_shares / shares, slow[1])
    np.testing.assert_allclose(of_chances / chances, slow[2])


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_rows_keep_expected_numbers(rows: int) -> None:
    """The first column tells the class; in each class every value has the number that is expected."""
    model = LatentClasses(
        (3, 4),
        np.array([0.55, 0.3, 0.15]),
        np.hstack([np.eye(3), np.random.default_rng(2).dirichlet(np.ones(4), 3)]),
    )
    codes = model.sample(rows, rng=seeded(8))
    assert codes.shape == (rows, 2)
    for c, share in enumerate(model.shares):
        members = codes[codes[:, 0] == c]
        assert abs(len(members) - rows * share) < 1 + 1e-9
        counts = np.bincount(members[:, 1], minlength=4)
        assert np.abs(counts - len(members) * model.of_column(1)[c]).max() < 1 + 1e-9


def test_rows_have_the_models_pairs() -> None:
    real = dependent(100, TWO.sizes)
    made = Records(real.schema, TWO.sample(50_000, rng=seeded(1)))
    assert pair_distance(made, {pair: TWO.marginal(pair) for pair in combinations(range(4), 2)}) < 0.01


def test_threads_do_not_matter() -> None:
    tables = _exact_tables(TWO, 2, 3000, 2.0)
    one, three = (fit(Evidence.of(tables, TWO.sizes), engine=LocalEngine(threads)) for threads in (1, 3))
    np.testing.assert_array_equal(one.chances, three.chances)
    np.testing.assert_array_equal(one.shares, three.shares)


def test_no_classes() -> None:
    with pytest.raises(ParameterError, match="class"):
        fit(Evidence.of(_exact_tables(TWO, 2, 100, 1.0), SIZES), classes=0)
