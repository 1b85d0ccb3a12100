"""Every loop against its slow twin, and no loop outside its range of objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.kernels import (
    bandwidths,
    boxes,
    candidates,
    exponential,
    gaussian,
    ranges,
    reliability,
    robust,
)
from crowdveil.randomness import seeded
from naive import (
    Floats,
    bandwidth,
    combined_weights,
    hampel_loss,
    hampel_objective,
    hampel_quantiles,
    hampel_weight,
    kernel_matrix,
    local_weights,
    normalised,
    reweighted,
    spread,
    squared_distances,
)

modest = settings(deadline=None, derandomize=True, max_examples=60)

# Eighths are exact, so claims that tie or mirror each other on paper do so in the machine.
claims_of_one = st.tuples(
    st.lists(st.integers(-40, 40), min_size=1, max_size=24), st.sampled_from([0.0, 1e8])
).map(lambda drawn: drawn[1] + np.sort(np.array(drawn[0])) / 8)

OFFSETS = np.array([0, 9, 10, 22, 30])


def several(seed: int = 0) -> Floats:
    """Four objects: with spread, of one claim, with an outlier, of equal claims."""
    rng = np.random.default_rng(seed)
    parts = [[*rng.normal(5, 1, 9)], [3.0], [*rng.normal(-2, 0.1, 11), 50.0], [7.0] * 8]
    return np.concatenate([np.sort(np.array(part)) for part in parts])


def weights_of(count: int, seed: int = 0) -> Floats:
    return normalised(np.random.default_rng(seed).random(count) + 0.01)


def of(array: Floats, i: int) -> Floats:
    return array[OFFSETS[i] : OFFSETS[i + 1]]


@modest
@given(x=claims_of_one)
def test_the_spread_is_the_standard_deviation(x: Floats) -> None:
    assert bandwidths.spread(x) == pytest.approx(spread(x), rel=1e-12, abs=0)


@pytest.mark.parametrize("x", [[4.0], [0.1] * 7, [1e300] * 3, [1e8 + 0.1] * 11])
def test_claims_without_spread_have_exactly_none(x: list[float]) -> None:
    assert bandwidths.spread(np.array(x)) == 0.0


def test_the_spread_of_large_numbers_keeps_its_digits() -> None:
    x = np.sort(np.random.default_rng(1).integers(0, 2**20, 50)) / 2**20
    assert bandwidths.spread(x + 2.0**26) == pytest.approx(bandwidths.spread(x), rel=1e-12)


@pytest.mark.parametrize("floor", [0.0, 0.5, 100.0])
def test_bandwidths_equal_their_twin(floor: float) -> None:
    x, out = several(), np.empty(4)
    bandwidths.bandwidths(OFFSETS, x, 1.06, floor, 0, 4, out)
    np.testing.assert_allclose(out, [bandwidth(of(x, i), 1.06, floor) for i in range(4)], rtol=1e-12)
    assert out[1] == out[3] == 0.0


def test_spreads_equal_their_twin() -> None:
    x, out = several(), np.empty(4)
    bandwidths.spreads(OFFSETS, x, 0, 4, out)
    np.testing.assert_allclose(out, [spread(of(x, i)) for i in range(4)], rtol=1e-12)


def test_exponentials_are_within_1e_14_and_never_leave_zero_to_one() -> None:
    rng = np.random.default_rng(1)
    asked = np.concatenate(
        [
            -rng.exponential(1.0, 100_000),
            -rng.uniform(0, 708, 100_000),
            -np.geomspace(1e-320, 1e-3, 1000),
            -np.log(2) * np.arange(0, 1020, 0.5),
            [0.0, -0.0, -708.0],
        ]
    )
    made = asked.copy()
    exponential.exponentials(made, np.empty(made.size))
    np.testing.assert_allclose(made, np.exp(asked), rtol=1e-14, atol=0)
    assert ((made >= 0) & (made <= 1)).all()
    far = np.array([-709.0, -1e4, -1e300, -np.inf])
    exponential.exponentials(far, np.empty(4))
    assert ((far >= 0) & (far < 1e-307)).all()


def test_exponentials_do_not_depend_on_where_a_row_begins() -> None:
    asked = -np.random.default_rng(2).exponential(10.0, 40)
    whole = asked.copy()
    exponential.exponentials(whole, np.empty(40))
    for first in range(8):
        part = asked[first:].copy()
        exponential.exponentials(part, np.empty(40))
        assert (part == whole[first:]).all()


def many_claims(n: int, kind: str) -> Floats:
    """Claims enough for every way of filling: even, tied, far apart, on a huge offset."""
    x = np.sort(np.random.default_rng(n).normal(0.0, 3.0, n))
    if kind == "tied":
        return np.round(x)
    return x * 1e6 if kind == "far apart" else x + 1e8 if kind == "offset" else x


def filled(x: Floats, h0: float) -> Floats:
    """K as the loops fill it; what lies beyond stays as it was."""
    n = x.size
    matrix = np.full(n * n + 3, np.nan)
    gaussian.fill_matrix(x, h0, matrix, np.empty(n * n))
    assert np.isnan(matrix[n * n :]).all()
    return matrix[: n * n]


@modest
@given(x=claims_of_one, h0=st.floats(0.01, 100))
def test_the_matrix_holds_every_pair(x: Floats, h0: float) -> None:
    made = filled(x, h0).reshape(x.size, x.size)
    np.testing.assert_allclose(made, kernel_matrix(x, h0), rtol=0, atol=1e-14)


def by_boxes(x: Floats, h0: float, w: Floats) -> Floats:
    """K w by way of boxes, however few claims there are; what lies beyond the arrays stays as it was."""
    n = x.size
    features, out = np.full(n * boxes.TERMS + 3, np.nan), np.full(n + 2, np.nan)
    first, place = np.full(n + 2, -7), np.full(n + 1, -7)
    count = boxes.lay_boxes(x, h0, first, place, features)
    boxes.boxes_times(features, first, place, count, w, out[:n])
    assert np.isnan(features[n * boxes.TERMS :]).all()
    assert np.isnan(out[n:]).all()
    assert first[0] == 0
    assert first[count] == n
    assert (np.diff(first[: count + 1]) > 0).all()
    assert (np.diff(place[:count]) > 0).all()
    return out[:n]


@pytest.mark.parametrize("kind", ["even", "tied", "far apart", "offset"])
@pytest.mark.parametrize("n", [1, 2, 40, 41, 96, 97, 200, 512])
def test_sums_of_kernels_are_the_same_by_matrix_and_by_boxes(n: int, kind: str) -> None:
    x, w = many_claims(n, kind), weights_of(n)
    for h0 in (0.01, 1.0, 50.0):
        by_matrix = np.empty(n)
        matrix = filled(x, h0)
        np.testing.assert_allclose(matrix.reshape(n, n), kernel_matrix(x, h0), rtol=0, atol=1e-14)
        gaussian.matrix_times(matrix, w, by_matrix)
        np.testing.assert_allclose(by_matrix, kernel_matrix(x, h0) @ w, rtol=0, atol=1e-13)
        np.testing.assert_allclose(by_boxes(x, h0, w), by_matrix, rtol=0, atol=2e-12)


@modest
@given(x=claims_of_one, h0=st.floats(0.01, 100), seed=st.integers(0, 100))
def test_boxes_of_any_few_claims_equal_the_twin(x: Floats, h0: float, seed: int) -> None:
    w = weights_of(x.size, seed)
    np.testing.assert_allclose(by_boxes(x, h0, w), kernel_matrix(x, h0) @ w, rtol=0, atol=2e-12)


@pytest.mark.parametrize("apart", [0.0, 3.9, 4.0, 7.9, 8.0, 8.1, 12.0, 1e6, 1e12])
def test_boxes_see_each_other_however_far_they_lie(apart: float) -> None:
    x = np.concatenate([np.linspace(0, 5, 9), 5 + apart + np.linspace(0, 5, 7)])
    w = weights_of(x.size)
    np.testing.assert_allclose(by_boxes(x, 1.0, w), kernel_matrix(x, 1.0) @ w, rtol=0, atol=2e-12)


@pytest.mark.parametrize("kind", ["even", "tied", "far apart", "offset", "heavy tails", "one far off"])
def test_boxes_of_a_hundred_thousand_claims_equal_the_twin(kind: str) -> None:
    n = 100_000
    x = many_claims(n, kind)
    if kind == "heavy tails":
        x = np.sort(np.random.default_rng(3).standard_cauchy(n))
    elif kind == "one far off":
        x[-1] = 1e9
    h0, w = bandwidth(x, 1.06, 0.0), weights_of(n)
    made = by_boxes(x, h0, w)
    for s in range(0, n, n // 50):
        kernels = np.exp(-((x - x[s]) ** 2) / (2 * h0**2))
        assert made[s] == pytest.approx(float(kernels @ w), abs=2e-12)


@modest
@given(x=claims_of_one, h0=st.floats(0.01, 100), largest_matrix=st.sampled_from([0, 96]))
def test_squared_distances_equal_their_twin(x: Floats, h0: float, largest_matrix: int) -> None:
    w = weights_of(x.size)
    d = np.empty(x.size)
    room = gaussian.room_for(x.size)
    gaussian.times(room, gaussian.prepare(x, h0, largest_matrix, room), w, d)
    gaussian.squared_distances(w, d)
    np.testing.assert_allclose(d, squared_distances(x, h0, w), rtol=0, atol=5e-12)
    assert (d >= 0).all()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.75, 0.95, 1.0])
@pytest.mark.parametrize("count", [1, 2, 8, 21, 100])
def test_percentiles_are_numpys(share: float, count: int) -> None:
    y = np.random.default_rng(count).random(count)
    expected = np.percentile(y, 100 * share)
    assert robust.percentile(y, np.argsort(y), share) == pytest.approx(expected, rel=1e-14)


QUANTILES = [(0.3, 0.5, 0.9), (0.5, 0.5, 0.9), (0.3, 0.5, 0.5), (0.4, 0.4, 0.4), (0.0, 0.0, 0.0)]


def hampel(y: float, quantiles: tuple[float, float, float]) -> float:
    weights = np.array([y])
    robust.hampel(weights, *quantiles)
    return float(weights[0])


@pytest.mark.parametrize("quantiles", QUANTILES)
@pytest.mark.parametrize("y", [0.0, 0.1, 0.3, 0.31, 0.4, 0.5, 0.6, 0.9, 0.91, 1.4])
def test_hampels_weight_equals_its_twin(y: float, quantiles: tuple[float, float, float]) -> None:
    assert hampel(y, quantiles) == pytest.approx(hampel_weight(y, quantiles), rel=1e-14)


@pytest.mark.parametrize("y", np.linspace(0.01, 1.3, 40))
def test_hampels_weight_is_the_slope_of_the_loss_over_y(y: float) -> None:
    step, quantiles = 1e-6, QUANTILES[0]
    slope = (hampel_loss(y + step, quantiles) - hampel_loss(y - step, quantiles)) / (2 * step)
    assert hampel(y, quantiles) == pytest.approx(slope / y, abs=1e-5)


@pytest.mark.parametrize("weights", [[1.0, 3.0], [0.0, 0.0, 0.0], [0.0, 2.0], [1e-300, 1e-300], [5.0]])
def test_weights_are_made_to_sum_to_one(weights: list[float]) -> None:
    w = np.array(weights)
    ranges.normalise(w)
    np.testing.assert_allclose(w, normalised(np.array(weights)), rtol=1e-14)
    assert w.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("first", "last", "most"), [(0, 4, 12), (0, 2, 9), (1, 2, 1), (3, 4, 8)])
def test_the_longest_object_is_looked_for_in_the_range(first: int, last: int, most: int) -> None:
    assert ranges.longest(OFFSETS, first, last) == most


def losses(first: int, last: int, totals: Any) -> None:
    x, users = several(), np.arange(30, dtype=np.int32) % 12
    h0 = np.array([bandwidth(of(x, i), 1.06, 0.0) for i in range(4)])
    g = np.linspace(0.5, 3, 12)
    reliability.add_losses(OFFSETS, users, x, h0, g, 2.0**50, first, last, totals)


def test_losses_are_the_distances_of_each_users_claims() -> None:
    x, users, totals = several(), np.arange(30) % 12, np.zeros(12, dtype=np.int64)
    losses(0, 4, totals)
    expected, g = np.zeros(12), np.linspace(0.5, 3, 12)
    for i in (0, 2):  # the others have no bandwidth
        codes = users[OFFSETS[i] : OFFSETS[i + 1]]
        h0 = bandwidth(of(x, i), 1.06, 0.0)
        np.add.at(expected, codes, squared_distances(of(x, i), h0, normalised(g[codes])))
    np.testing.assert_allclose(totals / 2.0**50, expected, rtol=0, atol=1e-12)


def test_losses_of_ranges_add_up_to_the_bit() -> None:
    whole, parts = np.zeros(12, dtype=np.int64), np.zeros(12, dtype=np.int64)
    losses(0, 4, whole)
    for i in (3, 1, 0, 2):
        losses(i, i + 1, parts)
    assert parts.tolist() == whole.tolist()


def one_local(x: Floats, h0: float, tolerance: float = 1e-6, cap: int = 200) -> Floats:
    out = np.empty(x.size)
    bounds = np.array([0, x.size])
    robust.local_weights(bounds, x, np.array([h0]), 8, tolerance, cap, 0, 1, out)
    return out


@modest
@given(x=claims_of_one)
def test_local_weights_rest_where_plain_sweeps_rest(x: Floats) -> None:
    h0 = bandwidth(x, 1.06, 0.0)
    resting = local_weights(x, h0, tolerance=1e-10, cap=5000)
    np.testing.assert_allclose(one_local(x, h0, 1e-9, 2000), resting, rtol=0, atol=1e-8)
    np.testing.assert_allclose(one_local(x, h0), resting, rtol=0, atol=1e-6)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["normal", "two groups", "strays", "heavy tails", "one-sided"])
@pytest.mark.parametrize("count", [20, 60, 96, 97, 250])
def test_local_weights_of_random_claims_rest_where_plain_sweeps_rest(count: int, kind: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng([count, seed])
        x = rng.normal(size=count)
        if kind == "two groups":
            x[: count // 2] += 4.0
        elif kind == "strays":
            x[: count // 5] = rng.uniform(-10, 10, count // 5)
        elif kind == "heavy tails":
            x = rng.standard_cauchy(count)
        elif kind == "one-sided":
            x = rng.exponential(size=count)
        x.sort()
        h0 = bandwidth(x, 1.06, 0.0)
        resting = local_weights(x, h0, tolerance=1e-10, cap=5000)
        np.testing.assert_allclose(one_local(x, h0), resting, rtol=0, atol=1e-6)


@modest
@given(x=claims_of_one)
def test_local_weights_of_mirrored_claims_are_mirrored(x: Floats) -> None:
    h0 = bandwidth(x, 1.06, 0.0)
    mirrored = one_local(-x[::-1], h0, 1e-9, 2000)[::-1]
    np.testing.assert_allclose(mirrored, one_local(x, h0, 1e-9, 2000), rtol=0, atol=1e-8)


@pytest.mark.parametrize("times", [2, 3, 5, 24, 25, 30, 50, 130])
def test_no_side_of_symmetric_claims_is_taken_for_outliers(times: int) -> None:
    rng = np.random.default_rng(times)
    for a, b in [(1.0, 2.0), *rng.uniform(0.1, 5.0, (60, 2))]:
        x = np.repeat(np.sort([0.0, a, b, a + b]), times)
        w = one_local(x, bandwidth(x, 1.06, 0.0))
        np.testing.assert_allclose(w, w[::-1], rtol=0, atol=1e-7)


def test_equal_claims_weigh_the_same_in_boxes() -> None:
    x = np.repeat([0.0, 1.0, 2.0, 7.0], [300, 200, 150, 50])
    w = one_local(x, bandwidth(x, 1.06, 0.0))
    np.testing.assert_allclose(w, [w[x == claim].mean() for claim in x], rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [20, 130])
def test_local_weights_do_not_depend_on_what_memory_held_before(n: int) -> None:
    x = np.sort(np.random.default_rng(n).normal(size=n))
    h0, found = bandwidth(x, 1.06, 0.0), []
    for before in (0.0, np.nan, np.inf, -1e300):
        store, scratch = np.full(max(n * boxes.TERMS, 96**2), before), np.full(96**2, before)
        room = gaussian.Room(store, scratch, np.full(n + 1, -1), np.full(n, -1))
        prepared = gaussian.prepare(x, h0, gaussian.MANY_SWEEPS, room)
        w = np.full(n, 1 / n)
        work = [np.full(n, before) for _ in range(3)]
        robust.reweigh(room, prepared, 1e-6, 200, w, *work, np.full(n, -1), np.full(n, -1))
        found.append(w.tolist())
    assert found[0] == found[1] == found[2] == found[3]


def test_a_cap_on_sweeps_leaves_weights_that_a_sweep_gave() -> None:
    x = np.sort(np.random.default_rng(1).normal(size=30))
    h0 = bandwidth(x, 1.06, 0.0)
    for cap in range(1, 12):
        w = one_local(x, h0, cap=cap)
        assert w.sum() == pytest.approx(1.0, rel=1e-12)
        assert (w >= 0).all()
    np.testing.assert_allclose(one_local(x, h0, cap=1), local_weights(x, h0, cap=1), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("count", "even"), [(7, True), (8, False)])
def test_local_weights_need_eight_claims(count: int, even: bool) -> None:
    x = np.array([*np.linspace(0, 1, count - 1), 30.0])
    w = one_local(x, bandwidth(x, 1.06, 0.0))
    assert bool(np.all(w == 1 / count)) is even


def test_an_outlier_loses_its_local_weight() -> None:
    x = np.array([*np.linspace(4, 6, 20), 9.0, 50.0])
    w = one_local(x, bandwidth(x, 1.06, 0.0))
    assert w[-1] == 0.0
    assert w[-1] <= w[-2] < w[:20].min()


@modest
@given(x=claims_of_one, seed=st.integers(0, 1000), floor=st.sampled_from([0.0, 0.25, 10.0]))
def test_combined_weights_equal_their_twin(x: Floats, seed: int, floor: float) -> None:
    n = x.size
    g, local = np.random.default_rng(seed).uniform(0.1, 4, n), weights_of(n, seed)
    combined, h, codes = np.empty(n), np.empty(1), np.arange(n, dtype=np.int32)
    bounds = np.array([0, n])
    reliability.combine(bounds, codes, x, g, local, 1.15 * 1.06, floor, 0.1, 0, 1, combined, h)
    expected, expected_h = combined_weights(x, local, g, floor)
    np.testing.assert_allclose(combined, expected, rtol=0, atol=1e-12)
    assert h[0] == pytest.approx(expected_h, rel=1e-9, abs=0)


def test_a_claim_with_all_the_weight_has_no_spread() -> None:
    assert bandwidths.weighted_spread(np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 0.0])) == 0.0


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 3), (2, 4), (2, 2)])
def test_loops_write_inside_their_range_only(first: int, last: int) -> None:
    x, codes = several(), np.zeros(30, dtype=np.int32)
    h0 = np.array([bandwidth(of(x, i), 1.06, 0.0) for i in range(4)])
    by_claim, by_object = np.full((2, 30), np.nan), np.full((3, 4), np.nan)
    bandwidths.bandwidths(OFFSETS, x, 1.06, 0.0, first, last, by_object[0])
    bandwidths.spreads(OFFSETS, x, first, last, by_object[1])
    robust.local_weights(OFFSETS, x, h0, 8, 1e-6, 200, first, last, by_claim[0])
    even = np.full(30, 0.1)
    reliability.combine(
        OFFSETS, codes, x, np.ones(1), even, 1.2, 0.0, 0.1, first, last, by_claim[1], by_object[2]
    )
    claim_inside = (np.arange(30) >= OFFSETS[first]) & (np.arange(30) < OFFSETS[last])
    object_inside = (np.arange(4) >= first) & (np.arange(4) < last)
    assert (np.isfinite(by_claim) == claim_inside).all()
    assert (np.isfinite(by_object) == object_inside).all()


def test_grid_noise_is_the_streams_noise_in_ascending_order() -> None:
    rng, names = seeded(5), ["a", "b", "c", "d"]
    grid, out = np.arange(30) * 3, np.empty(30, dtype=np.int64)
    candidates.add_grid_noise(OFFSETS, grid, 7, 2, *rng.streams(names, purpose="noise"), 0, 4, out)
    for i, name in enumerate(names):
        inside = slice(OFFSETS[i], OFFSETS[i + 1])
        drawn = rng.stream(name, purpose="noise").discrete_laplace(OFFSETS[i + 1] - OFFSETS[i], num=7, den=2)
        assert out[inside].tolist() == sorted(grid[inside] + drawn)


def outlying(seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.sort(np.concatenate([rng.normal(5, 0.5, 24), rng.uniform(0, 10, 6)]))


@pytest.mark.parametrize("seed", range(5))
def test_reweighting_by_psi_over_y_lowers_the_objective_and_by_the_printed_loss_raises_it(seed: int) -> None:
    x = outlying(seed)
    h0 = bandwidth(x, 1.06, 0.0)
    even = as_printed = np.full(x.size, 1 / x.size)
    for _ in range(20):
        as_printed = reweighted(x, h0, as_printed, hampel_quantiles(x, h0), hampel_loss)
    start = hampel_objective(x, h0, even)
    assert hampel_objective(x, h0, one_local(x, h0)) < start < hampel_objective(x, h0, as_printed)
