"""2-Layer: the joint law of a user's cells, enumerated, has the epsilons stated, and is what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import inf, log, nan, prod, sqrt

import numpy as np
import pytest
from scipy.stats import norm
from sparse_answers import ERROR, NULL, answers_of, crowd, fill_alone, follows, largest_log_ratio, received

from crowdveil.accounting import two_layer_epsilon
from crowdveil.answers import Domain
from crowdveil.errors import ParameterError
from crowdveil.local.two_layer import STEPS, TwoLayer
from crowdveil.randomness import seeded

TWO, FIVE = Domain(0, 1), Domain(0, 4)
Symbols = tuple[int, ...]


def joint_laws(parameters: TwoLayer, objects: int) -> dict[Symbols, list[Fraction]]:
    """For every row of a user's cells the exact chance of every row of symbols."""
    rows = list(product(range(parameters.domain.size + 1), repeat=objects))

    def chance(row: Symbols, told: Symbols) -> Fraction:
        each = (
            prod(
                (one.keep_chance if x == y else one.other_chance for x, y in zip(row, told, strict=True)),
                start=Fraction(1),
            )
            for one in parameters.responses
        )
        return sum(each, Fraction(0)) / parameters.steps

    return {row: [chance(row, told) for told in rows] for row in rows}


def neighbours(rows: dict[Symbols, list[Fraction]]) -> list[tuple[Symbols, Symbols]]:
    """All pairs that differ in one cell."""
    return [
        (first, second)
        for first in rows
        for second in rows
        if sum(x != y for x, y in zip(first, second, strict=True)) == 1
    ]


@pytest.mark.parametrize(
    ("parameters", "objects"),
    [
        (TwoLayer(1.0, FIVE, steps=6), 2),
        (TwoLayer(1.0, TWO, steps=16), 3),
        (TwoLayer(0.05, TWO, steps=5), 3),
        (TwoLayer(5.0, TWO, steps=4), 3),
        (TwoLayer(2.0, Domain(-1, 1), steps=3), 2),
        (TwoLayer(1.0, TWO, steps=1), 3),
    ],
    ids=str,
)
def test_the_largest_log_ratio_of_neighbouring_rows_is_the_epsilon_stated(
    parameters: TwoLayer, objects: int
) -> None:
    laws = joint_laws(parameters, objects)
    assert all(sum(chances) == 1 for chances in laws.values())
    largest = max(
        log(a / b)
        for first, second in neighbours(laws)
        for a, b in zip(laws[first], laws[second], strict=True)
    )
    assert parameters.cell_epsilon(objects) == pytest.approx(largest, abs=1e-9, rel=0)
    assert largest <= parameters.cell_epsilon(objects) <= parameters.promise().epsilon
    whole = largest_log_ratio(list(laws.values()))
    assert parameters.user_epsilon(objects) == pytest.approx(whole, abs=1e-9, rel=0)
    assert whole <= parameters.user_epsilon(objects) <= parameters.promise("user", objects).epsilon


@pytest.mark.parametrize("parameters", [TwoLayer(1.0, FIVE), TwoLayer(0.1, TWO, 7), TwoLayer(4.0, FIVE, 64)])
def test_one_cell_alone_has_the_epsilon_of_the_mixture(parameters: TwoLayer) -> None:
    laws = parameters.exact_law()
    assert all(sum(chances) == 1 for chances in laws)
    assert parameters.cell_epsilon(1) == pytest.approx(largest_log_ratio(laws), abs=1e-9, rel=0)
    assert parameters.law.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("mean", [0.05, 0.5, 1.0, 2.5])
@pytest.mark.parametrize("objects", [1, 2, 3, 5, 30])
def test_own_epsilons_on_a_grid_are_as_good_as_uniform_ones(mean: float, objects: int) -> None:
    stated = two_layer_epsilon(mean, 6, objects)
    assert TwoLayer(mean, FIVE).cell_epsilon(objects) == pytest.approx(stated, rel=5e-4)


@pytest.mark.parametrize(("objects", "epsilon"), [(1, 1.045), (5, 1.586), (30, 1.921), (100, 1.976)])
def test_the_epsilon_of_a_cell_grows_with_the_number_of_cells(objects: int, epsilon: float) -> None:
    parameters = TwoLayer(1.0, FIVE)
    assert parameters.cell_epsilon(objects) == pytest.approx(epsilon, abs=1.5e-3)
    assert parameters.cell_epsilon(objects) < parameters.cell_epsilon(2 * objects) < 2.0


def test_it_tends_to_the_largest_own_epsilon_and_twice_the_mean_is_printed() -> None:
    parameters = TwoLayer(1.0, FIVE)
    largest = parameters.responses[-1].epsilon
    assert largest == pytest.approx(2.0 * (1 - 0.5 / STEPS))
    assert parameters.cell_epsilon(10**6) == pytest.approx(largest, abs=1e-6)
    assert parameters.promise().epsilon == 2.0
    assert np.mean([one.epsilon for one in parameters.responses]) == pytest.approx(1.0)


def test_the_promise_is_pure_local_and_adds_up_over_objects() -> None:
    cell, user = TwoLayer(0.3, FIVE).promise(), TwoLayer(0.3, FIVE).promise("user", 100)
    assert (cell.unit, cell.delta, cell.adjacency, cell.trust) == ("cell", 0.0, "replace-or-none", "local")
    assert (cell.epsilon, user.unit) == (0.6, "user")
    assert user.epsilon == pytest.approx(60.0, abs=1e-12)
    assert Fraction(user.epsilon) >= 100 * Fraction(cell.epsilon)


@pytest.mark.parametrize("answer", [1, NULL])
def test_one_cell_follows_the_law(answer: int | None) -> None:
    told = received(crowd([answer], FIVE, 30_000), TwoLayer(1.0, FIVE), rng=seeded(5))
    row = FIVE.size if answer is None else answer
    assert follows(np.bincount(told.symbols[:, 0], minlength=6), told.law[row])


def test_cells_of_a_user_follow_the_joint_law() -> None:
    parameters = TwoLayer(2.0, TWO, steps=8)
    told = received(crowd([1, NULL, 0], TWO, 40_000), parameters, rng=seeded(6)).symbols.astype(np.int64)
    places = np.ravel_multi_index(tuple(told.T), (3, 3, 3))
    law = np.array([float(chance) for chance in joint_laws(parameters, 3)[1, 2, 0]])
    assert follows(np.bincount(places, minlength=27), law)
    # ... which is not that of independent cells.
    alone = parameters.law
    independent = np.einsum("i,j,k", alone[1], alone[2], alone[0]).ravel()
    assert not follows(np.bincount(places, minlength=27), independent)


def test_debiased_counts_are_unbiased() -> None:
    parameters, users, rounds = TwoLayer(1.5, FIVE), 1000, 40
    table = crowd([4, NULL], FIVE, users)
    keep, other = parameters.law[0, 0], parameters.law[0, 1]
    estimates = np.empty((rounds, 2))
    for seed in range(rounds):
        symbols = received(table, parameters, rng=seeded(seed)).symbols
        found = [(symbols[:, 0] == 4).mean(), (symbols[:, 1] == 4).mean()]
        estimates[seed] = (np.array(found) - other) / (keep - other)
    deviation = estimates.std(axis=0, ddof=1) / sqrt(rounds)
    assert (np.abs(estimates.mean(axis=0) - [1.0, 0.0]) <= 1.5 * norm.isf(ERROR) * deviation).all()


def test_a_users_symbols_do_not_depend_on_other_users() -> None:
    parameters = TwoLayer(1.0, FIVE)
    rows = [[1, NULL, 4, NULL], [NULL, 3, 3, NULL], [0, NULL, NULL, 2]]
    all_of_them = received(answers_of(rows, FIVE, ["ann", "ben", "cy"]), parameters, rng=seeded(1)).symbols
    turned = received(answers_of(rows[::-1], FIVE, ["cy", "ben", "ann"]), parameters, rng=seeded(1)).symbols
    assert turned[::-1].tolist() == all_of_them.tolist()
    for user, name in enumerate(("ann", "ben", "cy")):
        alone = answers_of([rows[user]], FIVE, [name])
        out = np.empty(4, dtype=np.uint8)
        fill_alone(parameters, name, alone, out)
        assert out.tolist() == all_of_them[user].tolist()


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    table, parameters = crowd([3] + [NULL] * 40, FIVE, 5), TwoLayer(1.0, FIVE)
    first, second = (received(table, parameters, rng=seeded(8)).symbols for _ in range(2))
    assert (first == second).all()
    assert (first != received(table, parameters, rng=seeded(9)).symbols).any()
    assert (received(table, parameters).symbols != received(table, parameters).symbols).any()


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        *((lambda mean=mean: TwoLayer(mean, FIVE), "mean epsilon") for mean in (0.0, -1.0, nan, inf, 22.0)),
        *((lambda n=n: TwoLayer(1.0, FIVE, n), "own epsilons") for n in (0, -1, 1.5, 5000)),
        (lambda: TwoLayer(1.0, FIVE).promise("user", 0), "number of objects"),
        (lambda: TwoLayer(1.0, FIVE).cell_epsilon(0), "number of objects"),
        (lambda: TwoLayer(1.0, FIVE).user_epsilon(-2), "number of objects"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        make()
