"""What sparse experiments compare with: scores, and constants."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.answers import Answers, CellReports, Domain
from crowdveil.errors import ParameterError
from crowdveil.evaluation.constants import (
    best_constant,
    debiased_mean,
    mae,
    mae_change,
    mean_truth,
    middle_of,
)
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.reports import report
from crowdveil.randomness import Randomness, seeded
from crowdveil.simulation.sparse import SimulatedAnswers

TEN = Domain(0, 9)


def received(answers: Answers, mechanism: CellResponse, *, rng: Randomness) -> CellReports:
    found = report(answers, mechanism, rng=rng).read()
    assert isinstance(found, CellReports)
    return found


def test_errors_are_over_known_truths() -> None:
    truths = np.array([1.0, np.nan, 4.0])
    assert mae(np.array([2.0, 100.0, 4.0]), truths) == 0.5
    assert mae(2.0, truths) == 1.5
    assert mae_change(2.0, np.array([1.0, 0.0, 4.0]), truths) == 1.5


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
    close = debiased_mean(received(answers, CellResponse(4.0, TEN, levels), rng=seeded(4)))
    assert close == pytest.approx(mean, abs=0.1)
    # It errs by about its standard error, here some 0.3, or is shrunk.
    far = [debiased_mean(received(answers, CellResponse(0.3, TEN, levels), rng=seeded(s))) for s in range(5)]
    assert np.mean(far) == pytest.approx(mean, abs=0.8)


def test_the_debiased_mean_is_the_middle_where_nothing_is_told() -> None:
    answers = SimulatedAnswers(200, 10, 0.99).answers(rng=seeded(5))
    told = [debiased_mean(received(answers, CellResponse(0.01, TEN), rng=seeded(s))) for s in range(10)]
    assert np.abs(np.array(told) - 4.5).max() < 1.0
