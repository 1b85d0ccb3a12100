"""Errors that are shown while one types, against those of the planners that simulate everybody.

Simulated errors are means over few crowds and have an error of their own, some ten percent where a crowd is
small; the curves must be near them everywhere, at the ends of what can be asked too.
"""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.answers import Domain
from crowdveil.engines import LocalEngine
from crowdveil.local import Laplace
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.slot_response import SlotResponse
from crowdveil.planning.records import CLASSES, RecordsPlan, _people
from crowdveil.planning.records_curve import records_errors
from crowdveil.planning.sensing_curve import location_information, sensing_error
from crowdveil.planning.sensing_errors import ExpectedSensing
from crowdveil.planning.sparse import SparsePlan, _mean_error, _mechanism, _truths
from crowdveil.planning.sparse_curve import cell_error, slot_error
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.records import Column, Records, Schema
from crowdveil.simulation.records import population
from crowdveil.synthesis.registry import METHODS

NEAR = (0.65, 1.35)  # of a simulated error
CAREFUL = (0.65, 2.5)  # curves of records may be too high, most of all where questions have dozens of choices
ENGINE = LocalEngine()
TEN = Range(0.0, 10.0)


def near(expected: float, simulated: float, ends: tuple[float, float] = NEAR) -> None:
    assert ends[0] * simulated <= expected <= ends[1] * simulated, (expected, simulated)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 20.0])
@pytest.mark.parametrize("people", [10, 100, 1000])
def test_sensing(epsilon: float, people: int) -> None:
    campaign = ExpectedSensing(people, 30, 30, TEN, 1.0)
    simulated = campaign.errors(Laplace(epsilon, TEN), engine=ENGINE)["noise-aware"]["error"]
    near(10 * sensing_error(epsilon, people), simulated)


@pytest.mark.parametrize("people", [100, 2000])
@pytest.mark.parametrize(
    ("high", "epsilon", "objects", "unit"),
    [
        (4, 0.5, 30, "cell"),
        (4, 2.0, 30, "cell"),
        (4, 10.0, 30, "cell"),
        (1, 2.0, 10, "cell"),
        (99, 4.0, 20, "cell"),
        (4, 2.0, 30, "user"),
        (4, 8.0, 30, "user"),
    ],
)
def test_sparse(high: int, epsilon: float, objects: int, unit: str, people: int) -> None:
    plan = SparsePlan(people, objects, Domain(0, high), epsilon, 0.8, unit=unit)  # type: ignore[arg-type]
    mechanism = _mechanism("slots" if unit == "user" else "auto", plan)
    simulated = _mean_error(plan, mechanism, lambda sent: _truths(sent, 0.8, ENGINE))
    if isinstance(mechanism, SlotResponse):
        expected = slot_error(mechanism, people, objects, 0.8)
    else:
        assert isinstance(mechanism, CellResponse)
        expected = cell_error(mechanism, people, objects, 0.8)
    near(expected, simulated)


SCHEMAS = {
    "one column": Schema((Column("a", values=("x", "y", "z")),)),
    "a few": Schema(
        tuple(Column(f"c{at}", values=tuple(map(str, range(size)))) for at, size in enumerate((2, 3, 4, 8)))
    ),
    "large": Schema(
        tuple(Column(f"c{at}", values=tuple(map(str, range(size)))) for at, size in enumerate((40, 60)))
    ),
}


@pytest.mark.parametrize("people", [500, 10_000])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_records(schema: str, epsilon: float, people: int) -> None:
    plan = RecordsPlan(SCHEMAS[schema], people, epsilon)
    design = METHODS["crowdveil"].parameters(epsilon)
    columns, measured = len(SCHEMAS[schema].columns), []
    model = population(SCHEMAS[schema].sizes, plan.dependence, CLASSES)

    def far_from_truth(made: Records, column: int) -> float:
        shares = np.bincount(made.codes[:, column], minlength=made.schema.sizes[column]) / len(made)
        return 0.5 * float(np.abs(shares - model.marginal((column,))).sum())

    for seed in range(3):
        records = _people(plan, seed)
        release = METHODS["crowdveil"].synthesize(records, design, rng=seeded(seed))
        measured.append(np.mean([far_from_truth(release.records, column) for column in range(columns)]))
    near(records_errors(SCHEMAS[schema], design, (people,))[0], float(np.mean(measured)), CAREFUL)


def test_the_information_of_a_laplace_law_is_that_of_the_textbook() -> None:
    """1 / scale^2 for one Laplace variable; the order of two does not matter, nor whether they are equal."""
    assert location_information(1e-4, 2.0) == pytest.approx(0.25, rel=1e-3)
    assert location_information(0.7, 0.3) == pytest.approx(location_information(0.3, 0.7), rel=1e-6)
    assert location_information(1.0, 1.0) == pytest.approx(location_information(1.0, 1.002), rel=1e-2)


def test_more_people_and_more_epsilon_hardly_ever_hurt() -> None:
    errors = np.array(
        [[sensing_error(epsilon, people) for epsilon in (0.1, 1, 10)] for people in (10, 1000, 10**6)]
    )
    assert (errors[1:] <= 1.1 * errors[:-1]).all()  # where hardly anything is known, by a few percent
    assert (errors[:, 1:] <= 1.1 * errors[:, :-1]).all()
