"""The sparse paper's bounds: its worked examples, what reproduces them, and what simulations say."""

from __future__ import annotations

from math import e, exp, sqrt
from typing import Any

import numpy as np
import pytest

from crowdveil.answer_law import answer_law
from crowdveil.answers import Domain
from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.experiments.sparse_theory import (
    HALF_NORMAL,
    Crowd,
    factorization_error,
    laplace_bound,
    laplace_error,
    paper_factorization_bound,
    paper_laplace_bound,
    paper_response_bound,
    response_bound,
    response_error,
)
from crowdveil.randomness import seeded

TEN = Domain(0, 9)


def crowd(truths: Any, share: float, sigma: float = 1.0, users: int = 1) -> Crowd:
    """Users all alike."""
    return Crowd(TEN, np.atleast_1d(np.array(truths, float)), np.full(users, sigma), np.full(users, share))


EXAMPLE = crowd(0.0, 0.1)  # the paper's: all truths 0, sigma 1, a tenth answered


# --- the worked examples ------------------------------------------------------------------------------------


def test_the_example_of_laplace_follows_from_its_formula() -> None:
    assert round(paper_laplace_bound(EXAMPLE, 1.0), 2) == 14.13
    # By hand: NULLs are 4.5 away, answers sqrt(2/pi), and noise adds 10 to both.
    assert paper_laplace_bound(EXAMPLE, 1.0) == pytest.approx(0.9 * 14.5 + 0.1 * (HALF_NORMAL + 10))
    # With the mean distances put right it is smaller: distances do not simply add up.
    assert laplace_bound(EXAMPLE, 1.0) == pytest.approx(11.03, abs=0.005)


def test_the_example_of_randomized_response_does_not_follow_from_its_formula() -> None:
    printed = 3.551
    assert paper_response_bound(EXAMPLE, 1.0) == pytest.approx(3.4368, abs=5e-5)
    values = np.arange(10.0)

    def with_answers(chances: Floats) -> float:
        of_null, each = 45 / (10 + e), (45 + (e - 1) * values) / (10 + e)
        return float(0.9 * of_null + 0.1 * chances @ each)

    density = np.exp(-(values**2) / 2)
    # Neither a density that sums to 1 nor the law of clipped answers gives it.
    assert with_answers(density / density.sum()) == pytest.approx(3.5452, abs=5e-5)
    assert with_answers(answer_law(np.zeros(1), 1.0, TEN)[0]) == pytest.approx(3.5434, abs=5e-5)
    # What does: every answer is taken to be sigma = 1, and 3.5517 is cut, not rounded.
    always_one = with_answers(np.eye(10)[1])
    assert int(1000 * always_one) / 1000 == printed
    assert round(always_one, 3) != printed


def test_the_example_of_factorization_follows_for_equal_weights() -> None:
    assert round(paper_factorization_bound(TEN, 1000, 100, 1.0), 1) == 1.8
    assert paper_factorization_bound(TEN, 1000, 100, 1.0, largest_weight=2.0) == pytest.approx(
        3.5958, abs=1e-4
    )


def test_formulas_are_sums_over_users_and_objects() -> None:
    sigmas, shares = np.array([1.0, 5.0, 2.0]), np.array([0.1, 0.9, 0.4])
    weights, truths, epsilon = np.array([0.5, 0.2, 0.3]), np.array([0.0, 3.3]), 1.3
    some = Crowd(TEN, truths, sigmas, shares, 7 * weights)
    laplace = response = 0.0
    for truth in truths:
        for sigma, share, weight in zip(sigmas, shares, weights, strict=True):
            noise, away = 10 / epsilon, abs(truth - 4.5)
            laplace += weight * ((1 - share) * (away + noise) + share * (sigma * HALF_NORMAL + noise)) / 2
            total = 10 + exp(epsilon)
            part = (1 - share) * abs(truth - 45 / total)
            for x in range(10):
                density = exp(-((x - truth) ** 2) / (2 * sigma**2)) / (sqrt(2 * np.pi) * sigma)
                told = sum(y * (exp(epsilon) if x == y else 1) / total for y in range(10))
                part += share * density * abs(truth - told)
            response += weight * part / 2
    assert paper_laplace_bound(some, epsilon) == pytest.approx(laplace)
    assert paper_response_bound(some, epsilon) == pytest.approx(response)


def test_the_density_does_not_sum_to_one_and_the_law_does() -> None:
    values, truths = np.arange(10.0), np.array([-1.0, 0.0, 4.5, 9.0])
    for sigma in (1.0, 5.0):
        assert answer_law(truths, sigma, TEN).sum(axis=1) == pytest.approx(1.0)
    density = np.exp(-0.5 * (values - truths[:, None]) ** 2) / sqrt(2 * np.pi)
    assert density.sum(axis=1) == pytest.approx([0.3006, 0.6995, 1.0, 0.6995], abs=1e-3)


# --- simulations --------------------------------------------------------------------------------------------


def drawn_answers(some: Crowd, seed: int) -> tuple[Floats, Any]:
    """(m, n) of answers, and of whether there is one."""
    rng, shape = seeded(seed), (some.sigmas.size, some.truths.size)
    errors = rng.stream("errors", purpose="test").normals(shape[0] * shape[1]).reshape(shape)
    answers = np.clip(np.rint(some.truths + some.sigmas[:, None] * errors), 0, 9)
    lots = rng.stream("cells", purpose="test").uniforms(shape[0] * shape[1]).reshape(shape)
    return answers, lots < some.shares[:, None]


def laplace_errors(some: Crowd, epsilon: float, seed: int) -> float:
    """The error of the weighted mean under LP, NULL replaced by anything of the domain."""
    answers, given = drawn_answers(some, seed)
    lots = seeded(seed).stream("noise", purpose="test").uniforms(3 * answers.size).reshape(3, *answers.shape)
    noise = (np.log1p(-lots[0]) - np.log1p(-lots[1])) * 10 / epsilon
    reports = np.where(given, answers, np.floor(10 * lots[2])) + noise
    return float(np.abs(some.normal_weights() @ reports - some.truths).mean())


def response_errors(some: Crowd, epsilon: float, seed: int) -> float:
    """The error of the weighted mean of RR's reports that are not NULL."""
    answers, given = drawn_answers(some, seed)
    lots = seeded(seed).stream("noise", purpose="test").uniforms(2 * answers.size).reshape(2, *answers.shape)
    same = lots[0] < (exp(epsilon) - 1) / (10 + exp(epsilon))  # and else any of the eleven
    symbols = np.where(same, np.where(given, answers, 10), np.floor(11 * lots[1]))
    told = some.normal_weights()[:, None] * (symbols < 10)
    return float(np.abs((told * symbols).sum(axis=0) / told.sum(axis=0) - some.truths).mean())


def factorization_errors(some: Crowd, profiles: Floats, epsilon: float, seed: int) -> float:
    """The error of the weighted mean of MF's predictions."""
    answers, given = drawn_answers(some, seed)
    users, rank = some.sigmas.size, profiles.shape[0]
    lots = seeded(seed).stream("noise", purpose="test").uniforms(2 * users * rank).reshape(2, users, rank)
    noise = (np.log1p(-lots[0]) - np.log1p(-lots[1])) * 10 / epsilon
    vectors = np.array(
        [
            np.linalg.solve(profiles[:, t] @ profiles[:, t].T, profiles[:, t] @ row[t] - eta)
            for row, t, eta in zip(answers, given, noise, strict=True)
        ]
    )
    predicted = some.normal_weights() @ vectors @ profiles
    return float(np.abs(predicted - some.truths).mean())


def random_profiles(rank: int, objects: int) -> Floats:
    """Positive profiles with columns of L1 norm 1."""
    raw = seeded(1).stream("profiles", purpose="test").uniforms(rank * objects).reshape(rank, objects)
    normal: Floats = raw / raw.sum(axis=0)
    return normal


def mixed(users: int, objects: int, share: float, low: float, high: float) -> Crowd:
    """Good and poor users with weights that go with it."""
    sigmas = np.where(np.arange(users) % 2, 5.0, 1.0)
    truths = np.linspace(low, high, objects)
    return Crowd(TEN, truths, sigmas, np.full(users, share), 1 / sigmas)


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("users", [1, 40])
def test_the_mended_laplace_bound_holds_and_the_error_is_met(
    users: int, epsilon: float, share: float
) -> None:
    some = mixed(users, 400, share, -2, 9)
    found = [laplace_errors(some, epsilon, seed) for seed in range(12)]
    assert np.mean(found) <= 1.03 * laplace_bound(some, epsilon)
    # E|error| over its root mean square: 1 for a bias, 0.8 for a normal error, 0.7 for a Laplace one.
    assert 0.65 * laplace_error(some, epsilon) <= np.mean(found) <= 1.03 * laplace_error(some, epsilon)
    if users == 1:
        assert np.mean(found) == pytest.approx(laplace_bound(some, epsilon), rel=0.05)


def test_the_laplace_bound_as_printed_is_refuted() -> None:
    # One user who answers nothing: what replaces NULL is 4.5 on average, and 2.5 away from a truth of 4.5.
    nobody = crowd(np.full(4000, 4.5), 0.0)
    assert paper_laplace_bound(nobody, 5.0) == pytest.approx(2.0)
    assert laplace_bound(nobody, 5.0) == pytest.approx(3.227, abs=1e-3)
    assert laplace_errors(nobody, 5.0, 1) == pytest.approx(3.227, abs=0.2)
    # Good users by the hundreds, and a truth below the domain: the paper's simulation has many of them.
    below = crowd(np.full(50, -2.0), 1.0, 0.1, 300)
    assert paper_laplace_bound(below, 10.0) < 1.1
    assert laplace_errors(below, 10.0, 1) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("users", [40, 400])
def test_the_mended_response_bound_holds_and_the_error_is_met(
    users: int, epsilon: float, share: float
) -> None:
    some = mixed(users, 200, share, -2, 9)
    found = float(np.mean([response_errors(some, epsilon, seed) for seed in range(8)]))
    assert found <= response_bound(some, epsilon)
    assert 0.75 * response_error(some, epsilon) <= found <= 1.03 * response_error(some, epsilon)


def test_the_response_bound_as_printed_is_refuted_by_the_papers_own_example() -> None:
    example = crowd(np.zeros(50), 0.1, 1.0, 2000)
    found = response_errors(example, 1.0, 1)
    assert found == pytest.approx(4.43, abs=0.05)
    assert found > 3.551 > paper_response_bound(example, 1.0)
    assert response_error(example, 1.0) == pytest.approx(found, abs=0.05)
    assert response_bound(example, 1.0) >= found
    # All that is missing for a crowd of good users is the division by the chance of a report.
    told = (10 + 0.1 * (e - 1)) / (10 + e)
    by_law = 0.1 * answer_law(np.zeros(1), 1.0, TEN)[0] @ np.arange(10) * (e - 1) / (10 + e)
    assert found == pytest.approx((45 / (10 + e) + by_law) / told, abs=0.05)


@pytest.mark.parametrize(
    ("rank", "share", "epsilon"), [(1, 0.5, 5.0), (5, 0.9, 5.0), (5, 0.5, 1.0), (3, 0.3, 2.0)]
)
def test_the_error_of_factorization_is_met(rank: int, share: float, epsilon: float) -> None:
    some, profiles = mixed(300, 200, share, 0, 9), random_profiles(rank, 200)
    found = float(np.mean([factorization_errors(some, profiles, epsilon, seed) for seed in range(3)]))
    assert 0.75 * factorization_error(some, profiles, epsilon) <= found
    assert found <= 1.05 * factorization_error(some, profiles, epsilon)


def test_the_factorization_bound_as_printed_is_refuted_where_truths_differ() -> None:
    # All sigmas are 1, weights are equal: the theorem's own case but for truths from 0 to 9.
    wide = Crowd(TEN, np.linspace(0, 9, 300), np.ones(400), np.full(400, 0.9))
    profiles = random_profiles(2, 300)
    bound = paper_factorization_bound(TEN, 300, 2, 5.0)
    assert bound < 0.82
    found = factorization_errors(wide, profiles, 5.0, 1)
    assert found > 2.0
    # A constant does as well.
    assert found == pytest.approx(np.abs(wide.truths - 4.5).mean(), abs=0.1)


def test_the_noise_of_factorization_depends_on_sparsity() -> None:
    profiles = random_profiles(5, 400)
    alone = {
        share: factorization_error(crowd(np.full(400, 4.5), share), profiles, 1.0) for share in (0.1, 1.0)
    }
    assert alone[0.1] == pytest.approx(10 * alone[1.0], rel=0.1)
    assert alone[0.1] > 5 * paper_factorization_bound(TEN, 400, 5, 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: paper_laplace_bound(EXAMPLE, 0.0),
        lambda: response_error(EXAMPLE, float("nan")),
        lambda: crowd(0.0, 1.1),
        lambda: crowd(0.0, 0.1, 0.0),
        lambda: crowd(0.0, 0.1, users=0),
        lambda: Crowd(TEN, np.zeros(1), np.ones(2), np.ones(1)),
        lambda: Crowd(TEN, np.zeros(1), np.ones(1), np.ones(1), np.zeros(1)),
        lambda: paper_factorization_bound(TEN, 0, 1, 1.0),
        lambda: paper_factorization_bound(TEN, 10, 1, 1.0, largest_weight=0.5),
        lambda: factorization_error(EXAMPLE, np.ones((1, 2)), 1.0),
        lambda: factorization_error(EXAMPLE, np.ones((1, 1)), 1.0),
    ],
)
def test_what_is_no_setting_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ParameterError):
        wrong()
