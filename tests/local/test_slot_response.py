"""One epsilon for all that a user answered: the exact law, what is drawn, lists, counts, and promises."""

from __future__ import annotations

from itertools import product
from math import nan, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sparse_answers import ERROR, NULL, Row, answers_of, crowd, follows, largest_log_ratio, received, stream

from crowdveil.answers import Domain
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.reports import report
from crowdveil.local.slot_response import SlotReports, SlotResponse
from crowdveil.randomness import seeded

TEN = Domain(0, 9)
SMALL = Domain(1, 3)


# --- the law ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slots", "listed", "levels", "objects"),
    [(1, 1, 3, 3), (2, 1, 2, 3), (1, 3, 2, 4), (2, 2, 2, 4), (3, 1, 3, 3), (1, 2, 3, 4)],
)
@pytest.mark.parametrize("epsilon", [0.3, 1.5, 6.0])
def test_the_largest_log_ratio_over_all_rows_is_the_epsilon_printed(
    epsilon: float, slots: int, listed: int, levels: int, objects: int
) -> None:
    parameters = SlotResponse(epsilon, SMALL, slots, listed, levels, seed=5)
    lists = parameters.lists(np.arange(1), objects)[0].tolist()
    laws = []
    for row in product([NULL, 0, 1, 2], repeat=objects):
        law = parameters.exact_law([[row[asked] for asked in each] for each in lists])
        assert sum(law) == 1
        laws.append(law)
    printed = parameters.promise("user", objects).epsilon
    assert largest_log_ratio(laws) == pytest.approx(printed, abs=1e-9, rel=0)
    assert epsilon - 1e-9 < printed <= epsilon


@pytest.mark.parametrize("levels", [2, 3])
def test_a_device_that_names_no_object_has_the_same_epsilon(levels: int) -> None:
    parameters = SlotResponse(1.5, SMALL, 1, 2, levels, unnamed=4)
    laws = [parameters.exact_unnamed_law(row) for row in product([NULL, 0, 1, 2], repeat=3)]
    assert all(sum(law) == 1 for law in laws)
    assert largest_log_ratio(laws) == pytest.approx(parameters.promise("user", 3).epsilon, abs=1e-9, rel=0)


def test_one_cell_is_randomized_response_with_null() -> None:
    for levels in (None, 2, 4):
        one, cell = SlotResponse(2.0, TEN, levels=levels), CellResponse(2.0, TEN, levels)
        rows = [*range(10), NULL]
        assert [one.exact_law([[row]]) for row in rows] == cell.exact_law()
        assert [one.exact_unnamed_law([row]) for row in rows] == cell.exact_law()


@pytest.mark.parametrize(
    ("parameters", "row"),
    [
        (SlotResponse(2.5, SMALL, 2, 2, 2), [1, 2, NULL, 3]),
        (SlotResponse(1.0, SMALL, 2, 2, 2), [NULL, NULL, NULL, NULL]),
        (SlotResponse(2.0, TEN, 1, 4, 3), [7, 2, 0, 9]),
        (SlotResponse(3.0, TEN, 2, 1), [4, NULL]),
        (SlotResponse(1.0, Domain(-2, 2), 1, 2, 4), [-1, 1]),
    ],
    ids=str,
)
def test_what_is_drawn_follows_the_law(parameters: SlotResponse, row: list[int | None]) -> None:
    users = 30_000
    told = received(crowd(row, parameters.domain, users), parameters, rng=seeded(1))
    cells = [NULL if answer is None else answer - parameters.domain.low for answer in row]
    observed, chances = np.zeros(parameters.response.symbols), np.zeros(parameters.response.symbols)
    orders, which = np.unique(told.lists.reshape(users, -1), axis=0, return_inverse=True)
    for place, order in enumerate(orders):
        asked = [cells[card] for card in order]
        lists = [asked[k : k + parameters.listed] for k in range(0, len(asked), parameters.listed)]
        law = np.array([float(chance) for chance in parameters.exact_law(lists)])
        codes = told.named[which.ravel() == place]
        # Where an order is common its own law is tested, and that of all orders together always.
        if codes.size * law.min() >= 20:
            assert follows(np.bincount(codes, minlength=law.size), law)
        observed += np.bincount(codes, minlength=law.size)
        chances += law * (codes.size / users)
    assert follows(observed, chances)


@pytest.mark.parametrize("row", [[7, NULL, 2], [NULL, NULL, NULL], [3, 3, NULL]])
def test_levels_without_an_object_follow_the_law(row: list[int | None]) -> None:
    parameters = SlotResponse(1.5, TEN, 1, 2, 4, unnamed=2)
    told = received(crowd(row, TEN, 40_000), parameters, rng=seeded(2))
    law = np.array([float(chance) for chance in parameters.exact_unnamed_law(row)])
    assert told.unnamed.size == told.named.size == 20_000
    assert follows(np.bincount(told.unnamed, minlength=5), law)


# --- lists --------------------------------------------------------------------------------------------------


def test_objects_are_dealt_alike_and_none_twice() -> None:
    parameters = SlotResponse(1.0, TEN, 2, 3, 2)
    lists = parameters.lists(np.arange(500), 20)
    assert lists.shape == (500, 2, 3)
    assert all(len(set(hand.ravel().tolist())) == 6 for hand in lists)
    often = np.bincount(lists.ravel(), minlength=20)
    assert abs(often - 150).max() < 5 * sqrt(150 / 10)  # each deck leaves two of twenty out
    evenly = np.bincount(SlotResponse(1.0, TEN, 1, 2).lists(np.arange(1000), 20).ravel(), minlength=20)
    assert evenly.tolist() == [100] * 20


def test_lists_are_those_of_the_public_seed_and_the_place_alone() -> None:
    parameters = SlotResponse(1.0, TEN, 2, 3, 2, seed=7)
    many, few = parameters.lists(np.arange(500), 20), parameters.lists(np.arange(41), 20)
    assert (many[:41] == few).all()
    assert (SlotResponse(9.0, TEN, 2, 3, 5, seed=7).lists(np.arange(41), 20) == few).all()
    assert (SlotResponse(1.0, TEN, 2, 3, 2, seed=8).lists(np.arange(41), 20) != few).any()
    sets = np.sort(SlotResponse(1.0, Domain(0, 3), 1, 2).lists(np.arange(60_000), 4)[:, 0], axis=1)
    assert follows(np.bincount(sets[:, 0] * 4 + sets[:, 1])[[1, 2, 3, 6, 7, 11]], np.full(6, 1 / 6))


def test_one_device_in_some_names_no_object() -> None:
    parameters = SlotResponse(1.0, TEN, unnamed=4)
    assert parameters.names_objects(np.arange(9)).tolist() == [
        True,
        True,
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    assert parameters.lists(np.arange(9), 20).shape == (7, 1, 1)
    assert SlotResponse(1.0, TEN).names_objects(np.arange(3)).all()


# --- devices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [SlotResponse(2.0, TEN, 2, 2, 3), SlotResponse(2.0, TEN, 1, 2, 3, 2)])
def test_a_device_needs_its_place_and_its_own_answers_alone(parameters: SlotResponse) -> None:
    rows: list[Row] = [[1, NULL, 5, NULL, 9], [NULL, 3, 3, 3, NULL], [0, 0, NULL, NULL, 7], [NULL] * 5]
    names = ["ann", "ben", "cy", "di"]
    table = answers_of(rows, TEN, names)
    sent = report(table, parameters, rng=seeded(1)).rows
    for user, name in enumerate(names):
        # Whoever else is there, and whatever they answered: the place and the stream are the user's own.
        device = parameters.device(table.objects, np.array([user]))
        own, out = answers_of([rows[user]], TEN, [name]), np.empty(1, dtype=np.int64)
        device(0, stream(name, parameters.method), own.object_codes, own.codes, out)
        assert out.tolist() == sent[user].tolist()
        changed = [row if k == user else [9] * 5 for k, row in enumerate(rows)]
        assert report(answers_of(changed, TEN, names), parameters, rng=seeded(1)).rows[user] == sent[user]


def test_answers_that_are_not_asked_about_never_leave_the_device() -> None:
    parameters = SlotResponse(20.0, TEN, 1, 2)
    asked = parameters.lists(np.arange(1), 6)[0, 0].tolist()
    sent = set()
    for other in range(10):
        row = [3 if place in asked else other for place in range(6)]
        sent.add(int(report(answers_of([row], TEN), parameters, rng=seeded(1)).rows[0, 0]))
    assert len(sent) == 1


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    table, parameters = crowd([3] + [NULL] * 4, TEN, 500), SlotResponse(0.1, TEN, 2, 2)
    first, second = (report(table, parameters, rng=seeded(8)).rows for _ in range(2))
    assert (first == second).all()
    assert (first != report(table, parameters, rng=seeded(9)).rows).any()
    assert (report(table, parameters).rows != report(table, parameters).rows).any()
    assert np.unique(first).size > 100


# --- counts -------------------------------------------------------------------------------------------------


def random_reports(parameters: SlotResponse, objects: int, users: int) -> SlotReports:
    """Numbers that devices can have sent."""
    limits = np.where(
        parameters.names_objects(np.arange(users)),
        parameters.response.symbols,
        parameters.unnamed_response.symbols,
    )
    sent = np.floor(seeded(3).stream("rows", purpose="test").uniforms(users) * limits).astype(np.int64)
    return parameters.received(pl.Series(range(objects)), pl.Series(range(users)), sent[:, None])


def test_counts_are_those_of_a_plain_loop() -> None:
    parameters = SlotResponse(3.0, TEN, 2, 4, 3, unnamed=7)
    told = random_reports(parameters, 20, 300)
    expected, times = np.zeros((20, 3), dtype=np.int64), [0] * 20
    for lists, code in zip(told.lists, told.named.tolist(), strict=True):
        for cards, symbol in zip(lists.tolist(), (code % 13, code // 13), strict=True):
            for card in cards:
                times[card] += 1
            if symbol < 12:
                expected[cards[symbol // 3], symbol % 3] += 1
    assert (told.counts() == expected).all()
    assert told.times().tolist() == times


@pytest.mark.parametrize("parameters", [SlotResponse(1.0, TEN, 1, 2, 3), SlotResponse(4.0, TEN, 2, 2, 2)])
def test_debiased_counts_are_unbiased(parameters: SlotResponse) -> None:
    """In the mean over many rounds, with a normal test of every object and level."""
    rows = [[9, NULL, 4, NULL], [0, 0, NULL, 6], [NULL, NULL, NULL, 9]] * 40
    table, rounds = answers_of(rows, TEN), 300
    expected = np.zeros((4, parameters.rounded_to))
    for row, lists in zip(rows, parameters.lists(np.arange(len(rows)), 4), strict=True):
        for cards in lists:
            given = [card for card in cards if row[card] is not None]
            for card in given:
                expected[card] += parameters.rounding[row[card]] / len(given)
    found = np.array(
        [received(table, parameters, rng=seeded(seed)).debiased_counts() for seed in range(rounds)]
    )
    scores = (found.mean(axis=0) - expected) / (found.std(axis=0, ddof=1) / sqrt(rounds))
    assert np.abs(scores).max() < norm.isf(ERROR / scores.size)


# --- promises and refusals ----------------------------------------------------------------------------------


def test_a_user_pays_once_whatever_the_number_of_objects() -> None:
    parameters = SlotResponse(1.0, TEN, 1, 4, unnamed=10)
    cell, user = parameters.promise("cell"), parameters.promise("user", 1000)
    assert (cell.unit, user.unit) == ("cell", "user")
    assert cell.epsilon == user.epsilon == parameters.promise("user", 4).epsilon
    assert 1 - 1e-9 < user.epsilon <= 1
    assert user.delta == 0
    assert user.trust == "local"
    assert any("without a look at answers" in assumption for assumption in user.assumptions)
    assert parameters.promise() == user  # its own unit
    told = report(crowd([3, NULL, 1, 2], TEN, 5), parameters)
    assert told.user_promise == parameters.promise("user", 4)
    assert not hasattr(report(crowd([3] * 4, TEN, 5), parameters, rng=seeded(1)).user_promise, "epsilon")


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0.0},
        {"epsilon": nan},
        {"slots": 0},
        {"slots": 1.5},
        {"slots": 40},
        {"listed": 0},
        {"levels": 1},
        {"levels": 11},
        {"levels": 2.5},
        {"unnamed": 1},
        {"unnamed": 2.5},
        {"seed": -1},
    ],
    ids=str,
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"epsilon": 1.0, "domain": TEN, **wrong}
    with pytest.raises(ParameterError):
        SlotResponse(**asked)


def test_more_objects_on_lists_than_there_are_is_refused() -> None:
    parameters = SlotResponse(1.0, TEN, 2, 3)
    for refused in (lambda: parameters.row(5), lambda: parameters.lists(np.arange(3), 5)):
        with pytest.raises(ParameterError, match="6 objects, of 5"):
            refused()
    with pytest.raises(ParameterError, match="number of objects"):
        parameters.promise("user", 0)
    with pytest.raises(ParameterError, match="2 lists of 3"):
        parameters.exact_law([[1, 2, 3]])


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[0], [11]]),
        np.array([[-1], [0]]),
        np.array([[0], [3]]),
        np.array([[0.0], [1.0]]),
        np.array([[0]]),
        np.array([[0, 0], [0, 0]]),
    ],
)
def test_rows_that_no_device_sends_are_refused(rows: Any) -> None:
    parameters = SlotResponse(1.0, TEN, 1, 5, 2, unnamed=2)  # the second device names no object
    with pytest.raises(InputError):
        parameters.received(pl.Series(range(5)), pl.Series(["a", "b"]), rows)
