"""Laplace noise on every cell: exact, with NULL hidden among the answers, at the epsilon that is printed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, log, nan, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from sparse_answers import ERROR, NULL, Row, answers_of, crowd, fill_alone, follows, received, stream

from crowdveil.answers import Domain
from crowdveil.arrays import Floats
from crowdveil.engines.local import OPERATIONS_IN_A_MOMENT
from crowdveil.errors import ParameterError
from crowdveil.kernels import laplace_cells as kernels
from crowdveil.local.laplace_cells import MOST, LaplaceCells, LaplaceReports
from crowdveil.randomness import seeded
from crowdveil.truth.randomized import discover

TEN = Domain(0, 9)
LAWS = [
    LaplaceCells(1.0, TEN, null=0),
    LaplaceCells(1.0, TEN, null=4),
    LaplaceCells(0.1, Domain(0, 4), null=4),
    LaplaceCells(1 / 3, Domain(-2, 1), null=0),
    LaplaceCells(5.0, Domain(0, 1), null=1),
    LaplaceCells(1.23456789, Domain(5, 30), null=6),
]


@pytest.mark.parametrize("parameters", LAWS, ids=str)
def test_the_largest_log_ratio_of_two_cells_is_the_epsilon_printed(parameters: LaplaceCells) -> None:
    # Pr[report = y] ~ exp(-|y - answer| / scale), in exact fractions; NULL is one of the answers.
    size, printed = parameters.domain.size, parameters.promise().epsilon
    assert parameters.null is not None
    inputs = [*range(size), parameters.null - parameters.domain.low]
    largest = max(
        Fraction(abs(y - second) - abs(y - first)) / parameters.scale
        for y in range(-size, 2 * size)
        for first in inputs
        for second in inputs
    )
    assert float(largest) == pytest.approx(printed, abs=1e-9, rel=0)
    assert largest <= Fraction(printed)
    assert largest <= Fraction(repr(parameters.epsilon))


@pytest.mark.parametrize(("epsilon", "domain"), [(1.0, TEN), (0.1, Domain(0, 4)), (4.0, Domain(-3, 3))])
def test_a_random_answer_in_place_of_null_costs_no_more(epsilon: float, domain: Domain) -> None:
    parameters = LaplaceCells(epsilon, domain)
    codes, scale = np.arange(domain.size), float(parameters.scale)
    y = np.arange(-3 * domain.size, 4 * domain.size)
    laws = np.exp(-np.abs(y[:, None] - codes) / scale)
    logs = np.log(np.column_stack([laws, laws.mean(axis=1)]))
    largest = float((logs.max(axis=1) - logs.min(axis=1)).max())
    assert largest == pytest.approx(parameters.promise().epsilon, abs=1e-9, rel=0)


@pytest.mark.parametrize("parameters", LAWS, ids=str)
def test_a_bound_on_reports_costs_nothing(parameters: LaplaceCells) -> None:
    """All that lies beyond is one report: a ratio of sums is no larger than those of the parts."""
    scale, size = float(parameters.scale), parameters.domain.size
    beyond = [sum(exp(-(y - code) / scale) for y in range(size, size + 4000)) for code in range(size)]
    assert log(max(beyond) / min(beyond)) == pytest.approx(parameters.realised, abs=1e-9, rel=0)


def law_within(parameters: LaplaceCells, code: int, first: int, last: int) -> Floats:
    """Chances of places first ... last; what lies beyond counts for the ends."""
    q = exp(-1 / float(parameters.scale))
    chances: Floats = np.power(q, np.abs(np.arange(first, last + 1) - code)) * (1 - q) / (1 + q)
    chances[[0, -1]] /= 1 - q
    return chances


def counted(places: NDArray[np.int16], first: int, last: int) -> NDArray[np.int64]:
    """How often each place was told; what lies beyond counts for the ends."""
    return np.bincount(np.clip(places, first, last).astype(np.int64) - first, minlength=last - first + 1)


@pytest.mark.parametrize("parameters", [LAWS[0], LAWS[3], LaplaceCells(3.0, Domain(0, 1), null=1)], ids=str)
def test_reports_follow_the_law(parameters: LaplaceCells) -> None:
    low, high = parameters.domain.low, parameters.domain.high
    assert parameters.null is not None
    reach = round(3 * float(parameters.scale)) + 1
    places = received(crowd([high, NULL], parameters.domain, 30_000), parameters, rng=seeded(2)).places
    for column, code in ((0, high - low), (1, parameters.null - low)):
        within = (code - reach, code + reach)
        assert follows(counted(places[:, column], *within), law_within(parameters, code, *within))


def test_a_random_answer_in_place_of_null_follows_the_mixture() -> None:
    parameters, within = LaplaceCells(3.0, Domain(0, 4)), (-7, 11)
    places = received(crowd([NULL], parameters.domain, 100_000), parameters, rng=seeded(2)).places[:, 0]
    law = np.mean([law_within(parameters, code, *within) for code in range(5)], axis=0)
    assert follows(counted(places, *within), law)


def test_noise_wrong_by_5_percent_would_be_noticed() -> None:
    wrong, within = LaplaceCells(1.05, TEN, null=0), (-18, 36)
    places = received(crowd([9, 9], TEN, 30_000), wrong, rng=seeded(2)).places.ravel()
    assert not follows(counted(places, *within), law_within(LAWS[0], 9, *within))


def test_reports_beyond_the_bound_are_set_to_it() -> None:
    out = np.empty(5000, dtype=np.int16)
    answered, codes = np.array([], dtype=np.int32), np.array([], dtype=np.uint8)
    noise = np.arange(-2500, 2500)
    kernels.fill_noisy(stream("user", "bound"), answered, codes, 10, 3, noise, 6, out)
    assert (out == np.clip(noise + 3, -6, 6)).all()


@pytest.mark.parametrize("null", [None, 2])
def test_debiased_means_are_unbiased(null: int | None) -> None:
    """Where the share of those who answered is known, and only then."""
    parameters, rounds = LaplaceCells(2.0, TEN, null), 60
    rows: list[Row] = [[9, NULL], [5, NULL], [NULL, 3], [NULL, NULL]]
    table = answers_of(60 * rows, TEN)
    found = np.array(
        [
            received(table, parameters, rng=seeded(seed)).debiased_means(np.array([0.5, 0.25]))
            for seed in range(rounds)
        ]
    )
    deviation = found.std(axis=0, ddof=1) / sqrt(rounds)
    assert (np.abs(found.mean(axis=0) - [7.0, 3.0]) <= 1.5 * norm.isf(ERROR) * deviation).all()


def test_means_of_reports_lie_between_answers_and_what_stands_for_null() -> None:
    parameters = LaplaceCells(2.0, Domain(10, 19), null=12)
    told = received(crowd([19, NULL], Domain(10, 19), 40_000), parameters, rng=seeded(1))
    deviation = sqrt(parameters.noise_variance / 40_000)
    assert told.means() == pytest.approx([19, 12], abs=6 * deviation)
    assert np.var(told.places, axis=0) == pytest.approx(2 * [parameters.noise_variance], rel=0.1)
    assert parameters.null_mean == 12
    assert LaplaceCells(2.0, Domain(10, 19)).null_mean == 14.5


def slow_inverse_deviation(values: Any) -> Any:
    """The paper's algorithm 1 on a table, as it is written there."""
    quality = np.full(len(values), 1 / len(values))
    for _ in range(200):
        truths = quality @ values / quality.sum()
        quality = 1 / np.sqrt(np.square(values - truths).mean(axis=1))
    return truths


def test_truths_are_those_of_the_papers_algorithm() -> None:
    domain = Domain(-2, 7)
    rows = [[(3 * u + j) % 10 - 2 if (u * j) % 3 else NULL for j in range(12)] for u in range(40)]
    told = received(answers_of(rows, domain), LaplaceCells(3.0, domain), rng=seeded(1))
    found = told.truths()
    assert found.converged
    assert found.estimates == pytest.approx(slow_inverse_deviation(told.places + float(domain.low)), abs=1e-3)
    assert found.weights.sum() == pytest.approx(1.0)
    same = LaplaceReports(told.objects, told.users, told.parameters, np.full_like(told.places, 3)).truths()
    assert same.estimates == pytest.approx(1.0)  # nobody strays: all weigh the same


def test_a_users_reports_do_not_depend_on_other_users() -> None:
    parameters = LaplaceCells(1.0, TEN)
    rows = [[1, NULL, 5, NULL, 9], [NULL, 3, 3, 3, NULL], [0, 0, NULL, NULL, 7]]
    all_of_them = received(answers_of(rows, TEN, ["ann", "ben", "cy"]), parameters, rng=seeded(1)).places
    turned = received(answers_of(rows[::-1], TEN, ["cy", "ben", "ann"]), parameters, rng=seeded(1)).places
    assert turned[::-1].tolist() == all_of_them.tolist()
    for user, name in enumerate(("ann", "ben", "cy")):
        alone = answers_of([rows[user]], TEN, [name])
        out = np.empty(5, dtype=np.int16)
        fill_alone(parameters, name, alone, out)
        assert out.tolist() == all_of_them[user].tolist()


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    table, parameters = crowd([3] + [NULL] * 20, TEN, 5), LaplaceCells(1.0, TEN)
    first, second = (received(table, parameters, rng=seeded(8)).places for _ in range(2))
    assert (first == second).all()
    assert (first != received(table, parameters, rng=seeded(9)).places).any()
    assert (received(table, parameters).places != received(table, parameters).places).any()
    assert first.dtype == np.int16


def test_many_devices_on_threads_send_what_each_would_alone() -> None:
    table, parameters = crowd([3, NULL] * 300, TEN, 2000), LaplaceCells(1.0, TEN)
    assert len(table.users) * len(table.objects) > OPERATIONS_IN_A_MOMENT
    places = received(table, parameters, rng=seeded(8)).places
    for user in (0, 499, 500, 1999):
        own = slice(table.offsets[user], table.offsets[user + 1])
        out = np.empty(600, dtype=np.int16)
        device = parameters.device(table.objects, np.arange(len(table.users)))
        device(user, stream(user, parameters.method, 8), table.object_codes[own], table.codes[own], out)
        assert (out == places[user]).all()


def test_the_promise_is_pure_local_and_adds_up_over_objects() -> None:
    parameters = LaplaceCells(0.1, TEN)
    cell, user = parameters.promise(), parameters.promise("user", 200)
    assert (cell.unit, cell.delta, cell.adjacency, cell.trust) == ("cell", 0.0, "replace-or-none", "local")
    assert (cell.epsilon, user.epsilon, user.unit) == (0.1, 20.0, "user")


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        *((lambda e=e: LaplaceCells(e, TEN), "epsilon") for e in (0.0, -1.0, nan, inf, 1e-7, 1e-3)),
        *((lambda v=v: LaplaceCells(1.0, TEN, v), "stands for NULL") for v in (-1, 10, 2.5)),
        (lambda: LaplaceCells(0.05, Domain(0, 199)), "two bytes"),
        (lambda: LaplaceCells(1.0, TEN).promise("user", 0), "number of objects"),
        *(
            (lambda s=s: received(crowd([1], TEN, 2), LaplaceCells(1.0, TEN)).debiased_means(s), "share")
            for s in (0.0, -0.1, 1.1, nan)
        ),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        make()


def test_a_refusal_names_an_epsilon_that_is_taken() -> None:
    with pytest.raises(ParameterError, match=r"at least 0\.0978 ") as refused:
        LaplaceCells(0.05, Domain(0, 199))
    assert "0.05" in str(refused.value)
    assert 200 + 16 * LaplaceCells(0.0978, Domain(0, 199)).scale <= MOST


@pytest.mark.parametrize(
    "parameters", [*LAWS, LaplaceCells(1.0, TEN), LaplaceCells(2.0, Domain(0, 199))], ids=str
)
def test_ranges_of_places_have_the_law_of_their_places(parameters: LaplaceCells) -> None:
    size, scale = parameters.domain.size, float(parameters.scale)
    reports = received(crowd([parameters.domain.low], parameters.domain, 3), parameters, rng=seeded(1))
    every = np.arange(-MOST, MOST + 1, dtype=np.int16)
    told = LaplaceReports(reports.objects, reports.users, parameters, every[None, :]).cells(0.5)
    law = np.zeros((size + 1, told.law.shape[1]))
    q = exp(-1 / scale)
    for code in range(size):
        chances = np.power(q, np.abs(every.astype(np.int64) - code)) * (1 - q) / (1 + q)
        law[code] = np.bincount(told.symbols[0], chances, minlength=law.shape[1])
    null = slice(0, size) if parameters.null is None else parameters.null - parameters.domain.low
    law[size] = law[null].mean(axis=0) if parameters.null is None else law[null]
    assert told.law == pytest.approx(law, abs=1e-6)  # sixteen scales are in the sum, not all
    assert (np.diff(told.symbols[0].astype(int)) >= 0).all()
    assert told.symbols.max() == told.law.shape[1] - 1 == told.levels.size - 1


@pytest.mark.parametrize(("epsilon", "answered"), [(1.0, 0.5), (3.0, 0.2)])
def test_truths_from_ranges_are_nearer_than_those_of_the_papers_algorithm(
    epsilon: float, answered: float
) -> None:
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truths = rng.uniform(0, 9, 60)
        values = np.clip(np.rint(truths + rng.normal(size=(400, 60))), 0, 9).astype(int)
        given = rng.random(values.shape) < answered
        rows = [
            [int(v) if g else NULL for v, g in zip(*row, strict=True)]
            for row in zip(values, given, strict=True)
        ]
        reports = received(answers_of(rows, TEN), LaplaceCells(epsilon, TEN), rng=seeded(seed))
        plain = np.abs(reports.truths().estimates - truths).mean()
        gains.append(plain - np.abs(discover(reports.cells(answered)).estimates - truths).mean())
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / sqrt(len(gains))


def test_with_next_to_no_answers_truths_from_ranges_are_about_equal() -> None:
    rows = [[NULL] * 30] * 200
    reports = received(answers_of(rows, TEN), LaplaceCells(0.5, TEN), rng=seeded(1))
    assert np.ptp(discover(reports.cells(0.01)).estimates) < 1


@pytest.mark.parametrize("answered", [0.0, -0.1, 1.1, nan])
def test_a_bad_share_of_answered_cells_is_refused(answered: float) -> None:
    with pytest.raises(ParameterError, match="share of cells"):
        received(crowd([1], TEN, 2), LaplaceCells(1.0, TEN)).cells(answered)
