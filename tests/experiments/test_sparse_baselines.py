"""What sparse experiments compare with: the paper's inference, over bytes as over claims, and constants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from crowdveil.answers import CellReports, Domain
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.experiments import sparse_baselines
from crowdveil.experiments.sparse_baselines import (
    best_constant,
    debiased_mean,
    inverse_deviation_on,
    inverse_deviation_on_reports,
    mae,
    mae_change,
    mean_truth,
    middle_of,
)
from crowdveil.experiments.sparse_simulation import SimulatedAnswers
from crowdveil.local.cell_response import CellResponse, report
from crowdveil.randomness import seeded
from crowdveil.truth import deviation

TEN = Domain(0, 9)


def claims_of(reports: CellReports) -> Claims:
    """The reports as claims: a level is one, NULL is none."""
    who, what = np.nonzero(reports.symbols < reports.levels.size)
    values = reports.levels[reports.symbols[who, what]]
    return Claims.from_columns(reports.objects.gather(what), reports.users.gather(who), values)


def test_errors_are_over_known_truths() -> None:
    truths = np.array([1.0, np.nan, 4.0])
    assert mae(np.array([2.0, 100.0, 4.0]), truths) == 0.5
    assert mae(2.0, truths) == 1.5
    assert mae_change(2.0, np.array([1.0, 0.0, 4.0]), truths) == 1.5


@pytest.mark.parametrize("levels", [None, 2, 4])
@pytest.mark.parametrize(("epsilon", "sparsity"), [(0.5, 0.9), (3.0, 0.1), (6.0, 0.9)])
def test_reports_tell_what_their_claims_tell(epsilon: float, sparsity: float, levels: int | None) -> None:
    answers = SimulatedAnswers(150, 30, sparsity, "wide", Domain(-4, 5)).answers(rng=seeded(1))
    reports = report(answers, CellResponse(epsilon, answers.domain, levels), rng=seeded(1))
    expected = deviation.discover(claims_of(reports))
    assert expected.converged
    # Both rest where a sweep moves truths by less than a millionth of a spread.
    assert np.abs(inverse_deviation_on_reports(reports) - expected.estimates).max() < 1e-4


def test_blocks_are_a_matter_of_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = SimulatedAnswers(40, 30, 0.5).answers(rng=seeded(2))
    reports = report(answers, CellResponse(2.0, TEN), rng=seeded(2))
    whole = inverse_deviation_on_reports(reports)
    monkeypatch.setattr(sparse_baselines, "CELLS_AT_ONCE", 50)
    assert np.allclose(inverse_deviation_on_reports(reports), whole, rtol=0, atol=1e-9)


def test_objects_without_reports_or_without_spread_have_an_estimate() -> None:
    symbols = np.full((4, 3), 10, dtype=np.uint8)  # all NULL
    symbols[:, 1] = 3  # all the same
    symbols[:, 2] = [1, 2, 3, 9]
    names = pl.Series(["a", "b", "c"]), pl.Series(["p", "q", "r", "s"])
    law = CellResponse(1.0, TEN).law
    reports = CellReports(*names, TEN, symbols, law, TEN.values())
    found = inverse_deviation_on_reports(reports)
    expected = deviation.discover(claims_of(reports)).estimates
    assert np.allclose(found[1:], expected, atol=1e-4)
    assert found[0] == pytest.approx(found[1:].mean())
    silent = replace(reports, symbols=np.full((4, 3), 10, dtype=np.uint8))
    assert np.array_equal(inverse_deviation_on_reports(silent), np.full(3, 4.5))


def test_original_answers_tell_all_objects() -> None:
    simulation = SimulatedAnswers(20, 60, 0.95)
    answers = simulation.answers(rng=seeded(3))
    known = deviation.discover(answers.claims())
    found = inverse_deviation_on(answers)
    assert found.shape == (60,)
    assert len(known.objects) < 60
    named = dict(zip(known.objects.to_list(), known.estimates, strict=True))
    for name, estimate in zip(answers.objects.to_list(), found, strict=True):
        assert estimate == named.get(name, known.estimates.mean())


def test_constants() -> None:
    truths = np.array([0.0, 1.0, np.nan, 8.0])
    assert best_constant(truths) == 1.0
    assert mean_truth(truths) == 3.0
    assert middle_of(TEN) == 4.5
    tried = [mae(at, truths) for at in np.linspace(0, 9, 91)]
    assert mae(best_constant(truths), truths) <= min(tried)
    for constant in (best_constant, mean_truth):
        with pytest.raises(ParameterError):
            constant(np.array([np.nan]))


@pytest.mark.parametrize("levels", [None, 2, 4])
def test_the_debiased_mean_is_that_of_the_answers(levels: int | None) -> None:
    answers = SimulatedAnswers(2000, 50, 0.5).answers(rng=seeded(4))
    mean = float(answers.codes.mean())
    close = debiased_mean(report(answers, CellResponse(4.0, TEN, levels), rng=seeded(4)))
    assert close == pytest.approx(mean, abs=0.1)
    # It errs by about its standard error, here some 0.3, or is shrunk.
    far = [debiased_mean(report(answers, CellResponse(0.3, TEN, levels), rng=seeded(s))) for s in range(5)]
    assert np.mean(far) == pytest.approx(mean, abs=0.8)


def test_the_debiased_mean_is_the_middle_where_nothing_is_told() -> None:
    answers = SimulatedAnswers(200, 10, 0.99).answers(rng=seeded(5))
    told = [debiased_mean(report(answers, CellResponse(0.01, TEN), rng=seeded(s))) for s in range(10)]
    assert np.abs(np.array(told) - 4.5).max() < 1.0
