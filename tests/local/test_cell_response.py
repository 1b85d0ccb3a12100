"""Randomized response for every cell: NULL is hidden as well as an answer, at the epsilon that is printed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, log, nan, prod, sqrt

import numpy as np
import pytest
from scipy.stats import norm
from sparse_answers import ERROR, NULL, answers_of, crowd, fill_alone, follows, largest_log_ratio, received

from crowdveil.answers import Domain
from crowdveil.errors import ParameterError
from crowdveil.local.cell_response import CellResponse
from crowdveil.randomness import secure, seeded

TEN = Domain(0, 9)
LAWS = [
    CellResponse(1.0, Domain(0, 4)),
    CellResponse(0.1, TEN),
    CellResponse(5.0, TEN),
    CellResponse(1e-6, Domain(-3, 3)),
    CellResponse(20.0, Domain(0, 1)),
    CellResponse(1.0, TEN, levels=2),
    CellResponse(3.0, TEN, levels=2),
    CellResponse(1 / 3, Domain(-2, 5), levels=3),
    CellResponse(2.0, Domain(0, 4), levels=4),
    CellResponse(0.5, Domain(1, 200), levels=7),
]


@pytest.mark.parametrize("parameters", LAWS, ids=str)
def test_the_largest_log_ratio_of_two_cells_is_the_epsilon_printed(parameters: CellResponse) -> None:
    laws = parameters.exact_law()
    assert len(laws) == parameters.domain.size + 1  # NULL is one of them
    assert all(sum(row) == 1 for row in laws)
    printed = parameters.promise().epsilon
    assert largest_log_ratio(laws) == pytest.approx(printed, abs=1e-9, rel=0)
    assert printed <= parameters.epsilon


@pytest.mark.parametrize("parameters", LAWS, ids=str)
def test_an_answer_and_none_are_as_far_apart_as_two_answers(parameters: CellResponse) -> None:
    low, *_, high, null = parameters.exact_law()
    printed = parameters.promise().epsilon
    for first, second in ((low, null), (null, low), (high, null), (null, high), (low, high)):
        ratio = max(log(a / b) for a, b in zip(first, second, strict=True))
        assert ratio == pytest.approx(printed, abs=1e-9, rel=0)


@pytest.mark.parametrize("parameters", [LAWS[0], CellResponse(1.0, Domain(0, 2), levels=2)])
def test_a_users_epsilon_is_that_of_all_cells_changed(parameters: CellResponse) -> None:
    laws, objects = parameters.exact_law(), 2
    printed = parameters.promise("user", objects).epsilon
    rows = list(product(range(len(laws)), repeat=objects))
    outputs = list(product(range(len(laws[0])), repeat=objects))

    def joint(row: tuple[int, ...]) -> list[Fraction]:
        return [
            prod((laws[x][y] for x, y in zip(row, told, strict=True)), start=Fraction(1)) for told in outputs
        ]

    assert largest_log_ratio([joint(row) for row in rows]) == pytest.approx(printed, abs=1e-9, rel=0)


@pytest.mark.parametrize("parameters", LAWS, ids=str)
def test_a_kept_level_stands_for_the_answer_on_average(parameters: CellResponse) -> None:
    """Apart from what randomized response adds, rounding to levels does not move the mean."""
    keep, other = parameters.response.keep_chance, parameters.response.other_chance
    steps = parameters.rounded_to - 1
    for code, row in enumerate(parameters.exact_law()[:-1]):
        kept = [(chance - other) / (keep - other) for chance in row[:-1]]
        assert sum(kept) == 1
        mean = sum(share * Fraction(level, steps) for level, share in enumerate(kept))
        assert mean == Fraction(code, parameters.domain.size - 1)


@pytest.mark.parametrize(
    ("parameters", "answer"),
    [
        (CellResponse(1.0, Domain(0, 4)), 3),
        (CellResponse(1.0, Domain(0, 4)), NULL),
        (CellResponse(3.0, Domain(-2, 1)), -2),
        (CellResponse(1.0, TEN, levels=2), 4),
        (CellResponse(1.0, TEN, levels=2), 9),
        (CellResponse(1.0, TEN, levels=2), NULL),
        (CellResponse(2.0, TEN, levels=4), 7),
    ],
    ids=str,
)
def test_symbols_follow_the_law(parameters: CellResponse, answer: int | None) -> None:
    users = 30_000
    told = received(crowd([answer, NULL], parameters.domain, users), parameters, rng=seeded(3))
    code = parameters.domain.size if answer is None else answer - parameters.domain.low
    for place, row in ((0, code), (1, parameters.domain.size)):
        observed = np.bincount(told.symbols[:, place], minlength=told.law.shape[1])
        assert follows(observed, told.law[row])


def test_a_law_wrong_by_5_percent_would_be_noticed() -> None:
    told = received(crowd([2], Domain(0, 4), 60_000), CellResponse(1.05, Domain(0, 4)), rng=seeded(3))
    assert not follows(np.bincount(told.symbols[:, 0], minlength=6), CellResponse(1.0, Domain(0, 4)).law[2])


def test_cells_of_a_user_are_independent() -> None:
    parameters = CellResponse(1.0, Domain(0, 1))
    told = received(crowd([1, NULL], parameters.domain, 30_000), parameters, rng=seeded(4)).symbols
    pairs = np.bincount(told[:, 0].astype(np.int64) * 3 + told[:, 1], minlength=9)
    assert follows(pairs, np.outer(parameters.law[1], parameters.law[2]).ravel())


@pytest.mark.parametrize("parameters", [CellResponse(1.0, TEN), CellResponse(1.0, TEN, levels=2)], ids=str)
def test_debiased_counts_are_unbiased(parameters: CellResponse) -> None:
    """Symbols less what randomized response adds, divided by what it leaves: how many there were."""
    users, rounds = 1000, 40
    table = crowd([9, NULL, 4], TEN, users)
    keep, other = (
        float(chance) for chance in (parameters.response.keep_chance, parameters.response.other_chance)
    )
    estimates = np.empty((rounds, 3))
    for seed in range(rounds):
        symbols = received(table, parameters, rng=seeded(seed)).symbols
        null = (symbols == parameters.rounded_to).sum(axis=0)
        level = [(symbols == y).sum(axis=0) for y in range(parameters.rounded_to)]
        answered = users - (null - users * other) / (keep - other)
        whole = sum(
            value * (count - users * other) / (keep - other)
            for value, count in zip(parameters.level_values, level, strict=True)
        )
        estimates[seed] = (answered[0] / users, answered[1] / users, whole[2] / users)
    deviation = estimates.std(axis=0, ddof=1) / sqrt(rounds)
    # Forty rounds know their own deviation to a tenth or so: a little beyond the normal's bound.
    assert (np.abs(estimates.mean(axis=0) - [1.0, 0.0, 4.0]) <= 1.5 * norm.isf(ERROR) * deviation).all()


def test_a_users_symbols_do_not_depend_on_other_users() -> None:
    parameters = CellResponse(1.0, TEN, levels=3)
    rows = [[1, NULL, 5, NULL, 9], [NULL, 3, 3, 3, NULL], [0, 0, NULL, NULL, 7]]
    all_of_them = received(answers_of(rows, TEN, ["ann", "ben", "cy"]), parameters, rng=seeded(1)).symbols
    turned = received(answers_of(rows[::-1], TEN, ["cy", "ben", "ann"]), parameters, rng=seeded(1)).symbols
    assert turned[::-1].tolist() == all_of_them.tolist()
    for user, name in enumerate(("ann", "ben", "cy")):
        alone = answers_of([rows[user]], TEN, [name])
        out = np.empty(5, dtype=np.uint8)
        fill_alone(parameters, name, alone, out)
        assert out.tolist() == all_of_them[user].tolist()


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    table, parameters = crowd([3] + [NULL] * 40, TEN, 5), CellResponse(1.0, TEN)
    first, second = (received(table, parameters, rng=seeded(8)).symbols for _ in range(2))
    assert (first == second).all()
    assert (first != received(table, parameters, rng=seeded(9)).symbols).any()
    assert (received(table, parameters).symbols != received(table, parameters).symbols).any()
    assert (first[0] != first[1]).any()
    assert (received(table, parameters, rng=secure()).symbols <= TEN.size).all()


def test_the_promise_is_pure_local_and_adds_up_over_objects() -> None:
    parameters = CellResponse(0.5, TEN)
    cell, user = parameters.promise(), parameters.promise("user", 200)
    assert (cell.unit, cell.delta, cell.adjacency, cell.trust) == ("cell", 0.0, "replace-or-none", "local")
    assert cell.epsilon == pytest.approx(0.5, abs=1e-12)
    assert (user.unit, user.delta) == ("user", 0.0)
    assert Fraction(user.epsilon) >= 200 * Fraction(cell.epsilon)
    assert user.epsilon == pytest.approx(100.0, abs=1e-9)


def test_levels_stand_for_numbers_of_the_domain() -> None:
    assert CellResponse(1.0, Domain(-2, 2)).level_values.tolist() == [-2, -1, 0, 1, 2]
    assert CellResponse(1.0, Domain(-2, 2), levels=2).level_values.tolist() == [-2, 2]
    told = received(crowd([1], Domain(-2, 2), 3), CellResponse(1.0, Domain(-2, 2), levels=2), rng=seeded(1))
    assert told.law.shape == (6, 3)
    assert told.symbols.dtype == np.uint8


@pytest.mark.parametrize("epsilon", [0.0, -1.0, nan, inf])
def test_a_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        CellResponse(epsilon, TEN)


@pytest.mark.parametrize("levels", [-1, 0, 1, 11])
def test_bad_levels_are_refused(levels: int) -> None:
    with pytest.raises(ParameterError, match="levels must be at least 2 and at most 10"):
        CellResponse(1.0, TEN, levels)


@pytest.mark.parametrize("objects", [0, -1, 1.5, True])
def test_a_bad_number_of_objects_is_refused(objects: int) -> None:
    with pytest.raises(ParameterError, match="number of objects"):
        CellResponse(1.0, TEN).promise("user", objects)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (3, 1), (0, 200), (0.0, 9)])
def test_a_bad_domain_is_refused(low: int, high: int) -> None:
    with pytest.raises(ParameterError, match="domain"):
        Domain(low, high)
