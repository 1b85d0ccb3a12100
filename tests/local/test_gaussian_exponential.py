"""One exponential variance for all claims of a user: the law that is drawn, and the delta proved for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import ceil, exp, expm1, inf, log, nan, pi, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from crowdveil import accounting
from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.local import VariancePerUser, paper_bound, perturb, perturb_one
from crowdveil.local.gaussian_exponential import (
    ALWAYS,
    CAP,
    LEAST_DELTA,
    MOST_CLAIMS,
    STEPS_TO_MEAN,
    WeakGuarantee,
    paper_delta,
)
from crowdveil.public_range import Range
from crowdveil.randomness import chacha, seeded
from crowdveil.randomness.gaussian import check_variance, discrete_gaussian
from crowdveil.randomness.samplers import discrete_laplace

ERROR = 1e-6
ONE, TEN = Range(0.0, 1.0), Range(0.0, 10.0)
FINE = VariancePerUser(0.5, ONE)
COARSE = VariancePerUser(0.05, Range(0.0, 5.0), resolution=1.0)  # 5 steps, a mean variance of 20
FLOORED = VariancePerUser(0.05, Range(0.0, 5.0), resolution=1.0, floor=10.0)


def law_of_the_variance(parameters: VariancePerUser) -> tuple[Floats, Floats]:
    """All variances that can be drawn, in squared steps, and their chances: geometric, with a cap."""
    steps = np.arange(1, CAP + 1)
    chances = np.exp(-(steps - 1) / STEPS_TO_MEAN) * -expm1(-1 / STEPS_TO_MEAN)
    chances[-1] = exp(-(CAP - 1) / STEPS_TO_MEAN)
    first, den = parameters.variance(0)
    step = parameters.variance(1)[0] - first
    return (first + step * steps) / den, chances


@cache
def density(parameters: VariancePerUser, claims: int, most: int) -> Floats:
    """The chance of each row of so many whole numbers, by their sum of squares, up to `most`."""
    variances, chances = law_of_the_variance(parameters)
    roots = np.arange(int(sqrt(most)) + 1)
    squares = np.unique(sum(np.meshgrid(*[roots**2] * claims), start=np.zeros(1, dtype=np.int64)))
    squares = squares[squares <= most]
    found = np.full(most + 1, nan)
    found[squares] = 0.0
    for part in np.array_split(np.arange(25 * STEPS_TO_MEAN), 1000):  # past 25 means nothing is left
        v = variances[part]
        # The sum over whole numbers of exp(-y^2 / (2 v)) is sqrt(2 pi v) to 34 digits, as v > 4.
        weights = chances[part] * (2 * pi * v) ** (-claims / 2)
        found[squares] += weights @ np.exp(-squares / (2 * v[:, None]))
    return found


@pytest.mark.parametrize("parameters", [FINE, COARSE, FLOORED, VariancePerUser(1e3, TEN, 0.01)])
def test_the_law_of_the_variance_is_an_exponential_one_rounded_up(parameters: VariancePerUser) -> None:
    variances, chances = law_of_the_variance(parameters)
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    assert variances.min() > ALWAYS + parameters.floor_in_steps
    mean = float(parameters.mean)
    asked_for = 1 / parameters.rate / parameters.grid.step**2
    assert asked_for * (1 - 1e-12) <= mean <= asked_for * (1 + 1e-5)
    # ... rounded up to 1/4096 of its mean: at least as large with every chance.
    drawn = variances - ALWAYS - parameters.floor_in_steps
    for k in (0, 1, 1000, 4096, 100_000):
        at_least = float(chances[k:].sum())
        assert drawn[k] == pytest.approx((k + 1) * mean / STEPS_TO_MEAN, rel=1e-9)
        assert at_least == pytest.approx(exp(-k / STEPS_TO_MEAN), rel=1e-9)
    stated = float(variances @ chances) * parameters.grid.step**2
    assert parameters.noise_variance == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        FINE,
        COARSE,
        FLOORED,
        VariancePerUser(1e9, ONE),
        VariancePerUser(1e-3, ONE),
        VariancePerUser(1.0, ONE, 0.001, floor=1e4),
        VariancePerUser(1e12, ONE, 0.001, floor=1e4),
    ],
    ids=str,
)
def test_every_variance_is_one_that_the_sampler_takes(parameters: VariancePerUser) -> None:
    for steps in (1, 2, CAP - 1, CAP):
        check_variance(*parameters.variance(steps))
    assert parameters.mean >= 1 / (Fraction(parameters.rate) * Fraction(parameters.grid.step) ** 2)


def noise_of(parameters: VariancePerUser, users: int, claims: int, seed: int = 1) -> Ints:
    """What is added, in steps: a row for each user."""
    objects = np.tile(np.arange(claims), users)
    low = np.full(users * claims, parameters.range.low)
    table = Claims.from_columns(objects, np.repeat(np.arange(users), claims), low)
    noisy = perturb(table, parameters, rng=seeded(seed)).claims
    out = np.empty((users, claims), dtype=np.int64)
    steps = np.rint((noisy.values - parameters.range.low) / parameters.grid.step)
    out[noisy.user_codes, np.repeat(np.arange(claims), users)] = steps
    return out


def follows(noise: Ints, parameters: VariancePerUser) -> bool:
    """The chi-square test of single claims' noise against the law."""
    reach = int(np.floor(2.5 * sqrt(float(parameters.mean) + ALWAYS + parameters.floor_in_steps)))
    one_side = density(parameters, 1, reach * reach)[np.arange(reach + 1) ** 2]
    chances = np.concatenate([one_side[:0:-1], one_side])
    expected = np.append(chances, 1 - chances.sum()) * noise.size
    inside = noise[np.abs(noise) <= reach]
    observed = np.append(np.bincount(inside + reach, minlength=2 * reach + 1), noise.size - inside.size)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return expected.min() >= 20 and statistic <= float(chi2.isf(ERROR, expected.size - 1))


@pytest.mark.parametrize("parameters", [COARSE, FLOORED], ids=["no floor", "floor"])
def test_the_noise_of_a_claim_follows_its_law(parameters: VariancePerUser) -> None:
    assert follows(noise_of(parameters, 50_000, 1)[:, 0], parameters)


@pytest.mark.parametrize("rate", [0.045, 0.055])
def test_a_rate_wrong_by_10_percent_would_be_noticed(rate: float) -> None:
    wrong = VariancePerUser(rate, Range(0.0, 5.0), resolution=1.0)
    assert not follows(noise_of(wrong, 200_000, 1)[:, 0], COARSE)


def test_claims_of_a_user_share_their_variance_and_users_do_not() -> None:
    users, reach = 50_000, 6
    large = np.abs(noise_of(COARSE, users, 2, seed=2)) > reach
    variances, chances = law_of_the_variance(COARSE)
    y = np.arange(-reach, reach + 1)[:, None]
    beyond = np.empty(variances.size)
    for part in np.array_split(np.arange(variances.size), 100):
        v = variances[part]
        beyond[part] = 1 - np.exp(-y * y / (2 * v)).sum(axis=0) / np.sqrt(2 * pi * v)
    both, one = float(chances @ beyond**2), float(chances @ beyond)

    def has_chance(hits: int, draws: int, chance: float) -> bool:
        return bool(binom.ppf(ERROR / 2, draws, chance) <= hits <= binom.isf(ERROR / 2, draws, chance))

    assert has_chance(int(large.all(axis=1).sum()), users, both)
    assert not has_chance(int(large.all(axis=1).sum()), users, one * one)
    assert has_chance(int((large[::2, 0] & large[1::2, 0]).sum()), users // 2, one * one)


@pytest.mark.parametrize("parameters", [FINE, COARSE, FLOORED], ids=["fine", "coarse", "floor"])
def test_the_noise_has_mean_zero_and_the_stated_variance(parameters: VariancePerUser) -> None:
    users = 50_000
    noise = parameters.grid.step * noise_of(parameters, users, 1, seed=3)[:, 0].astype(np.float64)
    far = float(norm.isf(ERROR / 4))
    assert abs(noise.mean()) <= far * sqrt(parameters.noise_variance / users)
    # E y^4 = 3 E v^2 is at most six times the squared mean of v.
    spread = parameters.noise_variance * sqrt(5.0 / users)
    assert abs(np.square(noise).mean() - parameters.noise_variance) <= far * spread


def test_draws_are_those_of_a_slow_twin() -> None:
    # lambda2 = 1/2 on 1,000 steps: a mean variance of 2,000,000, in steps of 2,000,000/4,096, and 4 more.
    for user in range(20):
        state = np.zeros(chacha.STATE_WORDS, dtype=np.uint32)
        key, nonces = seeded(5).streams([user], purpose="local gauss-exp")
        chacha.start(state, key, nonces[0])
        while True:
            drawn = discrete_laplace(state, 4096, 1)
            if drawn >= 0:
                break
        num = 4 * 4096 + (drawn + 1) * 2_000_000
        slow = [discrete_gaussian(state, num, 4096) * 0.001 for _ in range(7)]
        assert perturb_one([0.0] * 7, FINE, user=user, rng=seeded(5)).tolist() == slow


# The delta.


def test_the_stated_deltas_are_those_of_the_privacy_page() -> None:
    assert FINE.delta_at(1.0) == pytest.approx(0.187067, abs=5e-7)
    assert FINE.delta_at(1.0, 30) == pytest.approx(0.898112, abs=5e-7)
    # What N = 2, 5 and 30 claims show about one of them, exactly; tests/accounting integrates these.
    assert max(0.082, 0.141, 0.179) < FINE.delta_at(1.0)
    rare = VariancePerUser(1 / 5e5, ONE, resolution=0.01)
    assert rare.delta_at(1.0) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("parameters", [COARSE, FLOORED], ids=["no floor", "floor"])
def test_one_claim_alone_stays_below_the_delta(parameters: VariancePerUser, epsilon: float) -> None:
    """The law of a noisy claim at one end of the range and at the other, enumerated."""
    steps, reach = parameters.grid.steps, 60  # what lies further out could only add to the exact delta
    law = density(parameters, 1, (reach + steps) ** 2)
    y = np.arange(-reach, reach + 1)
    here, there = law[y * y], law[(y - steps) ** 2]
    exact = float(np.maximum(here - exp(epsilon) * there, 0).sum())
    assert exact <= parameters.delta_at(epsilon)
    assert exact > 0 or epsilon > 1


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("parameters", [COARSE, FLOORED], ids=["no floor", "floor"])
def test_two_claims_of_a_user_stay_below_the_delta(parameters: VariancePerUser, epsilon: float) -> None:
    """The joint law of two noisy claims, enumerated: one of them moves, or both do."""
    steps, reach = parameters.grid.steps, 35
    law = density(parameters, 2, 2 * (reach + steps) ** 2)
    a, b = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1))
    here = law[a * a + b * b]
    deltas = [
        float(np.maximum(here - exp(epsilon) * law[(a - steps) ** 2 + (b - other) ** 2], 0).sum())
        for other in (0, steps)
    ]
    assert 0 < deltas[0] <= parameters.delta_at(epsilon)
    assert deltas[0] < deltas[1] <= parameters.delta_at(epsilon, 2)


@pytest.mark.parametrize(
    ("parameters", "share"), [(FINE, 0.999), (COARSE, 0.6), (FLOORED, 0.7)], ids=["fine", "coarse", "floor"]
)
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_with_the_variance_told_the_delta_is_nearly_reached_on_a_fine_grid(
    parameters: VariancePerUser, share: float, epsilon: float
) -> None:
    """The mean over the variances of the exact delta of discrete Gaussian noise, at every 64th of them."""
    variances, chances = law_of_the_variance(parameters)
    places = np.arange(31, 16 * STEPS_TO_MEAN, 64)
    blocks = np.add.reduceat(chances[: 16 * STEPS_TO_MEAN], np.arange(0, 16 * STEPS_TO_MEAN, 64))
    deltas = [
        accounting.discrete_gaussian_delta(sqrt(v), parameters.grid.steps, epsilon) for v in variances[places]
    ]
    told = float(blocks @ np.array(deltas))
    assert share * parameters.delta_at(epsilon) < told < parameters.delta_at(epsilon)


@pytest.mark.parametrize("variance", [4.25, 5.0, 9.0, 40.0, 2000.0])
@pytest.mark.parametrize("shift", [1, 2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 5.0])
def test_discrete_noise_is_no_weaker_than_continuous_noise_of_four_squared_steps_less(
    variance: float, shift: int, epsilon: float
) -> None:
    discrete = accounting.discrete_gaussian_delta(sqrt(variance), shift, epsilon)
    continuous = accounting.gaussian_delta(sqrt(variance - ALWAYS), shift, epsilon)
    assert discrete <= continuous * (1 + 1e-9) + 1e-27


def test_rounding_a_normal_at_random_makes_discrete_gaussian_noise() -> None:
    """The step of the proof: X normal of variance w - 4, then Y ~ exp(-(Y - X)^2 / 8) has variance w."""
    w, centre = 9.5, 3
    x = np.arange(-60.0, 66.0, 1 / 128)
    weights = np.exp(-np.square(x - centre) / (2 * (w - ALWAYS))) / sqrt(2 * pi * (w - ALWAYS)) / 128
    y = np.arange(-40, 46)
    rounded = np.exp(-np.square(y - x[:, None]) / (2 * ALWAYS))
    rounded /= rounded.sum(axis=1, keepdims=True)
    law = np.exp(-np.square(y - centre) / (2 * w))
    np.testing.assert_allclose(weights @ rounded, law / law.sum(), atol=1e-15)


def test_what_the_grid_and_the_cap_can_add_is_covered() -> None:
    # In logarithms of 10: theta differs from its mean by 2 e^(-8 pi^2) at most.
    eta = 2 * exp(-8 * pi**2) * 1.01
    grid, cap = 2.1 * (2 * MOST_CLAIMS * eta) * 1.01, exp(-CAP / STEPS_TO_MEAN)
    assert grid + cap < 1e-27
    assert VariancePerUser(1.0, ONE, floor=1e4).delta_at(5.0) >= 1e-27


def test_a_floor_makes_small_deltas_possible() -> None:
    assert VariancePerUser(1.0, ONE, floor=17.0).delta_at(1.0) > 1e-6
    enough = VariancePerUser(1.0, ONE, floor=17.2)
    assert enough.delta_at(1.0) < 1e-6
    promise = enough.promise()
    assert isinstance(promise, Guarantee)
    assert not isinstance(promise, WeakGuarantee)
    assert promise.delta == 1e-6
    assert 0.99 < promise.epsilon <= 1.0
    assert enough.delta_at(promise.epsilon) <= 1e-6
    assert enough.delta_at(enough.epsilon_at(1e-20)) <= 1e-20
    user = VariancePerUser(1 / 30, ONE, floor=30 * 17.2).promise("user", 30)
    assert isinstance(user, Guarantee)
    assert (user.unit, user.delta) == ("user", 1e-6)
    assert 0.99 < user.epsilon <= 1.0


def test_figures_on_the_page_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guarantees" / "sensing.md").read_text()
    for rate in (0.5, 0.02):
        deltas = [VariancePerUser(rate, ONE).delta_at(1.0, claims) for claims in (1, 2, 5, 30, 150)]
        assert " | ".join(f"{ceil(1e6 * delta) / 1e6:.6f}" for delta in deltas) in page
    for floor in (1.0, 5.0, 17.1):
        floored = VariancePerUser(1.0, ONE, floor=floor)
        claim, user = (ceil(1000 * floored.epsilon_at(1e-6, claims)) / 1000 for claims in (1, 30))
        assert f"floor {floor:g}: {claim:.3f} and {user:.3f}" in " ".join(page.split())


# What is said.


def test_without_a_floor_the_promise_says_how_weak_it_is() -> None:
    claim, user = FINE.promise(), FINE.promise("user", 30)
    assert isinstance(claim, WeakGuarantee)
    assert isinstance(user, WeakGuarantee)
    assert (claim.epsilon, claim.unit, claim.adjacency, claim.trust) == (1.0, "claim", "replace-one", "local")
    assert claim.delta == FINE.delta_at(1.0)
    assert "weak: at epsilon = 1 it may fail in up to 188 of 1,000 cases" in claim.sentence()
    assert "weak: at epsilon = 1 it may fail in up to 899 of 1,000 cases" in user.sentence()
    assert claim.to_dict()["sentence"] == claim.sentence()
    assert any("at most 30 claims" in text for text in user.assumptions)


def test_without_a_floor_no_small_delta_is_printed() -> None:
    promise = VariancePerUser(1 / 5e5, ONE, resolution=0.01).promise()
    assert isinstance(promise, WeakGuarantee)
    assert promise.delta == LEAST_DELTA
    with pytest.raises(ParameterError, match="floor"):
        FINE.epsilon_at(1e-6)


def test_where_nothing_holds_nothing_is_promised() -> None:
    promise = VariancePerUser(1e5, ONE).promise()
    assert isinstance(promise, NoGuarantee)
    assert "1 claim " in promise.sentence()
    assert isinstance(VariancePerUser(50.0, ONE).promise("user", 1000), NoGuarantee)


@pytest.mark.parametrize("rate", [0.0, -1.0, nan, inf, -inf])
def test_bad_rates_are_refused(rate: float) -> None:
    with pytest.raises(ParameterError, match="lambda2"):
        VariancePerUser(rate, ONE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: VariancePerUser(0.5, Range(1.0, 0.0)),
        lambda: VariancePerUser(0.5, Range(1.0, 1.0)),
        lambda: VariancePerUser(0.5, ONE, resolution=0.0),
        lambda: VariancePerUser(0.5, ONE, resolution=nan),
        lambda: VariancePerUser(0.5, ONE, resolution=1e-13),
        lambda: VariancePerUser(0.5, ONE, resolution=1e-6),
        lambda: VariancePerUser(1e-6, ONE),
        lambda: VariancePerUser(0.5, ONE, floor=1e7),
        *(lambda floor=floor: VariancePerUser(0.5, ONE, floor=floor) for floor in (-1.0, nan, inf)),
        *(
            lambda delta=delta: VariancePerUser(0.5, ONE, delta=delta)
            for delta in (0.0, 1.0, nan, -1.0, 1e-21)
        ),
        lambda: FINE.promise("user", 0),
        lambda: FINE.promise("user", 10**6 + 1),
        lambda: FINE.delta_at(-1.0),
        lambda: FINE.delta_at(nan),
        lambda: FLOORED.epsilon_at(0.0),
        lambda: FLOORED.epsilon_at(1e-28),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        make()


# The paper's claim.


def test_the_papers_bound_stands_beside_the_truth() -> None:
    delta = paper_delta(0.02, 1.0, 1.0)
    assert delta == pytest.approx(0.00995, abs=5e-6)
    lambda1, b, eta = 2.0, 3.0, 0.9
    gamma = b * sqrt(2 * log(1 / (1 - eta)))
    found = paper_bound(lambda1, 1.0, delta, b=b, eta=eta, claims=30)
    assert found.noise_ratio == pytest.approx(gamma**2 / (2 * lambda1 * log(1 / (1 - delta))), rel=1e-12)
    assert found.rate == pytest.approx(lambda1 / found.noise_ratio, rel=1e-12)
    # The model's width is gamma / lambda1, and there lambda2 Delta^2 is 0.02 again.
    assert found.claim_at_most == pytest.approx(accounting.shared_variance_delta(0.02, 1.0, 1.0), rel=1e-9)
    assert found.user_at_most == pytest.approx(0.21465, abs=5e-6)
    assert found.user_at_least == pytest.approx(1 - exp(-(sqrt(1.2) - 1) / 2), rel=1e-9)
    assert found.delta < found.user_at_least < 0.208 < found.user_at_most
    assert found.refuted
    assert "refuted" in found.sentence()
    few = paper_bound(lambda1, 1.0, delta, b=b, eta=eta, claims=2)
    assert few.user_at_least < delta < few.user_at_most
    assert few.verdict == "not proved"
    wider = paper_bound(lambda1, 1.0, delta, b=b, eta=eta, claims=30, width=2 * gamma / lambda1)
    assert wider.noise_ratio == found.noise_ratio
    assert wider.user_at_least > found.user_at_least


@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_for_one_claim_on_a_public_range_the_papers_figure_is_not_too_small(
    width: float, epsilon: float
) -> None:
    ours = accounting.shared_variance_delta(0.5, width, epsilon)
    assert ours <= paper_delta(0.5, width, epsilon) * (1 + 1e-12)
    one = paper_bound(1.0, epsilon, 0.01, b=1.0, eta=0.5, claims=1)
    assert not one.refuted
    assert "public range" in one.sentence()


@pytest.mark.parametrize("claims", [2, 30])
def test_the_average_of_a_users_noisy_claims_shows_what_it_is_said_to_show(claims: int) -> None:
    """The noise of an average is Laplace noise of scale 1/sqrt(2 lambda2 N): a test of the lower bound."""
    averages = np.sort(0.001 * noise_of(FINE, 20_000, claims, seed=4).mean(axis=1))
    scale = 1 / sqrt(2 * 0.5 * claims)
    below = np.where(averages < 0, np.exp(averages / scale) / 2, 1 - np.exp(-averages / scale) / 2)
    distance = np.abs(below - (np.arange(averages.size) + 0.5) / averages.size).max()
    # Dvoretzky, Kiefer and Wolfowitz, and half a step of the grid.
    assert distance < sqrt(log(2 / ERROR) / (2 * averages.size)) + 0.001 / scale


@pytest.mark.parametrize(
    "bad",
    [
        *({"lambda1": x} for x in (0.0, -1.0, nan, inf)),
        *({"epsilon": x} for x in (0.0, -1.0, nan)),
        *({"delta": x} for x in (0.0, 1.0, nan)),
        *({"eta": x} for x in (0.0, 1.0, nan)),
        {"b": 0.0},
        {"claims": 0},
        {"width": 0.0},
    ],
    ids=str,
)
def test_bad_parameters_of_the_papers_bound_are_refused(bad: dict[str, float]) -> None:
    given = {"lambda1": 1.0, "epsilon": 1.0, "delta": 0.01, "b": 1.0, "eta": 0.5, "claims": 5} | bad
    with pytest.raises(ParameterError):
        paper_bound(**given)  # type: ignore[arg-type]
