"""Tables of a design are proper shares, as records follow; a collection has room for more than expected."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from small_tables import SIZES, dependent, pairs_of, schema_of

from crowdveil.arrays import Floats
from crowdveil.errors import InputError, ParameterError
from crowdveil.randomness import seeded
from crowdveil.synthesis.calm import Calm
from crowdveil.synthesis.collection import MOST_PEOPLE, Collection
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.independent import Independent
from crowdveil.synthesis.latent_class_synthesis import LatentClassSynthesis
from crowdveil.synthesis.samprivsyn import SamPrivSyn
from crowdveil.synthesis.simulated import simulated

SCHEMA = schema_of(SIZES)
RECORDS = dependent(2000)
DESIGNS: list[Design] = [LatentClassSynthesis(8.0), SamPrivSyn(8.0), Calm(8.0), Independent(8.0)]
each_design = pytest.mark.parametrize("design", DESIGNS, ids=[each.name for each in DESIGNS])


def collected(design: Design) -> Collection:
    empty = Collection(SCHEMA, design, seed=3, people=len(RECORDS))
    return simulated(RECORDS, empty, rng=seeded(4))


@each_design
def test_tables_are_shares_of_single_columns_and_of_pairs(design: Design) -> None:
    tables = design.tables(SCHEMA, collected(design).halves)
    singles = list(combinations(range(len(SIZES)), 1))
    assert set(singles) <= set(tables) <= {*singles, *combinations(range(len(SIZES)), 2)}
    for columns, shares in tables.items():
        assert shares.shape == tuple(SIZES[column] for column in columns)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)


@each_design
def test_tables_come_closer_to_the_records_than_uniform_ones(design: Design) -> None:
    """Whose devices add little noise."""
    real: dict[tuple[int, ...], Floats] = {
        (column,): RECORDS.counts(column) / len(RECORDS) for column in range(len(SIZES))
    }
    real |= {(a, b): shares for (a, b), shares in pairs_of(RECORDS).items()}
    tables = design.tables(SCHEMA, collected(design).halves)

    def distance(columns: tuple[int, ...]) -> float:
        return float(np.abs(tables[columns] - real[columns]).sum())

    def uniform(columns: tuple[int, ...]) -> float:
        return float(np.abs(1 / real[columns].size - real[columns]).sum())

    assert sum(map(distance, tables)) < sum(map(uniform, tables)) / 2


@each_design
def test_the_same_reports_give_the_same_tables(design: Design) -> None:
    first, second = (design.tables(SCHEMA, collected(design).halves) for _ in range(2))
    assert first.keys() == second.keys()
    assert all((first[columns] == second[columns]).all() for columns in first)


def test_more_people_than_expected_can_take_part_and_rounds_end_as_planned() -> None:
    design = LatentClassSynthesis(1.0)
    closed, roomy = (Collection(SCHEMA, design, people=100, capacity=most) for most in (None, 10_000))
    assert (closed.places, roomy.places) == (100, 10_000)
    assert closed.rounds == roomy.rounds
    beyond = np.array([100, 9_999])
    with pytest.raises(InputError):
        closed.assign(beyond)
    asked = [roomy.questions[number] for number in roomy.assign(beyond)]
    wires = [
        question.oracle.to_wire(question.report_one(record))
        for record, question in zip(RECORDS.codes[:2].tolist(), asked, strict=True)
    ]
    grown = roomy.ingest(roomy.from_wire(beyond.tolist(), wires))
    assert grown.reports == 2
    with pytest.raises(InputError):
        roomy.assign(np.array([10_000]))
    assert (closed.assign(np.arange(100)) == roomy.assign(np.arange(100))).all()
    again = Collection.from_dict(grown.to_dict())
    assert again.places == 10_000
    assert again.to_dict() == grown.to_dict()
    assert "capacity" not in closed.to_dict()


@pytest.mark.parametrize("capacity", [0, -1, MOST_PEOPLE + 1])
def test_a_capacity_that_cannot_be_is_refused(capacity: int) -> None:
    with pytest.raises(ParameterError):
        Collection(SCHEMA, LatentClassSynthesis(1.0), capacity=capacity)
