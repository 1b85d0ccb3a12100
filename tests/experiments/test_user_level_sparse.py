"""One epsilon for all that a user answered: the exact law, the sampler, the estimates, and the rule."""

from __future__ import annotations

from itertools import product
from math import log, prod
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.answers import Answers, Domain
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.experiments.sparse_baselines import mae
from crowdveil.experiments.sparse_simulation import SimulatedAnswers
from crowdveil.experiments.user_level_sparse import (
    SlotReports,
    SlotResponse,
    best_parameters,
    candidates,
    deal,
    estimate,
    expected_error,
    report,
    sampled_cells,
    trial,
)
from crowdveil.local.cell_response import CellResponse
from crowdveil.randomness import seeded

TEN = Domain(0, 9)
SMALL = Domain(1, 3)


def same_row(row: dict[str, int], users: int, domain: Domain, objects: list[str]) -> Answers:
    """Users who all answered the same."""
    names = [f"u{user:06}" for user in range(users)]
    what, who = np.repeat(list(row), users), np.tile(names, len(row))
    claims = Claims.from_columns(what, who, np.repeat(list(row.values()), users).astype(float))
    return Answers.from_claims(claims, domain, objects=objects)


# --- the law ------------------------------------------------------------------------------------------------


def report_law(parameters: SlotResponse, row: tuple[int | None, ...]) -> list[float]:
    """The chance of every report of a device, whose lists are the row's cells in order."""
    n = parameters.listed
    slots = [parameters.true_law(row[k * n : k * n + n]) for k in range(parameters.slots)]
    keep, other = float(parameters.response.keep_chance), float(parameters.response.other_chance)
    told = []
    for symbols in product(range(parameters.symbols), repeat=parameters.slots):
        true = [law[symbol] for law, symbol in zip(slots, symbols, strict=True)]
        if parameters.joint:
            told.append(other + (keep - other) * prod(true))
        else:
            told.append(prod(other + (keep - other) * chance for chance in true))
    return told


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize(("slots", "listed", "levels"), [(1, 1, 3), (2, 1, 2), (1, 3, 2), (2, 2, 2)])
def test_the_largest_log_ratio_over_all_rows_is_the_users_epsilon(
    slots: int, listed: int, levels: int, joint: bool
) -> None:
    parameters = SlotResponse(1.5, SMALL, slots, listed, levels, joint)
    rows = product([None, 0, 1, 2], repeat=slots * listed)
    laws = np.array([report_law(parameters, row) for row in rows])
    assert laws.sum(axis=1) == pytest.approx(1.0)
    largest = log(float((laws.max(axis=0) / laws.min(axis=0)).max()))
    assert largest == pytest.approx(parameters.user_level().epsilon, abs=1e-9)
    assert 1.5 - 1e-9 < parameters.user_level().epsilon <= 1.5
    assert parameters.user_level().unit == "user"


def test_one_cell_is_randomized_response_with_null() -> None:
    for levels in (None, 2, 4):
        one, cell = SlotResponse(2.0, TEN, levels=levels), CellResponse(2.0, TEN, levels)
        rows: list[int | None] = [*range(10), None]
        assert np.allclose([report_law(one, (row,)) for row in rows], cell.law, rtol=0, atol=1e-12)
    assert sampled_cells(2.0, TEN, 4).response == CellResponse(0.5, TEN).response


@pytest.mark.parametrize("joint", [True, False])
def test_reports_follow_the_law(joint: bool) -> None:
    objects = ["a", "b", "c", "d"]
    parameters = SlotResponse(2.5, SMALL, 2, 2, 2, joint)
    reports = report(same_row({"a": 1, "b": 2, "d": 3}, 30_000, SMALL, objects), parameters, rng=seeded(1))
    given: list[int | None] = [0, 1, None, 2]
    found: dict[tuple[int, ...], list[int]] = {}
    for cards, symbols in zip(reports.lists.reshape(-1, 4), reports.symbols, strict=True):
        code = int(symbols[0]) * parameters.symbols + int(symbols[1])
        found.setdefault(tuple(cards.tolist()), []).append(code)
    assert len(found) == 24  # every order of four objects
    for dealt, codes in found.items():
        law = np.array(report_law(parameters, tuple(given[card] for card in dealt)))
        shares = np.bincount(codes, minlength=law.size) / len(codes)
        assert np.abs((shares - law) / np.sqrt(law / len(codes))).max() < 5.5


def test_objects_are_dealt_alike_and_none_twice() -> None:
    parameters = SlotResponse(1.0, TEN, 2, 3, 2)
    lists = deal(500, 20, parameters, rng=seeded(2))
    assert lists.shape == (500, 2, 3)
    assert all(len(set(hand.ravel().tolist())) == 6 for hand in lists)
    often = np.bincount(lists.ravel(), minlength=20)
    assert abs(often - 150).max() < 5 * np.sqrt(150 / 10)  # each deck leaves two of twenty out
    with pytest.raises(ParameterError):
        deal(5, 5, parameters, rng=seeded(2))


# --- counts and truths --------------------------------------------------------------------------------------


def test_counts_are_those_of_a_plain_loop() -> None:
    parameters = SlotResponse(3.0, TEN, 2, 4, 3)
    answers = SimulatedAnswers(300, 20, 0.5).answers(rng=seeded(3))
    reports = report(answers, parameters, rng=seeded(3))
    expected = np.zeros((20, 3), dtype=np.int64)
    for lists, symbols in zip(reports.lists, reports.symbols, strict=True):
        for cards, symbol in zip(lists, symbols, strict=True):
            if symbol < 12:
                expected[cards[symbol // 3], symbol % 3] += 1
    assert np.array_equal(reports.counts(), expected)


@pytest.mark.parametrize("parameters", [SlotResponse(5.0, TEN), SlotResponse(5.0, TEN, 2, 4, 3)])
def test_shares_and_levels_are_told_without_bias(parameters: SlotResponse) -> None:
    answers = SimulatedAnswers(20_000, 20, 0.7, "wide", poor=0.0).answers(rng=seeded(4))
    reports = report(answers, parameters, rng=seeded(4))
    some = 1 - 0.7**parameters.listed
    error = 0.5 / (np.sqrt(20_000) * parameters.signal)
    assert reports.answered == pytest.approx(some, abs=5 * error)
    # Counts less what is made up: the mean level is that of the answers, to within 0.05 a standard error.
    counts = reports.counts().sum(axis=0) - (1 - parameters.signal) / parameters.symbols * (
        20_000 * parameters.slots * parameters.listed
    )
    values = np.linspace(0, 9, parameters.rounded_to)
    assert counts @ values / counts.sum() == pytest.approx(answers.codes.mean(), abs=0.25)


def test_estimates_are_close_where_reports_are_many_and_true() -> None:
    simulation = SimulatedAnswers(8000, 20, 0.5, "wide")
    truths = simulation.truth_values(rng=seeded(5))
    reports = report(simulation.answers(rng=seeded(5)), SlotResponse(8.0, TEN, 2, 2), rng=seeded(5))
    for stated in (None, 0.5, 0.6):
        assert mae(estimate(reports, sparsity=stated), truths) < 0.2


def test_an_object_without_a_report_gets_the_middle_of_the_law_of_truths() -> None:
    parameters = SlotResponse(8.0, TEN)
    reports = report(SimulatedAnswers(3000, 30, 0.1).answers(rng=seeded(6)), parameters, rng=seeded(6))
    one_more = SlotReports(
        pl.concat([reports.objects, pl.Series(["silent"])]), parameters, reports.lists, reports.symbols
    )
    found = estimate(one_more)
    assert found.shape == (31,)
    assert found[-1] == pytest.approx(np.median(found[:-1]), abs=0.5)


# --- the rule, and what it reaches --------------------------------------------------------------------------


def test_lists_grow_with_sparsity_and_epsilon_and_slots_with_epsilon_alone() -> None:
    def best(epsilon: float, sparsity: float) -> SlotResponse:
        return best_parameters(epsilon, TEN, 2000, 200, sparsity)

    for epsilon in (1.0, 4.0):
        assert best(epsilon, 0.1).slots == best(epsilon, 0.9).slots == 1
        assert best(epsilon, 0.1).listed == 1 < best(epsilon, 0.9).listed
    assert best(1.0, 0.1).rounded_to < best(4.0, 0.1).rounded_to == 10
    assert best(8.0, 0.1).slots == 2
    assert best(8.0, 0.9).listed > best(4.0, 0.9).listed
    chosen = best(4.0, 0.5)
    least = min(expected_error(each, 2000, 200, 0.5) for each in candidates(4.0, TEN, 200))
    assert expected_error(chosen, 2000, 200, 0.5) == least


def test_errors_fall_with_users_and_epsilon_and_the_domain_is_all_that_is_known_without() -> None:
    tried = [expected_error(SlotResponse(epsilon, TEN), 2000, 200, 0.5) for epsilon in (0.01, 1.0, 4.0)]
    assert tried == sorted(tried, reverse=True)
    assert tried[0] == pytest.approx(9 / np.sqrt(12), rel=0.01)
    assert expected_error(SlotResponse(4.0, TEN), 20_000, 200, 0.5) < tried[2]


@pytest.mark.parametrize(("sparsity", "epsilon"), [(0.9, 8.0), (0.5, 8.0), (0.1, 8.0), (0.9, 4.0)])
def test_the_rule_beats_sampled_cells_and_constants(sparsity: float, epsilon: float) -> None:
    simulation = SimulatedAnswers(2000, 200, sparsity, "wide")
    tried = [best_parameters(epsilon, TEN, 2000, 200, sparsity)]
    tried += [sampled_cells(epsilon, TEN, slots) for slots in (1, 2, 4)]
    rows = [trial(simulation, tried, seed) for seed in (1, 2, 3)]
    errors = np.array([[row["mae"] for row in each] for each in rows]).mean(axis=0)
    assert errors[0] < errors[1:].min()
    assert errors[0] < 0.75 * np.mean([each[0]["best_constant"] for each in rows])


def test_a_study_tells_what_it_compares_with() -> None:
    row = trial(SimulatedAnswers(200, 20, 0.5), [SlotResponse(4.0, TEN)], 1)[0]
    assert row["users"] == 200
    assert row["epsilon"] == 4.0
    assert 0 < row["best_constant"] < row["middle"]
    assert row["mae"] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"slots": 0},
        {"listed": 0},
        {"levels": 1},
        {"levels": 11},
        {"slots": 40},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"epsilon": 1.0, "domain": TEN, **wrong}
    with pytest.raises(ParameterError):
        SlotResponse(**asked)


def test_impossible_sparsities_are_refused() -> None:
    with pytest.raises(ParameterError):
        expected_error(SlotResponse(1.0, TEN), 10, 10, 1.5)
