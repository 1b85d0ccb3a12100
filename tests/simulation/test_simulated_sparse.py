"""The simulated sparse answers follow the law that is told, and are repeatable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from crowdveil.answers import Answers, Domain
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.randomness import seeded
from crowdveil.simulation import sparse as sparse_simulation
from crowdveil.simulation.sparse import SimulatedAnswers


def dense(answers: Answers) -> Floats:
    """(users, objects) of answers, NaN where there is none."""
    table = np.full((len(answers.users), len(answers.objects)), np.nan)
    owners = np.repeat(np.arange(len(answers.users)), np.diff(answers.offsets))
    table[owners, answers.object_codes] = answers.domain.values()[answers.codes]
    return table


def test_answers_are_errors_around_truths_rounded_and_clipped() -> None:
    simulation = SimulatedAnswers(4000, 5, 0.5, "wide", Domain(-2, 6))
    table = dense(simulation.answers(rng=seeded(1)))
    truths, sigmas = simulation.truth_values(rng=seeded(1)), simulation.sigmas(rng=seeded(1))
    assert np.count_nonzero(sigmas == 5) == np.count_nonzero(sigmas == 1) == 2000
    for sigma in (1.0, 5.0):
        for truth, column in zip(truths, table[sigmas == sigma].T, strict=True):
            found = column[~np.isnan(column)]
            edges = norm.cdf((np.arange(-2, 6) + 0.5 - truth) / sigma)
            expected = np.diff(edges, prepend=0.0, append=1.0)
            shares = np.bincount(found.astype(int) + 2, minlength=9) / found.size
            slack = 5 * np.sqrt(expected * (1 - expected) / found.size) + 1e-3
            assert (np.abs(shares - expected) < slack).all()


def test_cells_are_empty_on_their_own() -> None:
    simulation = SimulatedAnswers(1500, 40, 0.8)
    given = ~np.isnan(dense(simulation.answers(rng=seeded(2))))
    for axis, many in ((0, 1500), (1, 40)):
        share = given.mean(axis=axis)
        assert np.abs(share - 0.2).max() < 5 * np.sqrt(0.16 / many)
        assert share.std() == pytest.approx(np.sqrt(0.16 / many), rel=0.4)
    # Neighbours know nothing of each other.
    flat = given.ravel().astype(float)
    assert abs(np.corrcoef(flat[1:], flat[:-1])[0, 1]) < 5 / np.sqrt(flat.size)


def test_answers_are_laid_out_as_answers_of_claims_are() -> None:
    simulation = SimulatedAnswers(60, 12, 0.6)
    answers, again = simulation.answers(rng=seeded(3)), simulation.claims(rng=seeded(3))
    same = Answers.from_claims(again, simulation.domain, objects=answers.objects.to_list())
    assert same.users.to_list() == answers.users.to_list()
    for name in ("offsets", "object_codes", "codes"):
        assert np.array_equal(getattr(same, name), getattr(answers, name))
        assert getattr(answers, name).dtype == getattr(same, name).dtype
        assert not getattr(answers, name).flags.writeable
    frame = simulation.frame(rng=seeded(3))
    assert frame.columns == ["object", "user", "value"]
    assert frame.height == len(answers)
    assert answers.moved == len(answers)


def test_memory_is_a_matter_of_speed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = SimulatedAnswers(50, 20, 0.3)
    whole = simulation.answers(rng=seeded(4))
    monkeypatch.setattr(sparse_simulation, "DRAWS_AT_ONCE", 7)
    parts = simulation.answers(rng=seeded(4))
    assert np.array_equal(whole.codes, parts.codes)
    assert np.array_equal(whole.object_codes, parts.object_codes)


def test_truths_and_users_do_not_depend_on_sparsity() -> None:
    one = SimulatedAnswers(300, 100, 0.1)
    other = replace(one, sparsity=0.9)
    assert np.array_equal(one.truth_values(rng=seeded(5)), other.truth_values(rng=seeded(5)))
    assert np.array_equal(one.sigmas(rng=seeded(5)), other.sigmas(rng=seeded(5)))
    assert np.mean(one.truth_values(rng=seeded(5)) < 0) == pytest.approx(0.5, abs=0.25)
    wide = replace(one, truths="wide").truth_values(rng=seeded(5))
    assert 0 <= wide.min() < 1 < 8 < wide.max() <= 9


def test_full_answers_have_no_empty_cell() -> None:
    answers = SimulatedAnswers(30, 10, 0.0, good_sigma=0.0, poor=0.0, truths="wide").answers(rng=seeded(6))
    assert answers.sparsity == 0
    assert (dense(answers).std(axis=0) == 0).all()


def test_next_to_no_answers_is_possible() -> None:
    answers = SimulatedAnswers(30, 10, 1 - 1e-15).answers(rng=seeded(6))
    assert len(answers) == 0
    assert answers.offsets.tolist() == [0] * 31


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0},
        {"objects": 0},
        {"users": 10**7, "objects": 10**7},
        {"sparsity": 1.0},
        {"sparsity": float("nan")},
        {"poor": 1.5},
        {"truths": "narrow"},
        {"poor_sigma": -1.0},
        {"good_sigma": float("inf")},
    ],
)
def test_impossible_simulations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        SimulatedAnswers(**wrong)
