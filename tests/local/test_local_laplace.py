"""Laplace noise on devices: exact, on a public grid, with the epsilon that was asked for and no more."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, nan, sqrt

import numpy as np
import pytest
from scipy.stats import chi2, norm

from crowdveil import accounting
from crowdveil.arrays import Ints
from crowdveil.claims import Claims
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.local import Laplace, fresh_variance, perturb
from crowdveil.public_range import Range
from crowdveil.randomness import secure, seeded

ERROR = 1e-6
TEN = Range(0.0, 10.0)
PARAMETERS = [
    Laplace(1.0, TEN),
    Laplace(0.3, TEN, resolution=1.0),
    Laplace(2.0, Range(-5.0, 5.0), resolution=0.1),
    Laplace(1.0, Range(0.0, 1.0), resolution=0.3),
    Laplace(1 / 3, Range(0.0, 1.0), resolution=7.0),
    Laplace(1.23456e-6, TEN, resolution=1e-3),
    fresh_variance(0.5, TEN, resolution=1.0),
    fresh_variance(0.02, Range(0.0, 1.0)),
]


def noise_of(parameters: Laplace, users: int, name: str) -> Ints:
    """What is added, in steps, to the claims of many users at the low end."""
    claims = Claims.from_columns([name] * users, range(users), [parameters.range.low] * users)
    noisy = perturb(claims, parameters, rng=seeded(2)).claims
    return np.rint((noisy.values - parameters.range.low) / parameters.grid.step).astype(np.int64)


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_largest_log_ratio_between_two_claims_is_the_realised_epsilon(parameters: Laplace) -> None:
    # Pr[noise = y] ~ exp(-|y| / scale), in exact fractions.
    steps = min(parameters.grid.steps, 40)
    largest = Fraction(0)
    for first in range(steps + 1):
        for second in range(steps + 1):
            for y in range(-steps, 2 * steps + 1):
                largest = max(largest, Fraction(abs(y - second) - abs(y - first)) / parameters.scale)
    assert largest == steps / parameters.scale
    whole = parameters.grid.steps / parameters.scale
    assert whole <= Fraction(repr(parameters.epsilon))
    assert whole <= Fraction(repr(parameters.realised)) <= whole * (1 + Fraction(1, 2**50))  # as printed


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1, 1 / 3, 1.23456789, 1e-6, 1e6])
@pytest.mark.parametrize("resolution", [None, 1.0, 1e-4])
def test_noise_is_never_smaller_than_asked_for_and_hardly_larger(
    epsilon: float, resolution: float | None
) -> None:
    parameters = Laplace(epsilon, TEN, resolution)
    assert 0.999999 * epsilon - 1e-6 <= parameters.realised <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_no_claim_moves_by_more_steps_than_its_sensitivity(parameters: Laplace) -> None:
    low, high = parameters.range.low, parameters.range.high
    places = parameters.grid.places(np.array([-1e149, *np.linspace(low, high, 1001), 1e149]))
    assert places.min() == 0
    assert places.max() <= parameters.grid.steps
    assert (np.diff(places) >= 0).all()


@pytest.mark.parametrize(
    ("value", "place"), [(-3.0, 0), (0.4, 0), (0.6, 1), (5.0, 5), (9.4, 9), (9.6, 10), (10.0, 10), (99.0, 10)]
)
def test_a_claim_counts_as_its_nearest_place(value: float, place: int) -> None:
    assert Laplace(1.0, TEN, resolution=1.0).grid.places(np.array([value])).tolist() == [place]


def follows(noise: Ints, rate: float) -> bool:
    """The chi-square test of noise against Pr[y] ~ exp(-|y| rate), tails past 5 scales in one cell each."""
    last = round(5 / rate)
    y = np.arange(-last, last + 1)
    mass = np.exp(-np.abs(y) * rate)
    mass[[0, -1]] /= 1 - exp(-rate)  # all that lies further out
    expected = mass / mass.sum() * len(noise)
    observed = np.bincount(np.clip(noise, -last, last) + last, minlength=len(y))
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return expected.min() >= 20 and statistic <= float(chi2.isf(ERROR, len(y) - 1))


@pytest.mark.parametrize(
    ("parameters", "rate"),
    [
        (Laplace(2.0, TEN, 1.0), 0.2),
        (Laplace(1.0, TEN, 3.0), 0.25),
        (Laplace(1 / 3, TEN, 11.0), 1 / 3),
        (fresh_variance(0.02, TEN, 1.0), 0.2),
        (fresh_variance(0.5, Range(0.0, 1.0), 0.1), 0.1),
    ],
)
def test_the_noise_follows_its_law(parameters: Laplace, rate: float) -> None:
    assert follows(noise_of(parameters, 100_000, "law"), rate)


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_noise_wrong_by_5_percent_would_be_noticed(factor: float) -> None:
    assert not follows(noise_of(Laplace(2.0 * factor, TEN, 1.0), 100_000, "5 %"), 0.2)


@pytest.mark.parametrize("parameters", [PARAMETERS[0], PARAMETERS[3], PARAMETERS[7]])
def test_the_noise_has_mean_zero_and_the_stated_variance(parameters: Laplace) -> None:
    count = 100_000
    noise = parameters.grid.step * noise_of(parameters, count, "moments").astype(np.float64)
    far = float(norm.isf(ERROR / 4))
    variance = parameters.noise_variance
    assert abs(noise.mean()) <= far * sqrt(variance / count)
    # The fourth moment of Laplace noise is six times its squared variance; of wide steps it is a little more.
    assert abs(np.square(noise).mean() - variance) <= far * variance * sqrt(6.0 / count)


def test_means_of_noisy_claims_are_those_of_the_claims_but_for_noise_and_rounding() -> None:
    count = 50_000
    values = 10 * seeded(7).stream("values", purpose="test").uniforms(count)
    perturbed = perturb(
        Claims.from_columns(["object"] * count, range(count), values.tolist()), PARAMETERS[0], rng=seeded(7)
    )
    deviation = sqrt(perturbed.law.variance / count)
    error = abs(perturbed.claims.values.mean() - values.mean())
    assert error <= float(norm.isf(ERROR / 2)) * deviation + PARAMETERS[0].grid.step / 2


@pytest.mark.parametrize(("rate", "width"), [(0.5, 1.0), (0.02, 10.0), (3.0, 0.1)])
def test_a_fresh_variance_costs_width_times_root_of_twice_the_rate(rate: float, width: float) -> None:
    parameters = fresh_variance(rate, Range(0.0, width))
    stated = accounting.fresh_variance_epsilon(rate, width)
    assert stated - 1e-6 <= parameters.realised <= stated
    # The average size of the paper's noise, 1/sqrt(2 lambda2), in steps.
    assert float(parameters.scale) * parameters.grid.step == pytest.approx(1 / sqrt(2 * rate), rel=1e-5)


def test_the_promise_is_pure_for_claims_local_and_adds_up_for_users() -> None:
    claims = Claims.from_columns(["a", "b", "c", "a"], ["u", "u", "u", "w"], [1.0, 2.0, 3.0, 4.0])
    perturbed = perturb(claims, Laplace(0.5, TEN), rng=secure())
    promise, user = perturbed.promise, perturbed.user_promise
    assert isinstance(promise, Guarantee)
    assert isinstance(user, Guarantee)
    assert (promise.epsilon, promise.delta, promise.unit) == (0.5, 0.0, "claim")
    assert (user.epsilon, user.delta, user.unit) == (1.5, 0.0, "user")
    assert promise.adjacency == user.adjacency == "replace-one"
    assert promise.trust == user.trust == "local"
    assert "nobody has to be trusted" in promise.sentence()


@pytest.mark.parametrize("claims", [1, 2, 30])
def test_sums_of_epsilons_are_not_rounded_twice(claims: int) -> None:
    # 0.1 as a float is above 1/10, and ten times that would print as 1.00001.
    assert Laplace(0.1, TEN).promise("user", claims).epsilon == claims / 10


@pytest.mark.parametrize("claims", [1, 2, 30])
def test_at_a_delta_users_pay_less_than_the_sum(claims: int) -> None:
    parameters = Laplace(0.1, TEN)
    pure, better = parameters.promise("user", claims), parameters.promise("user", claims, delta=1e-6)
    assert better.delta == 1e-6
    assert better.epsilon <= pure.epsilon
    assert better.epsilon <= accounting.composed_epsilon(parameters.realised, 0.0, claims, 1e-6)
    if claims == 30:
        assert better.epsilon < 0.9 * pure.epsilon


@pytest.mark.parametrize(
    "make",
    [
        *(lambda epsilon=epsilon: Laplace(epsilon, TEN) for epsilon in (0.0, -1.0, nan, inf, 1e-7, 1e7)),
        *(lambda width=width: Laplace(1.0, TEN, width) for width in (0.0, -1.0, nan, inf, 1e-12)),
        *(lambda rate=rate: fresh_variance(rate, TEN) for rate in (0.0, -1.0, nan, inf, 1e-99, 1e99)),
        lambda: Laplace(1e-6, TEN, resolution=1e-9),
        lambda: Laplace(1.0, Range(1.0, 1.0)),
        lambda: Laplace(1.0, Range(2.0, 1.0)),
        lambda: Laplace(1.0, Range(0.0, inf)),
        lambda: Laplace(1.0, Range(nan, 1.0)),
        lambda: Laplace(1e-3, Range(0.0, 1e150)),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Laplace]) -> None:
    with pytest.raises(ParameterError):
        make()
