"""The paper's inference: on answers, on symbols and on a table the same, and of every object something."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sparse_answers import NULL, answers_of, received

from crowdveil.answers import Answers, CellReports, Domain
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.inverse_deviation import LEAST_LOSS, on_answers, on_symbols
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers

TEN = Domain(0, 9)


def slow_twin(table: Any, sweeps: int) -> Any:
    """Algorithm 1 on a table with NaN in place of NULL."""
    table = table[~np.isnan(table).all(axis=1)]  # who answered nothing counts for nothing
    weights = np.ones(len(table))
    for sweep in range(sweeps + 1):
        given = np.where(np.isnan(table), 0.0, weights[:, None])
        truths = np.nansum(table * weights[:, None], axis=0) / given.sum(axis=0)
        if sweep < sweeps:
            losses = np.nanmean(np.square(table - truths), axis=1)
            weights = 1 / np.sqrt(np.maximum(losses, LEAST_LOSS * losses.mean()))
    return truths


def table_of(answers: Answers) -> Any:
    table = np.full((len(answers.users), len(answers.objects)), np.nan)
    for user in range(len(answers.users)):
        own = slice(answers.offsets[user], answers.offsets[user + 1])
        table[user, answers.object_codes[own]] = answers.domain.low + answers.codes[own].astype(float)
    return table


@pytest.mark.parametrize("sparsity", [0.1, 0.7])
def test_original_answers_tell_what_a_slow_twin_finds(sparsity: float) -> None:
    answers = SimulatedAnswers(150, 30, sparsity, "wide", Domain(-4, 5)).answers(rng=seeded(1))
    found = on_answers(answers)
    assert found.converged
    assert found.sweeps > 2
    assert found.estimates == pytest.approx(slow_twin(table_of(answers), found.sweeps), abs=1e-9)


@pytest.mark.parametrize("levels", [None, 2, 4])
@pytest.mark.parametrize(("epsilon", "sparsity"), [(0.5, 0.9), (3.0, 0.1), (6.0, 0.9)])
def test_symbols_tell_what_a_slow_twin_finds(epsilon: float, sparsity: float, levels: int | None) -> None:
    answers = SimulatedAnswers(150, 30, sparsity, "wide", Domain(-4, 5)).answers(rng=seeded(1))
    reports = received(answers, CellResponse(epsilon, answers.domain, levels), rng=seeded(1))
    table = np.append(reports.levels, np.nan)[reports.symbols]
    found = on_symbols(reports)
    assert found.converged
    assert found.estimates == pytest.approx(slow_twin(table, found.sweeps), abs=1e-9)


def test_good_users_weigh_more() -> None:
    simulation = SimulatedAnswers(100, 60, 0.2, "wide")
    weights = on_answers(simulation.answers(rng=seeded(4))).weights
    good = simulation.sigmas(rng=seeded(4)) == 1.0
    assert weights[good].min() > weights[~good].max()


def test_objects_without_reports_and_users_without_answers_have_something() -> None:
    symbols = np.full((4, 3), 10, dtype=np.uint8)  # all NULL
    symbols[:, 1] = 3  # all the same
    symbols[:3, 2] = [1, 2, 9]
    names = pl.Series(["a", "b", "c"]), pl.Series(["p", "q", "r", "s"])
    found = on_symbols(CellReports(*names, TEN, symbols, CellResponse(1.0, TEN).law, TEN.values()))
    assert found.estimates[1] == 3.0
    assert found.estimates[0] == pytest.approx(found.estimates[1:].mean())
    assert np.isfinite(found.weights).all()
    nobody = on_answers(answers_of([[NULL, NULL]] * 3, TEN))
    assert nobody.estimates.tolist() == [4.5, 4.5]
    assert nobody.converged
    silent = on_answers(answers_of([[NULL, NULL], [1, 5], [1, 8]], TEN))
    assert silent.estimates[0] == 1.0
    assert np.isfinite(silent.weights).all()


def test_nothing_is_said_about_errors() -> None:
    frame = on_answers(answers_of([[1, 2], [2, 3]], TEN)).to_frame()
    assert frame["error"].null_count() == frame["lower"].null_count() == 2
