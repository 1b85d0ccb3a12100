"""Curves of expected errors: near what the simulating planners show, and bounded whatever is asked."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from campaign_cases import REQUESTS
from crowdveil.answers import Domain
from crowdveil.campaigns.error_curves import epsilons_around, error_curves, people_around
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.local import Laplace
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.recommended_slots import recommended_slots
from crowdveil.planning import sparse as simulating
from crowdveil.planning.records_curve import records_errors
from crowdveil.planning.sensing_curve import sensing_error
from crowdveil.planning.sensing_errors import ExpectedSensing
from crowdveil.planning.sparse_curve import cell_error, slot_error
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.simulation.records import SimulatedRecords
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.simulated import collected

ENGINE = LocalEngine()
OFF = 1.3  # a closed form may be off by so much, beyond what chance allows
ABSOLUTE = 0.76  # relative standard deviation of the absolute value of a normal variable


def near(expected: float, simulated: float, independent: int) -> bool:
    """Within OFF, and four standard errors of a mean of so many absolute errors."""
    most = OFF * (1 + 4 * ABSOLUTE / sqrt(independent))
    return 1 / most < expected / simulated < most


@pytest.mark.slow_audit  # tests/planning/test_curves.py has a few cells of it by day
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("people", [10, 100, 1000])
def test_sensing(epsilon: float, people: int) -> None:
    unit = Range(0.0, 1.0)
    campaign = ExpectedSensing(people, 30, 30, unit, 0.1)
    simulated = campaign.errors(Laplace(epsilon, unit), engine=ENGINE)["noise-aware"]["error"]
    repetitions = len(list(campaign.seeds)) * campaign.sample.objects
    assert near(sensing_error(epsilon, people), simulated, repetitions)


def simulated_sparse(mechanism: Any, people: int, objects: int, domain: Domain, sparsity: float) -> float:
    plan = simulating.SparsePlan(people, objects, domain, mechanism.epsilon, sparsity)
    return simulating._mean_error(plan, mechanism, lambda sent: simulating._truths(sent, sparsity, ENGINE))


@pytest.mark.slow_audit  # tests/planning/test_curves.py has a few cells of it by day
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("high", [1, 4, 9])
@pytest.mark.parametrize(("people", "objects"), [(500, 200), (5000, 200), (5000, 1)])
def test_reports_about_every_cell(epsilon: float, high: int, people: int, objects: int) -> None:
    domain = Domain(0, high)
    mechanism = CellResponse(epsilon, domain, recommended_levels(epsilon, domain, 0.9))
    simulated = simulated_sparse(mechanism, people, objects, domain, 0.9)
    assert near(cell_error(mechanism, people, objects, 0.9), simulated, 3 * objects)


@pytest.mark.slow_audit  # tests/planning/test_curves.py has a few cells of it by day
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("high", [1, 4, 9])
@pytest.mark.parametrize("people", [10, 500, 5000])
def test_slots(epsilon: float, high: int, people: int) -> None:
    domain = Domain(0, high)
    mechanism = recommended_slots(epsilon, domain, people, 200, 0.9)
    simulated = simulated_sparse(mechanism, people, 200, domain, 0.9)
    assert near(slot_error(mechanism, people, 200, 0.9), simulated, 3 * 60)


@pytest.mark.slow_audit  # tests/planning/test_curves.py has a few cells of it by day
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 8.0, 20.0])
@pytest.mark.parametrize(("columns", "values"), [(1, 5), (2, 2), (8, 4), (3, 40)])
@pytest.mark.parametrize("people", [500, 5000])
def test_records(epsilon: float, columns: int, values: int, people: int) -> None:
    """Estimates of a column have values - 1 free errors. Large domains may come out better than expected."""
    seeds = 20 if columns < 3 else 4
    sort, design = SimulatedRecords(people, columns, values), METHODS["crowdveil"].parameters(epsilon)
    truth, distances = sort.population(), []
    for seed in range(seeds):
        each = collected(sort.records(rng=seeded(seed)), design, rng=seeded(seed + 50))
        tables = design.tables(each.schema, each.halves)
        distances += [
            0.5 * np.abs(tables[(column,)] - truth.marginal((column,))).sum() for column in range(columns)
        ]
    expected, simulated = records_errors(sort.schema(), design, (people,))[0], float(np.mean(distances))
    if expected > simulated and values > 10:
        assert expected < 2 * simulated
    else:
        assert near(expected, simulated, seeds * columns * (values - 1))


@pytest.mark.parametrize("name", REQUESTS)
def test_every_sort_of_campaign_has_curves(name: str) -> None:
    curves = error_curves({"title": "T", "epsilon": 1.0, **REQUESTS[name]})
    assert curves is not None
    assert curves.epsilon in curves.epsilons
    assert curves.people in curves.errors
    assert curves.assumptions.endswith(".")
    for errors in curves.errors.values():
        assert errors.shape == curves.epsilons.shape
        assert (errors > 0).all()
    few, many = curves.errors[min(curves.errors)], curves.errors[max(curves.errors)]
    assert many[-1] < few[-1]


def test_own_ranges_are_shares_and_persons_split_epsilon() -> None:
    of_claims = error_curves({"title": "T", "epsilon": 2.0, **REQUESTS["sensing"]})
    of_persons = error_curves({"title": "T", "epsilon": 6.0, **REQUESTS["sensing person"]})
    shares = error_curves({"title": "T", "epsilon": 2.0, **REQUESTS["sensing own ranges"]})
    assert of_claims is not None
    assert of_persons is not None
    assert shares is not None
    at = [
        curves.errors[1000][list(curves.epsilons).index(curves.epsilon)]
        for curves in (of_claims, of_persons, shares)
    ]
    assert at[0] == pytest.approx(at[1])
    assert at[0] == pytest.approx(10 * at[2])
    assert "share" in shares.label


def test_a_mechanism_without_epsilon_has_no_curve() -> None:
    request = {"title": "T", **REQUESTS["sensing"], "mechanism": "gaussian-exponential-per-user"}
    assert error_curves({**request, "options": {"lambda2": 0.5, "floor": 4.0}}) is None
    with pytest.raises(ParameterError):
        error_curves({"title": "T", "epsilon": 1.0, "kind": "sensing", "objects": []})


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 7.3, 20.0, 50.0])
def test_epsilons_are_ascending_and_hold_the_chosen_one(epsilon: float) -> None:
    epsilons = epsilons_around(epsilon)
    assert epsilon in epsilons
    assert epsilons.size == 7
    assert (np.diff(epsilons) > 0).all()


def test_numbers_of_people() -> None:
    assert people_around(1000) == (100, 1000, 10_000)
    assert people_around(1) == (1, 10)
    assert people_around(10**7) == (10**6, 10**7)
