"""The quality that a records campaign estimates of its own tables: calibrated, repeatable, plain."""

from __future__ import annotations

import json
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from campaign_cases import asked, kept
from crowdveil.campaigns.kind import Asked
from crowdveil.randomness import seeded
from crowdveil.records import Column, Records, Schema
from crowdveil.simulation.records import SimulatedRecords, population
from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.self_assessment import COVERS, assessed
from crowdveil.synthesis.simulated import collected

COLUMNS, VALUES = 6, 4
SEEDS = 6
DESIGNS = ("crowdveil", "calm", "samprivsyn", "independent")


def collection(design: str, people: int, epsilon: float, seed: int, dependence: float = 0.5) -> Collection:
    records = SimulatedRecords(people, COLUMNS, VALUES, dependence).records(rng=seeded(seed))
    return collected(records, METHODS[design].parameters(epsilon), rng=seeded(seed + 100))


def distances(each: Collection, dependence: float = 0.5) -> dict[int, tuple[float, float]]:
    """For tables of one and of two columns: the distance from the truth, and its estimate."""
    truth = population((VALUES,) * COLUMNS, dependence, 4)
    tables = each.design.tables(each.schema, each.halves)
    quality = assessed(each, tables)
    estimates = {1: quality.columns, 2: quality.pairs}
    found = {}
    for ways, estimate in estimates.items():
        sets = [columns for columns in combinations(range(COLUMNS), ways) if columns in tables]
        true = [0.5 * np.abs(tables[columns] - truth.marginal(columns)).sum() for columns in sets]
        if estimate is not None:
            found[ways] = (float(np.mean(true)), estimate)
    return found


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("people", "epsilon"), [(4000, 2.0), (4000, 8.0), (500, 8.0)])
def test_estimates_are_near_the_distance_from_the_truth(design: str, people: int, epsilon: float) -> None:
    """A mean over tables of K cells has a relative standard error of about 0.76 / sqrt(K - 1) for each table.

    0.76 is that of the absolute value of a normal variable. The tables of pairs are not independent: taken
    for one table for each column, as the single columns are. True and estimated distance both vary so, over
    SEEDS repetitions: four standard errors, and 15 % for the approximations.
    """
    pairs = [distances(collection(design, people, epsilon, seed)) for seed in range(SEEDS)]
    one = 0.76 / sqrt((VALUES - 1) * COLUMNS)
    most = 1.15 * (1 + 4 * sqrt(2 / SEEDS) * one)
    for ways in pairs[0]:
        true, estimated = np.mean([each[ways] for each in pairs], axis=0)
        assert 1 / most < estimated / true < most


def test_dependence_that_a_method_misses_counts_if_reports_show_it() -> None:
    """Tables of independent columns miss nearly all dependence; the reports about pairs show it."""
    each = collection("crowdveil", 4000, 8.0, 3, dependence=0.9)
    tables = each.design.tables(each.schema, each.halves)
    without = {
        columns: shares if shares.ndim == 1 else np.outer(shares.sum(axis=1), shares.sum(axis=0))
        for columns, shares in tables.items()
    }
    lost = np.mean([0.5 * np.abs(tables[key] - without[key]).sum() for key in tables if len(key) == 2])
    good, poor = assessed(each, tables), assessed(each, without)
    assert good.pairs is not None
    assert poor.pairs is not None
    assert good.pairs < 0.5 * lost
    assert 0.5 * lost < poor.pairs < 2 * lost


def test_more_people_and_more_epsilon_make_it_smaller() -> None:
    few, many, private = (
        np.mean([distances(collection("crowdveil", people, epsilon, seed))[1][1] for seed in range(3)])
        for people, epsilon in ((500, 4.0), (8000, 4.0), (500, 0.5))
    )
    assert many < few / 2 < few < private / 2


@pytest.mark.parametrize("name", ["records", "samprivsyn", "calm", "independent"])
@pytest.mark.parametrize("people", [1, 2, 24])
def test_the_summary_has_it_to_the_last_bit_however_often(name: str, people: int) -> None:
    campaign = asked(name)
    batch = kept(campaign, [Asked(place) for place in range(people)])
    qualities = []
    for _ in range(2):
        gathered = campaign.kind.gather(1)
        gathered.add(batch, {})
        qualities += [gathered.result().summary["quality"], gathered.result().summary["quality"]]
    assert all(each == qualities[0] for each in qualities)
    quality = json.loads(json.dumps(qualities[0], allow_nan=False))
    assert quality.keys() == {"columns", "covers"}  # that of pairs is not calibrated
    assert quality["covers"] == COVERS
    assert 0 < quality["columns"] <= 1


def test_another_public_seed_draws_anew() -> None:
    each = collection("crowdveil", 500, 2.0, 1)
    tables = each.design.tables(each.schema, each.halves)
    other = Collection(
        each.schema, each.design, each.seed + 1, each.people, halves=each.halves, seen=each.seen
    )
    assert assessed(each, tables) != assessed(other, tables)


def test_one_column_has_no_pairs() -> None:
    schema = Schema((Column("a", ("x", "y", "z")),))
    records = Records(schema, np.arange(300, dtype=np.int32).reshape(-1, 1) % 3)
    each = collected(records, METHODS["crowdveil"].parameters(1.0), rng=seeded(1))
    quality = assessed(each, each.design.tables(schema, each.halves))
    assert quality.pairs is None
    assert 0 < quality.columns < 0.5
