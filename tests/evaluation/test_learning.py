"""Models: their scores, what they can learn, and what they say of synthetic records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crowdveil.errors import InputError, ParameterError
from crowdveil.evaluation.learning import learned, split
from crowdveil.evaluation.models import MODELS, chances
from crowdveil.evaluation.scores import auc, score
from crowdveil.experiments import records_data
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


def test_several_labels_are_learned() -> None:
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


@pytest.mark.parametrize("model", MODELS)
def test_models_repeat_themselves(model: str, xor: Records) -> None:
    first, again = (chances(model, xor, xor, 3) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("model", MODELS)
def test_codes_that_are_not_ordered_are_not_taken_for_numbers(model: str) -> None:
    """The label is whether the code is even: taken as a number, it would take a split at every code."""
    codes = np.tile(np.arange(200), 20)
    records = Records(_schema(200, 2), np.column_stack([codes, codes % 2]))
    found = chances(model, records, records.take(np.arange(200)), 1)
    assert found[np.arange(200), np.arange(200) % 2].min() > 0.8
    assert found.sum(axis=1) == pytest.approx(np.ones(200))


@pytest.mark.parametrize("model", MODELS)
def test_columns_of_many_values_and_labels_that_nobody_has(model: str) -> None:
    codes = np.arange(1200) % 300
    records = Records(_schema(300, 3), np.column_stack([codes, 2 * (codes >= 150)]))
    found = chances(model, records, records, 1)
    assert np.mean(found.argmax(axis=1) == records.column(1)) > 0.95
    assert not found[:, 1].any()


def test_what_models_reach_on_adult(datasets: Path) -> None:
    """Recorded on this split: an AUC of .8733 for a logistic regression, .8739 for histogram boosting."""
    train, test = split(records_data.adult(datasets), rng=seeded(0))
    found = learned(train, test, train.take(np.arange(5000)), records_data.ADULT_LABEL)
    assert found.real["logistic regression"].auc == pytest.approx(0.8733, abs=0.003)
    assert found.real["boosting"].auc == pytest.approx(0.8739, abs=0.005)
    assert found.real["logistic regression"].accuracy > found.majority.accuracy + 0.05
