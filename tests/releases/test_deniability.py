"""The privacy test: how many seeds, who passes, what becomes of an object, and what it does not protect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

import naive
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Deniability, NoGuarantee
from crowdveil.kernels import candidates
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.deniability import PrivacyTest, draw
from crowdveil.releases.method import release
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.releases.result import Status
from crowdveil.releases.weights import Weights, estimate_weights
from crowdveil.simulation.claims import SimulatedClaims

modest = settings(deadline=None, derandomize=True, max_examples=60)

Floats = naive.Floats
ERROR = 1e-6  # how often a test of chance may fail
ONE = LocalEngine(1)


def claims_of(objects: list[list[float]]) -> Claims:
    rows = [(i, s, value) for i, values in enumerate(objects) for s, value in enumerate(values)]
    return Claims.from_columns(*map(list, zip(*rows, strict=True)))


def even(claims: Claims, h: float) -> Weights:
    """Equal weights and a public bandwidth."""
    counts = claims.counts()
    shares = np.repeat(1 / counts, counts)
    bandwidths = np.full(len(counts), h)
    return Weights(np.ones(len(claims.users)), shares, shares, bandwidths, sweeps=0, converged=True)


def released(
    claims: Claims, weights: Weights, test: PrivacyTest, per_object: int, *, seed: int = 0
) -> tuple[list[Floats], list[Status]]:
    offsets, values, statuses = draw(
        claims, weights, test, per_object, purpose="test", rng=seeded(seed), engine=ONE
    )
    return np.split(values, offsets[1:-1]), [Status(int(status)) for status in statuses]


def bounds(trials: int, chance: float) -> tuple[float, float]:
    """Between these lies a binomial count, but for `ERROR`."""
    return float(binom.ppf(ERROR / 2, trials, chance)), float(binom.isf(ERROR / 2, trials, chance))


grid = st.integers(-40, 40).map(lambda whole: whole / 8)


@modest
@given(
    x=st.lists(grid, min_size=1, max_size=30),
    y=st.one_of(grid, st.floats(-8, 8)),
    h=st.sampled_from([0.125, 0.5, 0.7, 3.0]),
    gamma=st.sampled_from([1.0 + 2.0**-52, 1.01, 2.0, 4.0, math.e, 100.0]),
)
def test_plausible_seeds_equal_their_twin(x: list[float], y: float, h: float, gamma: float) -> None:
    ascending = np.sort(np.array(x))
    per_bin = 1.0 / (2.0 * math.log(gamma))
    for s in range(len(x)):
        found = candidates.plausible_seeds(ascending, s, y, h, per_bin)
        assert found == naive.plausible_seeds(ascending, s, y, h, gamma)
        assert found >= 1
        wanted = candidates.bin_of(ascending[s], y, h, per_bin)
        assert candidates.seeds_by_search(ascending, y, h, per_bin, wanted) == found


@pytest.mark.parametrize("kind", ["even", "tied", "far apart", "on a huge offset"])
@pytest.mark.parametrize("n", [candidates.SCAN, candidates.SCAN + 1, 5000])
def test_plausible_seeds_among_many_claims_equal_their_twin(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    x = np.sort(rng.normal(0, 2, n))
    x = {"even": x, "tied": x.round(1), "far apart": x * 1e7, "on a huge offset": x + 1e9}[kind]
    for s in rng.integers(0, n, 40):
        y = x[s] + 0.5 * rng.normal()
        found = candidates.plausible_seeds(x, s, y, 0.5, 1.0 / (2.0 * math.log(4.0)))
        assert found == naive.plausible_seeds(x, s, y, 0.5, 4.0)


@pytest.mark.parametrize("n", [1, 2, candidates.SCAN, candidates.SCAN + 1])
def test_a_claim_is_picked_by_its_cumulative_weight(n: int) -> None:
    cumulative = np.cumsum(np.random.default_rng(n).random(n).round(1))
    for place in [0.0, *cumulative, *(cumulative - 1e-3), *(cumulative + 1e-3)]:
        assert candidates.picked(cumulative, place) == np.searchsorted(cumulative, place, side="right")


@pytest.mark.parametrize(("y", "seeds"), [(0.0, 3), (0.99, 3), (1.01, 2), (-1.5, 2), (2.0, 2), (4.5, 3)])
def test_plausible_seeds_share_a_bin_of_the_squared_distance(y: float, seeds: int) -> None:
    # With 2 h^2 log gamma = 1 a claim at distance d is in bin floor(d^2).
    assert candidates.plausible_seeds(np.array([0.0, 0.0, 0.5, 9.0]), 0, y, 1.0, 1.0) == seeds


@modest
@given(
    x=st.lists(grid, min_size=2, max_size=30), s=st.integers(0, 29), z=st.floats(-4, 4), h=st.floats(0.1, 3)
)
def test_kernels_inside_a_bin_differ_by_less_than_gamma(x: list[float], s: int, z: float, h: float) -> None:
    gamma, ascending = 4.0, np.sort(np.array(x))
    y = ascending[s % len(x)] + h * z
    squares = (y - ascending) ** 2 / (2 * h * h * math.log(gamma))
    same = np.floor(squares) == np.floor(squares[s % len(x)])
    heights = np.exp(-((y - ascending[same]) ** 2) / (2 * h * h))
    assert heights.max() <= gamma * heights.min() * (1 + 1e-9)


TESTS = {
    "the paper's": PrivacyTest(),
    "a loose threshold": PrivacyTest(k=3, gamma=2.0, epsilon0=0.1),
    "a sharp threshold": PrivacyTest(k=10, gamma=1.5, epsilon0=2.5),
    "k required": PrivacyTest(k=8, gamma=2.0, epsilon0=0.3, require_k=True),
}


@pytest.mark.parametrize("tested", [True, False], ids=["tested", "not tested"])
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_the_release_loop_equals_its_twin_on_the_same_draws(test: PrivacyTest, tested: bool) -> None:
    claims = SimulatedClaims(users=12, objects=10, unreliable=0.5).claims(rng=seeded(4))
    weights = estimate_weights(claims, floor=0.01, engine=ONE)
    offsets, values, _ = draw(
        claims, weights, test, 6, purpose="test", rng=seeded(9), engine=ONE, tested=tested
    )
    expected = naive.draw(
        claims, weights.combined, weights.bandwidth, test, 6, purpose="test", rng=seeded(9), tested=tested
    )
    assert np.diff(offsets).tolist() == [part.size for part in expected]
    np.testing.assert_allclose(values, np.concatenate(expected), rtol=0, atol=1e-12)


FATES = {
    "too few claims": ([1.0, 2.0, 3.0, 4.0], 0.5, Status.too_few),
    "as many claims as needed": ([1.0, 1.1, 1.2, 1.3, 1.4], 0.5, Status.released),
    "equal claims": ([2.0] * 9, 0.0, Status.constant),
    "few and equal claims": ([2.0] * 4, 0.0, Status.too_few),
    "isolated claims": ([float(100 * s) for s in range(30)], 0.5, Status.shortfall),
    "crowded claims": ([s / 10 for s in range(30)], 0.5, Status.released),
}


@pytest.mark.parametrize(("values", "h", "status"), FATES.values(), ids=FATES)
def test_what_becomes_of_an_object(values: list[float], h: float, status: Status) -> None:
    claims = claims_of([values])
    test = PrivacyTest(k=5, epsilon0=6.0)
    (found,), statuses = released(claims, even(claims, h), test, 20)
    assert statuses == [status]
    assert found.size == (20 if status is Status.released else 0)


def test_an_object_of_one_claim_is_refused_even_for_k_of_one() -> None:
    claims = claims_of([[5.0], [5.0, 6.0]])
    weights = estimate_weights(claims, floor=0.1, engine=ONE)
    (first, second), statuses = released(claims, weights, PrivacyTest(k=1), 5)
    assert statuses == [Status.too_few, Status.released]
    assert (first.size, second.size) == (0, 5)


def test_tries_are_capped() -> None:
    claims = claims_of([[float(1000 * s) for s in range(20)]] * 200)
    test = PrivacyTest(k=5, require_k=True)
    parts, statuses = released(claims, even(claims, 0.01), test, 100)
    assert set(statuses) == {Status.shortfall}
    assert sum(part.size for part in parts) == 0


def test_what_passed_before_the_tries_ran_out_is_kept() -> None:
    claims = claims_of([[float(1000 * s) for s in range(20)]])
    # A candidate of one seed passes with probability exp(-6) / 2; 3,000 tries yield fewer than 30.
    tries, chance = 100 * 30, 0.5 * math.exp(-6)
    (part,), statuses = released(claims, even(claims, 0.01), PrivacyTest(k=7), 30)
    assert statuses == [Status.shortfall]
    assert bounds(tries, chance)[0] <= part.size <= bounds(tries, chance)[1] < 30


def test_released_claims_ascend_inside_an_object() -> None:
    claims = SimulatedClaims(objects=20).claims(rng=seeded(1))
    parts, _ = released(claims, estimate_weights(claims, floor=0.01, engine=ONE), PrivacyTest(), 30)
    assert all(np.all(np.diff(part) >= 0) for part in parts)


@modest
@given(
    x=st.lists(grid, min_size=5, max_size=25),
    h=st.sampled_from([0.05, 0.3, 1.0]),
    gamma=st.sampled_from([1.2, 2.0, 4.0]),
    seed=st.integers(0, 99),
)
def test_where_k_is_required_every_released_value_has_k_seeds(
    x: list[float], h: float, gamma: float, seed: int
) -> None:
    claims = claims_of([x])
    test = PrivacyTest(k=5, gamma=gamma, epsilon0=0.1, require_k=True)
    (found,), _ = released(claims, even(claims, h), test, 10, seed=seed)
    for y in found:
        assert max(naive.plausible_seeds(claims.of(0), s, y, h, gamma) for s in range(len(x))) >= test.k


def test_where_k_is_not_required_values_with_fewer_seeds_do_pass() -> None:
    claims = claims_of([[100.0 * 3**s for s in range(12)]])  # no two are equally far from a third
    (found,), _ = released(claims, even(claims, 0.1), PrivacyTest(k=5, epsilon0=0.1), 30)
    counts = [max(naive.plausible_seeds(claims.of(0), s, y, 0.1, 4.0) for s in range(12)) for y in found]
    assert set(counts) == {1}


@pytest.mark.parametrize(("k", "seeds"), [(5, 1), (5, 4), (10, 7), (5, 5), (5, 9), (1, 3)])
@pytest.mark.parametrize(("num", "den"), [(1, 1), (1, 10), (7, 3)])
def test_candidates_pass_as_often_as_laplace_noise_says(k: int, seeds: int, num: int, den: int) -> None:
    # Groups of equal claims, too far apart to be taken for each other: every candidate has `seeds` of them.
    x = np.repeat(1e4 * np.arange(12), seeds)
    tries, rng = 20_000, seeded(100 * k + seeds)
    out, passed = np.empty((1, tries)), np.zeros(1, dtype=np.int64)
    share = np.full(x.size, 1 / x.size)
    candidates.draw_through_test(
        *(np.array([0, x.size]), x, share, np.ones(1), -np.inf, np.inf, k, 4.0, num, den, False, True, tries),
        *(*rng.streams(["o"], purpose="test"), 0, 1, out, passed),
    )
    missing = k - seeds
    half = 0.5 * math.exp(-num / den * abs(missing))
    low, high = bounds(tries, half if missing > 0 else 1 - half)
    assert low <= passed[0] <= high


def test_neither_rows_nor_threads_change_a_released_bit() -> None:
    frame = SimulatedClaims(users=40, objects=1050).frame(rng=seeded(2))
    results = []
    for rows, threads in ((frame, 1), (frame.sample(fraction=1, shuffle=True, seed=1), 2), (frame[::-1], 3)):
        claims = Claims.from_frame(rows, object="object", user="user", value="value")
        engine = LocalEngine(threads)
        weights = estimate_weights(claims, floor=0.01, engine=engine)
        drawn = draw(claims, weights, PrivacyTest(), 5, purpose="test", rng=seeded(7), engine=engine)
        results.append([array.tobytes() for array in drawn])
    assert results[0] == results[1] == results[2]


def test_an_objects_release_does_not_depend_on_other_objects() -> None:
    x, other = [s / 10 for s in range(20)], [5.0 + s for s in range(9)]
    alone, together = claims_of([x]), claims_of([x, other])
    (found,), _ = released(alone, even(alone, 0.3), PrivacyTest(), 10)
    parts, _ = released(together, even(together, 0.3), PrivacyTest(), 10)
    assert parts[0].tolist() == found.tolist()


def far_releases(last_claim: float, runs: int) -> int:
    """In how many runs a value above 8 is released from 29 claims at 5.0 and one more."""
    claims = claims_of([[5.0] * 29 + [last_claim]] * runs)
    test = PrivacyTest(k=5, gamma=4.0, epsilon0=0.1)
    parts, statuses = released(claims, even(claims, 0.45), test, 30, seed=1)
    assert set(statuses) == {Status.released}
    return sum(bool((part > 8).any()) for part in parts)


def test_one_claim_shows_in_a_release_of_the_paper() -> None:
    # A candidate from 9.0 has one seed, itself; one from 5.0 has 29. Draws repeat until 30 pass.
    alone = 1 / 30 * 0.5 * math.exp(-0.1 * (5 - 1))
    crowd = 29 / 30 * (1 - 0.5 * math.exp(-0.1 * (29 - 5)))
    share = alone / (alone + crowd)
    assert 1 - (1 - share) ** 30 == pytest.approx(0.303, abs=5e-4)
    above_8 = share * float(norm.cdf((9 - 8) / 0.45))
    low, high = bounds(2000, 1 - (1 - above_8) ** 30)
    assert low <= far_releases(9.0, 2000) <= high


def test_a_claim_that_nobody_made_does_not_show() -> None:
    # From 5.0 a value above 8 is 6.7 bandwidths off: in 60,000 of them one shows with probability < 1e-6.
    assert 60_000 * norm.sf((8 - 5) / 0.45) < ERROR
    assert far_releases(5.0, 2000) == 0


BAD = [
    *({"k": k} for k in (0, -3, math.nan, 2.5)),
    *({"gamma": gamma} for gamma in (1.0, 0.5, -4.0, math.nan, math.inf)),
    *({"epsilon0": rate} for rate in (0.0, -1.0, math.nan, math.inf, 1e-9)),
]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_parameter_out_of_bounds_is_refused_by_name(bad: dict[str, Any]) -> None:
    (name,) = bad
    with pytest.raises(ParameterError, match=f"^{name} must"):
        PrivacyTest(**bad)


@pytest.mark.parametrize("per_object", [0, -1])
def test_nothing_to_release_is_refused(per_object: int) -> None:
    claims = claims_of([[1.0, 2.0]])
    with pytest.raises(ParameterError, match="per-object must be at least 1"):
        released(claims, even(claims, 1.0), PrivacyTest(), per_object)


def test_the_promise_says_what_the_test_can_keep() -> None:
    loose, strict = PrivacyTest(k=7).promise("1"), PrivacyTest(k=7, require_k=True).promise("1")
    assert isinstance(loose, NoGuarantee)
    assert "0.5 exp(-1 (7 - c))" in loose.sentence()
    assert isinstance(strict, Deniability)
    assert (strict.k, strict.gamma) == (7, 4.0)
    assert "No differential privacy guarantee" in strict.sentence()


def test_every_released_value_lies_on_a_grid_that_all_claims_share() -> None:
    # The last digits of x + h z would tell which claims cannot have been the seed.
    x = np.sort(np.concatenate([[0.0], np.linspace(0.3, 0.34, 5), np.full(6, 1.0)]))
    claims = Claims.from_columns(["o"] * 12, list(range(12)), x)
    h = 0.25
    weights = Weights(np.ones(12), np.full(12, 1 / 12), np.full(12, 1 / 12), np.array([h]), 0, True)
    _, values, _ = draw(
        claims, weights, PrivacyTest(), 2000, purpose="test", rng=seeded(3), engine=LocalEngine(1)
    )
    step = candidates.grid_step(h)
    assert h / 2048 <= step <= h / 1000
    assert (values / step == np.rint(values / step)).all()
    assert len(np.unique(values)) > 500


def test_candidates_outside_the_range_fail_and_are_not_folded_back() -> None:
    claims = Claims.from_columns(["o"] * 12, list(range(12)), np.linspace(0.0, 1.0, 12))
    weights = Weights(np.ones(12), np.full(12, 1 / 12), np.full(12, 1 / 12), np.array([0.5]), 0, True)
    arguments = (claims, weights, PrivacyTest(k=1), 1000)
    bounded, free = (
        draw(*arguments, limits, purpose="test", rng=seeded(3), engine=LocalEngine(1), tested=False)[1]
        for limits in (Range(0.0, 1.0), None)
    )
    assert bounded.size == free.size == 1000
    assert bounded.min() >= 0
    assert bounded.max() <= 1
    # Without the test the draws are the same: what stays inside is what was inside.
    inside = free[(free >= 0) & (free <= 1)]
    assert inside.size < 1000
    assert np.isin(inside, bounded).all()


@pytest.mark.parametrize("values", [[1.7e18] * 19 + [1.7e18 + 512], [5.0] * 19 + [5.0 + 9e-16]])
def test_claims_that_cannot_be_told_apart_count_as_constant(values: list[float]) -> None:
    claims = Claims.from_columns(["o"] * 20, list(range(20)), values)
    made = release(claims, PrisCrowd(resolution=1e-12), rng=seeded(1))
    assert made.statuses.tolist() == [Status.constant]
    assert len(made) == 0


def test_weights_of_other_claims_are_refused() -> None:
    small, large = (Claims.from_columns(["o"] * n, list(range(n)), np.linspace(0, 1, n)) for n in (10, 20))
    with pytest.raises(ParameterError, match="other claims"):
        PrisCrowd().draw_weighted(large, PrisCrowd().estimate(small), rng=seeded(1), engine=ONE)
