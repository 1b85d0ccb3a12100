"""Truths from slots: close where much is told, common where little is, and never without an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sparse_answers import NULL, crowd, received

from crowdveil.answers import Domain
from crowdveil.errors import ParameterError
from crowdveil.evaluation.constants import best_constant, mae, middle_of
from crowdveil.local.recommended_slots import recommended_slots
from crowdveil.local.slot_response import SlotReports, SlotResponse
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers

TEN = Domain(0, 9)


def simulated(simulation: SimulatedAnswers, parameters: SlotResponse, seed: int) -> SlotReports:
    """What the server receives."""
    told = received(simulation.answers(rng=seeded(seed)), replace(parameters, seed=seed), rng=seeded(seed))
    assert isinstance(told, SlotReports)
    return told


@pytest.mark.parametrize("unnamed", [None, 4])
def test_estimates_are_close_where_reports_are_many_and_true(unnamed: int | None) -> None:
    simulation = SimulatedAnswers(8000, 20, 0.5, "wide")
    truths = simulation.truth_values(rng=seeded(5))
    told = simulated(simulation, SlotResponse(8.0, TEN, 2, 2, unnamed=unnamed), 5)
    for stated in (None, 0.5, 0.6):
        found = told.truths(stated)
        assert mae(found.estimates, truths) < 0.2
        assert found.converged
        assert found.limits == (0.0, 9.0)
        assert np.unique(found.weights).size == 1
        assert len(found.weights) == 8000


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    simulation = SimulatedAnswers(4000, 400, 0.5, "wide")
    truths = simulation.truth_values(rng=seeded(6))
    for epsilon, slots in ((2.0, 1), (6.0, 2)):
        lower, upper = simulated(simulation, SlotResponse(epsilon, TEN, slots), 6).truths().intervals(0.9)
        assert 0.84 < np.mean((lower <= truths) & (truths <= upper)) < 0.97


def test_an_object_that_was_never_listed_gets_what_objects_have_in_common() -> None:
    told = simulated(SimulatedAnswers(3000, 30, 0.1), SlotResponse(8.0, TEN), 6)
    one_more = replace(told, objects=pl.concat([told.objects, pl.Series("object", ["silent"])]))
    found = one_more.truths()
    assert found.estimates.shape == (31,)
    assert found.estimates[-1] == pytest.approx(one_more.beliefs().constant())
    assert found.estimates[-1] == pytest.approx(np.median(found.estimates[:-1]), abs=0.5)
    assert found.errors[-1] > found.errors[:-1].max()


@pytest.mark.parametrize("parameters", [SlotResponse(1.0, TEN), SlotResponse(8.0, TEN, 2, 2, unnamed=3)])
def test_where_nobody_answered_estimates_stay_in_the_domain(parameters: SlotResponse) -> None:
    told = received(crowd([NULL] * 20, TEN, 500), parameters, rng=seeded(1))
    for stated in (None, 0.9, 1.0):
        found = told.truths(stated)
        assert np.isfinite(found.errors).all()
        assert (np.abs(found.estimates - 4.5) <= 4.5).all()
        assert found.errors.min() > 1.0  # and claim to know little
    with pytest.raises(ParameterError, match="sparsity"):
        told.truths(1.5)


def test_one_user_and_one_object_are_enough() -> None:
    for unnamed in (None, 2):
        for users in (1, 2):
            told = received(crowd([9], TEN, users), SlotResponse(30.0, TEN, unnamed=unnamed), rng=seeded(1))
            assert 4.5 < told.truths().estimates[0] <= 9


def test_who_knows_nothing_of_single_objects_knows_what_they_have_in_common() -> None:
    """Epsilon 1, a tenth of the cells answered: single objects tell nothing, and a constant is all there is.

    Where truths are all over the domain none is better than its middle, and estimates are about as good.
    Where they lie at an end, devices that name no object tell so.
    """
    chosen = recommended_slots(1.0, TEN, 2000, 200, 0.9)
    errors: dict[tuple[str, int | None], list[Any]] = {}
    assert chosen.unnamed
    for kind in ("paper", "wide"):
        simulation = SimulatedAnswers(2000, 200, 0.9, kind)
        for seed in range(6):
            truths = simulation.truth_values(rng=seeded(seed))
            for parameters in (chosen, replace(chosen, unnamed=None)):
                found = simulated(simulation, parameters, seed).beliefs(0.9)
                scores = (mae(found.medians(), truths), mae(found.constant(), truths))
                rest = (mae(middle_of(TEN), truths), mae(best_constant(truths), truths))
                errors.setdefault((kind, parameters.unnamed), []).append((*scores, *rest))
    means = {case: np.mean(scores, axis=0) for case, scores in errors.items()}
    for estimates, constant, _, _ in means.values():
        assert estimates < constant + 0.02
    estimates, _, middle, _ = means["wide", chosen.unnamed]
    assert estimates < middle + 0.05
    estimates, _, middle, best = means["paper", chosen.unnamed]
    assert estimates < best + 0.25 < middle
    assert estimates < 0.6 * means["paper", None][0]
