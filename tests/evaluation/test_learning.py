"""Models: their scores, what they can learn, and what they say of synthetic records."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import expit

from crowdveil.errors import InputError, ParameterError
from crowdveil.evaluation import boosting, logistic
from crowdveil.evaluation.boosting import Boosting
from crowdveil.evaluation.learning import learned, split
from crowdveil.evaluation.scores import auc, score
from crowdveil.experiments import records_data
from crowdveil.kernels import boosting as loops
from crowdveil.randomness import seeded
from crowdveil.records import Column, Records, Schema


def _schema(*sizes: int) -> Schema:
    return Schema(
        tuple(
            Column(f"c{place}", tuple(f"v{value}" for value in range(size)))
            for place, size in enumerate(sizes)
        )
    )


def _slow_auc(labels: list[bool], scores: list[float]) -> float:
    true = [score for label, score in zip(labels, scores, strict=True) if label]
    false = [score for label, score in zip(labels, scores, strict=True) if not label]
    return sum((a > b) + 0.5 * (a == b) for a in true for b in false) / (len(true) * len(false))


def test_auc_equals_a_slow_twin() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels = rng.random(40) < 0.3
        scores = rng.integers(0, 6, 40) + 2.0 * labels
        labels[:2] = [True, False]
        assert auc(labels, scores) == pytest.approx(_slow_auc(labels.tolist(), scores.tolist()))
    assert auc(np.array([True, True]), np.array([1.0, 2.0])) is None


def test_scores_of_several_labels() -> None:
    scores = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 2.0, 1.0], [5.0, 1.0, 0.0]])
    found = score(np.array([0, 1, 0, 0], dtype=np.int32), scores)
    assert found.accuracy == 0.75
    # Label 0: 3, 0, 5 against 0; label 1: 2 against 1, 2, 1; nobody has label 2.
    assert found.auc == pytest.approx((2.5 / 3 + 2.5 / 3) / 2)


def test_a_logistic_regression_is_at_its_minimum() -> None:
    rng = np.random.default_rng(1)
    schema = _schema(3, 4)
    codes = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 4, 200)]).astype(np.int32)
    labels = rng.random(200) < expit(codes[:, 0] - codes[:, 1] / 2.0)
    one_hot = np.hstack([np.eye(3)[codes[:, 0]], np.eye(4)[codes[:, 1]]])

    def loss(weights: np.ndarray) -> float:
        scores = weights[0] + one_hot @ weights[1:]
        signed = np.where(labels, 1, -1) * scores
        return float(np.log1p(np.exp(-signed)).sum() + 0.5 * 0.7 * (weights[1:] ** 2).sum())

    def slope(weights: np.ndarray) -> np.ndarray:
        left = expit(weights[0] + one_hot @ weights[1:]) - labels
        return np.append(left.sum(), one_hot.T @ left + 0.7 * weights[1:])

    assert check_grad(loss, slope, np.ones(8)) < 1e-4
    slow = minimize(loss, np.zeros(8), jac=slope, method="BFGS", options={"gtol": 1e-8})
    line = logistic.fit(codes, schema, labels, penalty=0.7)
    assert [line.constant, *line.weights] == pytest.approx(slow.x, abs=2e-3)
    assert line.scores(codes) == pytest.approx(slow.x[0] + one_hot @ slow.x[1:], abs=2e-3)
    with pytest.raises(ParameterError):
        logistic.fit(codes, schema, labels, penalty=0.0)


def _best_gain(codes: np.ndarray, g: np.ndarray, h: np.ndarray, size: int, least: int, pull: float) -> float:
    """The best of all splits of one column's codes into two sets."""
    best = -np.inf
    for many in range(1, size):
        for chosen in combinations(range(size), many):
            left = np.isin(codes, chosen)
            if least <= left.sum() <= codes.size - least:
                parts = [g[side].sum() ** 2 / (h[side].sum() + pull) for side in (left, ~left)]
                best = max(best, sum(parts))
    return best


def test_a_split_is_the_best_of_all_sets() -> None:
    rng = np.random.default_rng(1)
    sizes, pull = np.array([5, 4]), 1e-9
    for _ in range(20):
        codes = np.column_stack([rng.integers(0, size, 60) for size in sizes]).astype(np.int32)
        g, h = rng.normal(size=60), rng.uniform(0.1, 0.25, 60)
        columns, left = np.empty(1, dtype=np.int32), np.zeros((1, 5), dtype=np.bool_)
        leaves, place = np.empty(2), np.empty(60, dtype=np.int32)
        loops.grow(codes, sizes, np.zeros(2, dtype=np.bool_), g, h, 1, pull, columns, left, leaves, place)
        goes_left = left[0][codes[:, columns[0]]]
        assert np.array_equal(place == 0, goes_left)
        parts = [(g[side].sum(), h[side].sum()) for side in (goes_left, ~goes_left)]
        assert leaves == pytest.approx([-a / (b + pull) for a, b in parts])
        slow = max(_best_gain(codes[:, j], g, h, int(sizes[j]), 1, pull) for j in (0, 1))
        assert sum(a * a / (b + pull) for a, b in parts) == pytest.approx(slow)


def test_ordered_codes_are_split_in_order_and_small_nodes_not_at_all() -> None:
    codes = np.repeat(np.arange(3), 10)[:, None].astype(np.int32)
    g = np.repeat([-1.0, 1.0, -1.0], 10)
    made = np.empty(1, dtype=np.int32), np.zeros((1, 3), dtype=np.bool_), np.empty(2), np.empty(30, np.int32)
    fixed = codes, np.array([3])
    loops.grow(*fixed, np.array([False]), g, np.ones(30), 1, 1.0, *made)
    assert made[1].tolist() == [[True, False, True]]
    loops.grow(*fixed, np.array([True]), g, np.ones(30), 1, 1.0, *made)
    assert made[1].tolist()[0] in ([True, False, False], [True, True, False])
    loops.grow(*fixed, np.array([True]), g, np.ones(30), 16, 1.0, *made)
    assert made[0][0] == -1
    assert made[2] == pytest.approx([10 / 31, 0.0])


@pytest.fixture(scope="module")
def xor() -> Records:
    """The label is whether two columns differ, but for a tenth of the rows; a third column says nothing."""
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(0, 2, (3, 4000))
    label = (a != b) ^ (rng.random(4000) < 0.1)
    return Records(_schema(2, 2, 2, 2), np.column_stack([a, b, c, label]))


def test_boosting_finds_what_columns_tell_only_together(xor: Records) -> None:
    train, test = split(xor, rng=seeded(1))
    found = learned(train, test, train, "c3")
    assert found.real == found.synthetic
    assert (found.real["logistic regression"].auc or 0) < 0.6
    assert (found.real["boosting"].auc or 0) > 0.85
    assert found.real["boosting"].accuracy > 0.85
    assert found.majority.auc == 0.5
    assert 0.5 <= found.majority.accuracy < 0.6


def test_several_labels_are_learned_one_against_the_rest() -> None:
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 3000)
    seen = np.where(rng.random(3000) < 0.7, label, rng.integers(0, 3, 3000))
    records = Records(_schema(3, 4, 3), np.column_stack([seen, rng.integers(0, 4, 3000), label]))
    shuffled = Records(records.schema, np.column_stack([*records.codes.T[:2], rng.permutation(label)]))
    train, test = split(records, rng=seeded(1))
    found = learned(train, test, shuffled, "c2")
    for model in found.real:
        assert found.real[model].accuracy == pytest.approx(0.8, abs=0.05)
        assert (found.real[model].auc or 0) > 0.8
        assert found.synthetic[model].accuracy < 0.6


def test_synthetic_rows_of_one_label_only_still_give_a_score(xor: Records) -> None:
    train, test = split(xor, rng=seeded(1))
    found = learned(train, test, train.take(train.column("c3") == 1), "c3")
    for model in found.synthetic.values():
        assert model.accuracy < 0.6


def test_a_split_takes_every_row_once(xor: Records) -> None:
    numbered = Records(_schema(100, 2), np.column_stack([np.arange(100), np.arange(100) % 2]))
    train, test = split(numbered, rng=seeded(1), held_out=0.3)
    assert (len(train), len(test)) == (70, 30)
    assert sorted([*train.column(0), *test.column(0)]) == list(range(100))
    assert np.array_equal(split(numbered, rng=seeded(1), held_out=0.3)[1].codes, test.codes)
    assert not np.array_equal(split(numbered, rng=seeded(2), held_out=0.3)[1].codes, test.codes)
    with pytest.raises(ParameterError):
        split(numbered, rng=seeded(1), held_out=1.0)
    with pytest.raises(InputError):
        split(numbered.take(np.array([0])), rng=seeded(1))


def test_what_cannot_be_learned_is_refused(xor: Records) -> None:
    with pytest.raises(ParameterError, match="no column"):
        learned(xor, xor, xor, "c9")
    with pytest.raises(ParameterError, match="beside the label"):
        one = xor.select(["c3"])
        learned(one, one, one, "c3")
    many = Records(_schema(30, 2), np.zeros((5, 2), dtype=np.int32))
    with pytest.raises(ParameterError, match="at most 20"):
        learned(many, many, many, "c0")
    for wrong in ({"trees": 0}, {"depth": 0}, {"depth": 13}, {"rate": 0.0}, {"pull": 0.0}, {"least_rows": 0}):
        with pytest.raises(ParameterError):
            Boosting(**wrong)


def test_boosting_draws_nothing_and_repeats_itself(xor: Records) -> None:
    told, labels = xor.select([0, 1, 2]), xor.column("c3") == 1
    first, again = (boosting.fit(told.codes, told.schema, labels).scores(told.codes) for _ in range(2))
    assert np.array_equal(first, again)


def test_models_reach_on_adult_what_scikit_learn_reaches(datasets: Path) -> None:
    """Its logistic regression has an AUC of .8733 on this split, its histogram boosting .8739."""
    train, test = split(records_data.adult(datasets), rng=seeded(0))
    found = learned(train, test, train.take(np.arange(5000)), records_data.ADULT_LABEL)
    assert found.real["logistic regression"].auc == pytest.approx(0.8733, abs=0.003)
    assert found.real["boosting"].auc == pytest.approx(0.8739, abs=0.005)
    assert found.real["logistic regression"].accuracy > found.majority.accuracy + 0.05
