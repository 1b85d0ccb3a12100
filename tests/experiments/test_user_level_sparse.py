"""The study of one epsilon for all that a user answered: what it tells, and that slots beat constants."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.answers import Domain
from crowdveil.experiments.user_level_sparse import at_best, trial
from crowdveil.local.slot_response import SlotResponse
from crowdveil.simulation.sparse import SimulatedAnswers

TEN = Domain(0, 9)


def test_a_study_tells_what_it_compares_with() -> None:
    row = trial(SimulatedAnswers(200, 20, 0.5), [SlotResponse(4.0, TEN, unnamed=5)], 1)[0]
    assert row["users"] == 200
    assert row["epsilon"] == 4.0
    assert row["unnamed"] == 5
    assert 0 < row["best_constant"] < row["middle"]
    assert row["best_constant"] <= row["constant"]
    assert row["mae"] > 0


@pytest.mark.parametrize("sparsity", [0.1, 0.9])
def test_what_is_recommended_beats_constants(sparsity: float) -> None:
    rows = [at_best(SimulatedAnswers(2000, 200, sparsity, "wide"), (4.0, 8.0), seed) for seed in (1, 2)]
    errors = np.array([[row["mae"] / row["best_constant"] for row in each] for each in rows]).mean(axis=0)
    assert errors[1] < errors[0] < 0.75
