"""Basic: exact noise on a public grid, with the epsilon that was asked for and no more."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, nan, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.public_range import Range
from crowdveil.randomness import secure, seeded
from crowdveil.releases.basic import Basic
from crowdveil.releases.method import release
from crowdveil.releases.result import Status

Floats = NDArray[np.float64]

ERROR = 1e-6
TEN = Range(0.0, 10.0)
PARAMETERS = [
    Basic(1.0, TEN),
    Basic(0.3, TEN, resolution=1.0),
    Basic(2.0, Range(-5.0, 5.0), resolution=0.1),
    Basic(1.0, Range(0.0, 1.0), resolution=0.3),
    Basic(1.0, Range(0.1, 0.7), resolution=0.1),
    Basic(1 / 3, Range(0.0, 1.0), resolution=7.0),
]


def simulated(objects: int = 40, per_object: int = 25) -> Claims:
    values = 12 * seeded(1).stream("values", purpose="test").uniforms(objects * per_object) - 1
    names = [f"object {i}" for i in range(objects) for _ in range(per_object)]
    return Claims.from_columns(names, list(range(per_object)) * objects, values.tolist())


def one_object(values: Floats) -> Claims:
    return Claims.from_columns(["object"] * len(values), range(len(values)), values.tolist())


def noise_of(parameters: Basic, count: int, name: str) -> NDArray[np.int64]:
    """What is added, in steps: the claims of one object all lie at the low end of the range."""
    claims = Claims.from_columns([name] * count, range(count), [parameters.range.low] * count)
    released = release(claims, parameters, rng=seeded(2))
    noise: NDArray[np.int64] = np.rint((released.values - parameters.range.low) / parameters.step).astype(int)
    return noise


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_largest_log_ratio_between_two_claims_is_the_realised_epsilon(parameters: Basic) -> None:
    steps = parameters.steps
    rate = parameters.realised / steps  # of the noise, in steps: Pr[noise = y] ~ exp(-|y| rate)
    for first, second in [(0, steps), (steps, 0), (0, 1), (steps // 3, steps)]:
        ratios = [(abs(y - second) - abs(y - first)) * rate for y in range(-steps, 2 * steps + 1)]
        assert max(ratios) <= parameters.realised
        assert max(ratios) == abs(second - first) * rate
    assert steps * rate == parameters.realised <= Fraction(repr(parameters.epsilon))


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_no_claim_can_move_the_release_by_more_steps_than_its_sensitivity(parameters: Basic) -> None:
    places = [-1e9, *np.linspace(parameters.range.low, parameters.range.high, 101), 1e9]
    moved = [release(one_object(np.array([x])), parameters, rng=seeded(3)).values[0] for x in places]
    assert np.rint((max(moved) - min(moved)) / parameters.step) <= parameters.steps


def follows(noise: NDArray[np.int64], rate: float) -> bool:
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
    ("epsilon", "resolution", "sensitivity"), [(2.0, 1.0, 10), (1.0, 3.0, 4), (0.7, 2.5, 4), (1 / 3, 11.0, 1)]
)
def test_the_noise_has_scale_sensitivity_over_epsilon(
    epsilon: float, resolution: float, sensitivity: int
) -> None:
    noise = noise_of(Basic(epsilon, TEN, resolution), 200_000, f"law {epsilon} {resolution}")
    assert follows(noise, epsilon / sensitivity)


@pytest.mark.parametrize(
    ("claim", "place"), [(-3.0, 0), (0.4, 0), (0.6, 1), (5.0, 5), (9.4, 9), (9.6, 10), (10.0, 10), (99.0, 10)]
)
def test_a_claim_counts_as_its_nearest_place_on_the_grid(claim: float, place: int) -> None:
    parameters = Basic(1.0, TEN, resolution=1.0)
    here, lowest = (release(one_object(np.array([x])), parameters, rng=seeded(15)) for x in (claim, 0.0))
    assert here.values[0] - lowest.values[0] == place


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_noise_wrong_by_5_percent_would_be_noticed(factor: float) -> None:
    assert not follows(noise_of(Basic(2.0 * factor, TEN, 1.0), 200_000, "5 %"), 2.0 / 10)


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_released_values_lie_on_the_grid(parameters: Basic) -> None:
    values = release(simulated(), parameters, rng=seeded(4)).values
    low, step = parameters.range.low, parameters.step
    assert np.array_equal(values, low + step * np.rint((values - low) / step))


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_every_object_has_as_many_released_values_as_claims(parameters: Basic) -> None:
    claims = Claims.from_columns(["b", "a", "b", "c", "b"], [1, 1, 2, 1, 3], [1.0, 2.0, 3.0, 4.0, 5.0])
    released = release(claims, parameters, rng=seeded(5))
    assert released.objects.to_list() == ["a", "b", "c"]
    assert [released.of(i).size for i in range(3)] == [1, 3, 1]
    assert released.status_counts()[Status.released.name] == 3


def test_released_values_ascend_inside_each_object_so_that_the_claims_order_does_not_show() -> None:
    released = release(simulated(), Basic(0.1, TEN), rng=seeded(6))
    assert all((np.diff(released.of(i)) >= 0).all() for i in range(len(released.objects)))


@pytest.mark.parametrize(("epsilon", "resolution"), [(1.0, None), (1.0, 1.0), (20.0, 0.5)])
def test_the_noise_is_unbiased(epsilon: float, resolution: float | None) -> None:
    parameters = Basic(epsilon, TEN, resolution)
    count = 200_000
    noise = noise_of(parameters, count, f"bias {epsilon} {resolution}")
    q = exp(-epsilon / parameters.steps)
    deviation = sqrt(2 * q) / (1 - q) / sqrt(count)
    assert abs(noise.mean()) <= float(norm.isf(ERROR / 2)) * deviation


def test_released_means_are_those_of_the_claims_but_for_noise_and_rounding() -> None:
    claims = one_object(10 * seeded(7).stream("values", purpose="test").uniforms(100_000))
    parameters = Basic(1.0, TEN)
    released = release(claims, parameters, rng=seeded(7))
    q = exp(-1.0 / parameters.steps)
    deviation = parameters.step * sqrt(2 * q) / (1 - q) / sqrt(len(claims))
    error = abs(released.values.mean() - claims.values.mean())
    assert error <= float(norm.isf(ERROR / 2)) * deviation + parameters.step / 2


@pytest.mark.parametrize(("outside", "end"), [(-1e100, 0.0), (-0.1, 0.0), (10.1, 10.0), (1e100, 10.0)])
def test_claims_outside_the_range_count_as_its_nearest_end(outside: float, end: float) -> None:
    a, b = (
        release(one_object(np.array([5.0, value])), Basic(1.0, TEN), rng=seeded(8))
        for value in (outside, end)
    )
    assert np.array_equal(a.values, b.values)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1, 1 / 3, 2 / 3, 1.23456789, 1e-6, 1e6])
def test_the_promise_is_pure_and_holds_the_realised_epsilon(epsilon: float) -> None:
    parameters = Basic(epsilon, TEN, resolution=1.0)
    promise = release(simulated(), parameters, rng=secure()).promise
    assert isinstance(promise, Guarantee)
    assert promise.epsilon == float(parameters.realised)
    assert epsilon - 1e-6 < promise.epsilon <= epsilon
    assert (promise.delta, promise.unit, promise.adjacency, promise.trust) == (
        0.0,
        "claim",
        "replace-one",
        "central",
    )


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_release_states_what_was_asked_for(parameters: Basic) -> None:
    released = release(simulated(), parameters, rng=seeded(10))
    assert released.method == "basic"
    assert released.parameters == {
        "epsilon": parameters.epsilon,
        "range": [parameters.range.low, parameters.range.high],
        "resolution": parameters.step,
    }


def test_a_seed_marks_the_release_as_not_private() -> None:
    assert release(simulated(), PARAMETERS[0], rng=seeded(11)).seeded


def test_without_a_seed_the_release_is_private_and_never_the_same() -> None:
    first, second = (release(simulated(), PARAMETERS[0]) for _ in range(2))
    assert not first.seeded
    assert not second.seeded
    assert not np.array_equal(first.values, second.values)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda epsilon=epsilon: Basic(epsilon, TEN) for epsilon in (0.0, -1.0, nan, inf, 1e-7, 1e7)),
        *(lambda width=width: Basic(1.0, TEN, width) for width in (0.0, -1.0, nan, inf)),
        lambda: Basic(1.0, TEN, resolution=1e-12),
        lambda: Basic(1e-6, TEN, resolution=1e-6),
        lambda: Basic(1.0, Range(1.0, 1.0)),
        lambda: Basic(1.0, Range(2.0, 1.0)),
        lambda: Basic(1.0, Range(0.0, inf)),
        lambda: Basic(1.0, Range(nan, 1.0)),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Basic]) -> None:
    with pytest.raises(ParameterError):
        make()


def test_one_and_two_threads_release_the_same() -> None:
    claims = simulated(objects=500, per_object=120)
    one, two = (
        release(claims, PARAMETERS[0], rng=seeded(12), engine=LocalEngine(threads)) for threads in (1, 2)
    )
    assert len(list(claims.blocks(20_000))) > 1
    assert np.array_equal(one.values, two.values)


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [(f"object {i % 50}", i // 50, (i * 0.7) % 10) for i in range(1000)]
    order = np.argsort(seeded(13).stream("order", purpose="test").uniforms(len(rows)))
    straight, shuffled = (
        release(Claims.from_columns(*zip(*table, strict=True)), PARAMETERS[0], rng=seeded(13))
        for table in (rows, [rows[i] for i in order])
    )
    assert straight.to_frame().equals(shuffled.to_frame())


def test_other_objects_do_not_matter() -> None:
    rows = [(i % 50, i // 50, (i * 0.7) % 10) for i in range(1000)]
    few = [row for row in rows if row[0] in (7, 31)]
    everything, part = (
        release(Claims.from_columns(*zip(*table, strict=True)), PARAMETERS[0], rng=seeded(14))
        for table in (rows, few)
    )
    assert np.array_equal(np.concatenate([everything.of(7), everything.of(31)]), part.values)


def test_two_releases_from_one_source_do_not_share_noise() -> None:
    rng, parameters = secure(), Basic(1.0, Range(0, 100), 1)
    names, users = ["a"] * 200, list(range(200))
    low, high = (
        release(Claims.from_columns(names, users, [value] * 200), parameters, rng=rng).values
        for value in (1.0, 50.0)
    )
    # Shared noise would make every difference 49.
    assert len(set((high - low).tolist())) > 10


@pytest.mark.parametrize(
    ("limits", "resolution"),
    [((-1e308, 1e308), None), ((-8e307, 8e307), 1.0), ((0, 5e-324), None), ((0, 1), 1e-320)],
)
def test_grids_beyond_floating_point_are_refused(
    limits: tuple[float, float], resolution: float | None
) -> None:
    with pytest.raises(ParameterError):
        Basic(1.0, Range(*limits), resolution)
