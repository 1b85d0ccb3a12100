"""Errors of densities: closed forms against numbers, and Theorem 1's bound against what it bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from crowdveil.evaluation import release_measures as measures
from crowdveil.randomness import seeded
from crowdveil.releases import density

modest = settings(deadline=None, derandomize=True, max_examples=60)

Floats = naive.Floats
ERROR = 1e-6  # how often a test of chance may fail

places = st.lists(st.floats(-5, 5), min_size=1, max_size=8).map(np.array)
widths = st.floats(0.1, 2)


def even(x: Floats) -> Floats:
    return np.full(x.size, 1 / x.size)


def uneven(x: Floats) -> Floats:
    """Weights 1, 2, 3, ... made to sum to one."""
    return naive.normalised(np.arange(1.0, x.size + 1))


@modest
@given(a=places, b=places, ha=widths, hb=widths)
def test_the_closed_form_equals_the_integral(a: Floats, b: Floats, ha: float, hb: float) -> None:
    found = measures.integrated_squared_error(a, uneven(a), ha, b, uneven(b), hb)
    expected = naive.integrated_squared_error(a, uneven(a), ha, b, uneven(b), hb)
    assert found == pytest.approx(expected, abs=1e-8)


@modest
@given(a=places, b=places, h=widths)
def test_no_weights_are_equal_weights(a: Floats, b: Floats, h: float) -> None:
    expected = measures.integrated_squared_error(a, even(a), h, b, even(b), h)
    assert measures.integrated_squared_error(a, None, h, b, None, h) == pytest.approx(expected, abs=1e-14)


@modest
@given(a=places, h=widths)
def test_a_density_has_no_error_to_itself(a: Floats, h: float) -> None:
    found = measures.integrated_squared_error(a, uneven(a), h, a, uneven(a), h)
    assert 0 <= found < 1e-14


@modest
@given(released=places, h=widths, mean=st.floats(-3, 3), sd=widths)
def test_the_error_to_a_normal_equals_the_integral(
    released: Floats, h: float, mean: float, sd: float
) -> None:
    found = measures.error_to_normal(released, h, mean, sd)
    one = np.array([mean])
    expected = naive.integrated_squared_error(one, np.ones(1), sd, released, even(released), h)
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("sd", [0.1, 0.5, 1.0, 7.0])
def test_nothing_released_costs_the_energy_of_the_truth(sd: float) -> None:
    found = measures.error_to_normal(np.empty(0), 0.3, 5.0, sd)
    assert found == pytest.approx(1 / (2 * math.sqrt(math.pi) * sd), rel=1e-14)
    points = naive.fine_grid(np.array([5.0]), sd)
    truth = naive.density(points, np.array([5.0]), np.ones(1), sd)
    assert found == pytest.approx(np.trapezoid(truth**2, points), rel=1e-10)


errors = st.lists(st.floats(0, 10), min_size=1, max_size=40).map(np.array)


@modest
@given(errors=errors)
def test_sise_is_at_most_the_root_of_n_times_ise(errors: Floats) -> None:
    assert measures.sise(errors) <= math.sqrt(errors.size * measures.ise(errors)) * (1 + 1e-12)


def test_sise_reaches_its_bound_where_objects_are_alike() -> None:
    alike = np.full(50, 0.07)
    assert measures.sise(alike) == pytest.approx(math.sqrt(50 * measures.ise(alike)))


def test_the_three_sums_are_what_they_are_called() -> None:
    errors = np.array([0.0, 0.25, 4.0])
    assert measures.ise(errors) == 4.25
    assert measures.sise(errors) == 2.5
    assert measures.sise_as_printed(errors) == 16.0625


@pytest.mark.parametrize(
    ("values", "floor", "expected"),
    [
        ([], 0.2, 0.2),
        ([5.0], 0.2, 0.2),
        ([5.0, 5.0, 5.0], 0.2, 0.2),
        ([5.0, 5.1], 0.2, 0.2),
        ([1.0, 3.0], 0.2, 1.06 * math.sqrt(2) * 2**-0.2),
        ([1.0, 2.0, 3.0, 4.0], 0.0, 1.06 * math.sqrt(5 / 3) * 4**-0.2),
    ],
    ids=["none", "one", "equal", "close", "two", "four"],
)
def test_silvermans_bandwidth_has_a_floor(values: list[float], floor: float, expected: float) -> None:
    assert measures.silverman(np.array(values), floor) == pytest.approx(expected, rel=1e-14)


SHAPES: dict[str, tuple[Floats, float]] = {
    "one claim": (np.array([5.0]), 0.5),
    "one hill": (np.sort(np.random.default_rng(0).normal(5, 0.5, 30)), 0.25),
    "two hills": (np.concatenate([np.linspace(0, 1, 20), np.linspace(6, 7, 10)]), 0.3),
    "spikes": (np.arange(0.0, 40.0, 4.0), 0.1),
    "a plain": (np.linspace(0, 10, 60), 0.5),
    "a claim far off": (np.array([*np.linspace(4, 6, 29), 1e4]), 0.3),
}
shapes = pytest.mark.parametrize(("x", "h"), SHAPES.values(), ids=SHAPES)


@shapes
def test_the_steepest_slope_is_found(x: Floats, h: float) -> None:
    expected = naive.steepest_slope(x, uneven(x), h)
    assert density.steepest_slope(x, uneven(x), h) == pytest.approx(expected, rel=0.01)


@shapes
def test_a_curve_is_its_twin_and_lies_on_its_support(x: Floats, h: float) -> None:
    low, high = density.support(x, h)
    inside = np.concatenate([claim + h * np.linspace(-3, 3, 31) for claim in x])
    assert low <= inside.min() < inside.max() <= high
    found = density.curve(inside, x, uneven(x), h)
    np.testing.assert_allclose(found, naive.density(inside, x, uneven(x), h), rtol=1e-10)
    edges = density.curve(np.array([low, high]), x, None, h)
    assert edges.max() < 1e-3 / h


@shapes
@pytest.mark.parametrize("count", [1, 30, 1000])
def test_theorem_1_has_its_four_pieces(x: Floats, h: float, count: int) -> None:
    expected = naive.theorem1_bound(x, uneven(x), h, count)
    assert measures.theorem1_bound(x, uneven(x), h, count) == pytest.approx(expected, rel=0.02)


@shapes
@pytest.mark.parametrize("count", [1, 30, 1000])
def test_theorem_1_bounds_the_expected_error(x: Floats, h: float, count: int) -> None:
    assert naive.expected_error(x, uneven(x), h, count) <= measures.theorem1_bound(x, uneven(x), h, count)


def draws_from(x: Floats, w: Floats, h: float, shape: tuple[int, int], seed: int) -> Floats:
    stream = seeded(seed).stream("draws", purpose="test")
    seeds = np.searchsorted(np.cumsum(w)[:-1], stream.uniforms(math.prod(shape)), side="right")
    found: Floats = (x[seeds] + h * stream.normals(math.prod(shape))).reshape(shape)
    return found


@shapes
def test_theorem_1_bounds_the_measured_error(x: Floats, h: float) -> None:
    runs, count = 400, 30
    samples = draws_from(x, uneven(x), h, (runs, count), seed=1)
    found = [measures.integrated_squared_error(x, uneven(x), h, y, None, h) for y in samples]
    # An error lies in [0, 1 / (sqrt(pi) h)]; by Hoeffding the mean is this close to its expectation.
    near = math.sqrt(math.log(1 / ERROR) / (2 * runs)) / (math.sqrt(math.pi) * h)
    assert np.mean(found) + near <= measures.theorem1_bound(x, uneven(x), h, count)


@shapes
def test_the_measured_error_is_the_expected_one(x: Floats, h: float) -> None:
    runs, count = 400, 30
    samples = draws_from(x, uneven(x), h, (runs, count), seed=2)
    found = [measures.integrated_squared_error(x, uneven(x), h, y, None, h) for y in samples]
    near = math.sqrt(math.log(2 / ERROR) / (2 * runs)) / (math.sqrt(math.pi) * h)
    assert np.mean(found) == pytest.approx(naive.expected_error(x, uneven(x), h, count), abs=near)
