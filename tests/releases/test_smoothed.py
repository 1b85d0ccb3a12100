"""Smoothed densities: exact draws on a grid, and a pair of laws that no two neighbours exceed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import exp, inf, log, log1p, nan, prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.kernels.smoothed import draw_weighted, fold
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.randomness.samplers import below
from crowdveil.releases import smoothed
from crowdveil.releases.method import release
from crowdveil.releases.result import Status
from crowdveil.releases.smoothed import Smoothed, pair_delta, pair_epsilon

modest = settings(deadline=None, derandomize=True, max_examples=60)
ERROR = 1e-6
TEN = Range(0.0, 10.0)


def claims_of(objects: list[list[float]]) -> Claims:
    rows = [(i, s, value) for i, values in enumerate(objects) for s, value in enumerate(values)]
    return Claims.from_columns(*map(list, zip(*rows, strict=True)))


def small(width: float, cells: int, lam: float = 0.3, delta: float = 1e-3, draws: int = 1) -> Smoothed:
    """A grid of a few cells of width 1, and a kernel of that many cells."""
    return Smoothed(Range(0.0, float(cells)), width, draws, lam, delta, resolution=1.0)


def law_of(parameters: Smoothed, places: tuple[int, ...]) -> Floats:
    """The law of one draw, in the plainest way: from whole weights of each cell."""
    weights = smoothed.law(parameters)
    lam = parameters.lam
    kernels = [smoothed.reflected(weights.kernel, parameters.cells, x) for x in places]
    shared: Floats = lam * weights.base / weights.base.sum()
    own: Floats = (1 - lam) * np.mean(kernels, axis=0) / weights.kernel.sum()
    return shared + own


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> float:
    return float(np.maximum(p - exp(epsilon) * q, 0.0).sum())


def several(law: Floats, draws: int) -> Floats:
    out = law
    for _ in range(draws - 1):
        out = np.outer(out, law).ravel()
    return out


# --- the figures


@pytest.mark.parametrize(
    ("mass", "n", "figures"),
    [
        (8, 30, (0.73, 3.97, 6.47)),
        (8, 247, (0.12, 0.48, 0.75)),
        (8, 1000, (0.03, 0.11, 0.17)),
        (16, 30, (1.14, 5.68, 9.12)),
        (16, 247, (0.23, 0.83, 1.165)),  # 1.16495
    ],
)
def test_the_stated_epsilons(mass: int, n: int, figures: tuple[float, float, float]) -> None:
    for draws, figure in zip((1, 10, 30), figures, strict=True):
        assert pair_epsilon(0.2 / mass, 0.8 / n, draws, 1e-6) == pytest.approx(figure, abs=5e-3)


@pytest.mark.parametrize(("q", "a"), [(0.1, 0.2), (0.02, 0.01), (0.3, 0.4), (1e-3, 0.5)])
@pytest.mark.parametrize("draws", [1, 2, 3, 6])
def test_the_pairs_delta_equals_enumeration(q: float, a: float, draws: int) -> None:
    first, second = (q + a, q, 1 - 2 * q - a), (q, q + a, 1 - 2 * q - a)
    p, r = (np.array([prod(parts) for parts in product(one, repeat=draws)]) for one in (first, second))
    for epsilon in np.linspace(0, draws * log1p(a / q), 6):
        assert pair_delta(q, a, draws, epsilon) == pytest.approx(hockey_stick(p, r, epsilon), abs=1e-12)


def test_many_draws_agree_with_exact_fractions() -> None:
    q, a, draws = Fraction(1, 40), Fraction(1, 30), 60
    law = {0: Fraction(1)}
    for _ in range(draws):
        new: dict[int, Fraction] = {}
        for t, mass in law.items():
            for step, chance in ((1, q + a), (-1, q), (0, 1 - 2 * q - a)):
                new[t + step] = new.get(t + step, Fraction(0)) + mass * chance
        law = new
    loss = log1p(float(a / q))
    for epsilon in (0.0, 1.0, 5.0, 20.0, 45.0):
        exact = sum(
            float(mass) * -np.expm1(epsilon - t * loss) for t, mass in law.items() if t * loss > epsilon
        )
        found = pair_delta(float(q), float(a), draws, epsilon)
        assert exact <= found <= exact * (1 + 1e-9)


@modest
@given(
    q=st.floats(1e-3, 0.2),
    a=st.floats(1e-3, 0.5),
    draws=st.integers(1, 40),
    delta=st.floats(1e-9, 0.1),
    epsilon=st.floats(0, 10),
)
def test_the_pairs_cost_is_monotone(q: float, a: float, draws: int, delta: float, epsilon: float) -> None:
    found = pair_delta(q, a, draws, epsilon)
    more = 1 + 1e-9
    assert pair_delta(q, a, draws, epsilon + 0.1) <= found * more
    assert found <= pair_delta(q, a, draws + 1, epsilon) * more
    assert found <= pair_delta(q, 1.1 * a, draws, epsilon) * more
    assert found <= pair_delta(0.9 * q, a, draws, epsilon) * more
    smallest = pair_epsilon(q, a, draws, delta)
    assert smallest <= draws * log1p(a / q) * more
    assert pair_delta(q, a, draws, smallest) <= delta
    assert smallest >= pair_epsilon(q, a, draws, 2 * delta)


def test_without_delta_every_draw_costs_its_largest_loss() -> None:
    assert pair_epsilon(0.1, 0.2, 7, 0.0) == pytest.approx(7 * log(3), rel=1e-12)


# --- the law


@pytest.mark.parametrize("width", [0.1, 0.4, 1.0, 3.0, 7.7, 30.0])
def test_kernels_are_whole_even_and_fall_with_distance(width: float) -> None:
    kernel = smoothed.gaussian_weights(width)
    reach = kernel.size // 2
    assert np.array_equal(kernel, kernel[::-1])
    assert kernel[reach] == kernel.max() == 2**30
    assert (np.diff(kernel[reach:]) <= 0).all()
    assert kernel.min() >= 1
    gauss = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    np.testing.assert_allclose(kernel / 2**30, gauss, rtol=0, atol=2**-30)


@pytest.mark.parametrize("width", [0.1, 0.6, 1.5, 4.0, 20.0])
@pytest.mark.parametrize("cells", [1, 2, 3, 7, 40, 200])
def test_the_envelope_is_the_largest_kernel_at_each_cell(width: float, cells: int) -> None:
    kernel = smoothed.gaussian_weights(width)
    rows = np.array([smoothed.reflected(kernel, cells, x) for x in range(cells)])
    assert np.array_equal(smoothed.envelope(kernel, cells), rows.max(axis=0))
    assert (rows.sum(axis=1) == kernel.sum()).all()


def test_the_envelope_costs_little_more_than_a_kernel_without_edges() -> None:
    for width in (0.1, 0.5, 1.0):
        mass = float(smoothed.law(Smoothed(TEN, width)).envelope_mass)
        peak = 10.0 / (width * np.sqrt(2 * np.pi))
        assert peak < mass < peak + 0.7  # a flat base would pay for twice the peak
        assert mass < 2 * peak


SMALL = [(0.1, 4, 2), (0.5, 4, 2), (0.6, 5, 3), (0.8, 6, 2), (1.5, 6, 1)]


@pytest.mark.parametrize(("width", "cells", "n"), SMALL)
@pytest.mark.parametrize("lam", [0.1, 0.5])
def test_no_two_neighbours_differ_by_more_than_the_pair(width: float, cells: int, n: int, lam: float) -> None:
    for draws in (1, 2, 3):
        parameters = small(width, cells, lam, draws=draws)
        q, a = map(float, parameters.pair(n))
        pure = Smoothed(parameters.range, width, draws, lam, 0.0, resolution=1.0).epsilon(n)
        printed = parameters.epsilon(n)
        grid = [0.0, 0.3 * printed, printed, 0.5 * (printed + pure)]
        allowed = [pair_delta(q, a, draws, epsilon) for epsilon in grid]
        worst, largest = np.zeros(len(grid)), 0.0
        laws = [several(law_of(parameters, (x,)), draws) for x in range(cells)] if n == 1 else None
        for others in combinations_with_replacement(range(cells), n - 1):
            near = laws or [several(law_of(parameters, (*others, x)), draws) for x in range(cells)]
            for p, r in product(near, near):
                worst = np.maximum(worst, [hockey_stick(p, r, epsilon) for epsilon in grid])
                largest = max(largest, float(np.log(p / r).max()))
        assert (worst <= np.array(allowed) + 1e-12).all()
        assert worst[2] <= parameters.delta + 1e-12
        assert largest <= pure + 1e-12


@pytest.mark.parametrize("draws", [1, 2, 4])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_pair_is_attained_by_kernels_of_one_cell(draws: int, n: int) -> None:
    parameters = small(0.1, 5, 0.2, draws=draws)
    assert smoothed.law(parameters).kernel.tolist() == [2**30]
    q, a = map(float, parameters.pair(n))
    p, r = (several(law_of(parameters, (x, *[4] * (n - 1))), draws) for x in (0, 1))
    for epsilon in np.linspace(0, draws * log1p(a / q) * 0.99, 7):
        assert hockey_stick(p, r, epsilon) == pytest.approx(pair_delta(q, a, draws, epsilon), abs=1e-9)
    assert float(np.log(p / r).max()) == pytest.approx(draws * log1p(a / q), abs=1e-9)


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0])
def test_the_largest_loss_of_one_draw_is_attained_by_every_kernel(width: float) -> None:
    parameters = small(width, 80, 0.2)
    q, a = map(float, parameters.pair(5))
    for here in (0, 20):  # at the edge, where the kernel is doubled, and inside
        p, r = (law_of(parameters, (x, 79, 79, 79, 79)) for x in (here, 50))
        assert float(np.log(p / r).max()) == pytest.approx(log1p(a / q), abs=1e-9)


@pytest.mark.parametrize("place", [-25, -11, -10, -1, 0, 4, 9, 10, 19, 20, 33])
def test_folding_reflects_at_the_outer_edges(place: int) -> None:
    expected = place
    while not 0 <= expected < 10:
        expected = -1 - expected if expected < 0 else 19 - expected
    assert fold(place, 10) == expected


# --- the draws


def twin(claims: Claims, parameters: Smoothed, seed: int) -> list[list[int]]:
    """The loop, one step after the other."""
    key, nonces = seeded(seed).streams(claims.objects, purpose="smoothed")
    weights = smoothed.law(parameters)
    lam = Fraction(repr(parameters.lam))
    reach = weights.kernel.size // 2
    rows = []
    for i in range(len(claims.objects)):
        state = np.zeros(STATE_WORDS, dtype=np.uint32)
        start(state, key, nonces[i])
        places = [min(int(max(x, 0.0)), parameters.cells - 1) for x in claims.of(i)]
        row = []
        for _ in range(parameters.per_object):
            if below(state, lam.denominator) < lam.numerator:
                row.append(pick(below(state, int(weights.base.sum())), weights.base))
                continue
            seed_place = places[below(state, len(places))]
            offset = pick(below(state, int(weights.kernel.sum())), weights.kernel) - reach
            row.append(int(fold(seed_place + offset, parameters.cells)))
        rows.append(sorted(row))
    return rows


def pick(number: int, weights: Ints) -> int:
    for index, weight in enumerate(weights.tolist()):
        if number < weight:
            return index
        number -= weight
    raise AssertionError("the number is past the total")


def test_the_loop_equals_its_twin_on_the_same_draws() -> None:
    parameters = small(2.0, 12, draws=50)
    claims = claims_of([[1.0, 2.5, 11.9], [5.0, 5.0], [-3.0, 99.0, 7.0, 0.0], [6.0]])
    released = release(claims, parameters, rng=seeded(1))
    cells = [np.rint(released.of(i) - 0.5).astype(int).tolist() for i in range(4)]
    assert cells == twin(claims, parameters, 1)


def test_weighted_draws_follow_their_weights() -> None:
    weights = np.array([1, 0, 5, 2**40, 3], dtype=np.int64)
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    assert {draw_weighted(state, np.cumsum(weights[:3])) for _ in range(300)} == {0, 2}


@pytest.mark.parametrize(
    "places", [(0, 0, 5), (9, 9, 9), (3, 7, 11, 11), (0,)], ids=["mixed", "constant", "edge", "single"]
)
@pytest.mark.parametrize("width", [0.1, 1.5])
def test_draws_follow_the_law(places: tuple[int, ...], width: float) -> None:
    parameters = small(width, 12, draws=5000)
    objects = 40
    claims = claims_of([[place + 0.5 for place in places]] * objects)
    released = release(claims, parameters, rng=seeded(2))
    observed = np.bincount(np.rint(released.values - 0.5).astype(int), minlength=12)
    expected = law_of(parameters, places) * objects * 5000
    assert expected.min() >= 20
    assert ((observed - expected) ** 2 / expected).sum() <= float(chi2.isf(ERROR, 11))


def test_draws_that_forget_the_public_share_would_be_noticed() -> None:
    parameters, wrong = small(1.5, 12, 0.3, draws=5000), small(1.5, 12, 0.28, draws=5000)
    claims = claims_of([[3.5, 7.5]] * 40)
    observed = np.bincount(
        np.rint(release(claims, wrong, rng=seeded(3)).values - 0.5).astype(int), minlength=12
    )
    expected = law_of(parameters, (3, 7)) * 40 * 5000
    assert ((observed - expected) ** 2 / expected).sum() > float(chi2.isf(ERROR, 11))


# --- the release


def simulated(objects: int = 30, per_object: int = 40) -> Claims:
    values = 12 * seeded(1).stream("values", purpose="test").uniforms(objects * per_object) - 1
    names = [f"object {i}" for i in range(objects) for _ in range(per_object)]
    return Claims.from_columns(names, list(range(per_object)) * objects, values.tolist())


def test_the_promise_is_that_of_the_smallest_object() -> None:
    parameters = Smoothed(TEN, 0.5)
    claims = claims_of([[1.0] * 50, [2.0] * 30, [3.0] * 70])
    released = release(claims, parameters)
    assert isinstance(released.promise, Guarantee)
    assert released.promise.epsilon == parameters.epsilon(30)
    assert parameters.epsilon(30) > parameters.epsilon(50)
    promise = released.promise
    assert (promise.delta, promise.unit, promise.adjacency, promise.trust) == (
        1e-6,
        "claim",
        "replace-one",
        "central",
    )
    assert not released.seeded


def test_users_pay_for_all_their_draws() -> None:
    parameters = Smoothed(TEN, 0.5, per_object=10)
    more = Smoothed(TEN, 0.5, per_object=30)
    assert parameters.epsilon(100, claims_per_user=3) == more.epsilon(100)


def test_a_seed_takes_the_promise_away() -> None:
    released = release(simulated(), Smoothed(TEN, 0.5), rng=seeded(4))
    assert released.seeded
    assert isinstance(released.promise, NoGuarantee)


def test_every_object_has_as_many_draws_whatever_its_claims_are() -> None:
    released = release(claims_of([[1.0], [5.0] * 30, [0.0, 10.0]]), Smoothed(TEN, 0.5), rng=seeded(5))
    assert np.diff(released.offsets).tolist() == [30, 30, 30]
    assert released.status_counts()[Status.released.name] == 3
    assert all((np.diff(released.of(i)) >= 0).all() for i in range(3))
    assert ((released.values > 0) & (released.values < 10)).all()
    assert released.parameters["resolution"] == 0.01


@pytest.mark.parametrize(("outside", "end"), [(-1e100, 0.0), (-0.1, 0.0), (10.1, 10.0), (1e100, 10.0)])
def test_claims_outside_the_range_count_as_its_nearest_end(outside: float, end: float) -> None:
    a, b = (release(claims_of([[5.0, x]]), Smoothed(TEN, 0.5), rng=seeded(6)) for x in (outside, end))
    assert np.array_equal(a.values, b.values)


def test_threads_rows_and_other_objects_do_not_matter() -> None:
    claims = simulated(objects=400, per_object=120)
    one, two = (
        release(claims, Smoothed(TEN, 0.5, 300), rng=seeded(7), engine=LocalEngine(threads))
        for threads in (1, 2)
    )
    assert np.array_equal(one.values, two.values)
    frame = one.to_frame()
    alone = Claims.from_columns(
        ["object 7"] * 120, list(range(120))[::-1], claims.of(_index(claims, "object 7"))
    )
    part = release(alone, Smoothed(TEN, 0.5, 300), rng=seeded(7))
    assert np.array_equal(part.values, frame.filter(frame["object"] == "object 7")["value"].to_numpy())


def _index(claims: Claims, name: str) -> int:
    return claims.objects.to_list().index(name)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda h=h: Smoothed(TEN, h) for h in (0.0, -1.0, nan, inf, 11.0, 9.0)),
        *(lambda m=m: Smoothed(TEN, 0.5, m) for m in (0, -1, 10_001)),
        *(lambda lam=lam: Smoothed(TEN, 0.5, lam=lam) for lam in (0.0, 1.0, -0.1, nan, 1e-9)),
        *(lambda d=d: Smoothed(TEN, 0.5, delta=d) for d in (-1e-9, 1.0, nan)),
        *(lambda r=r: Smoothed(TEN, 0.5, resolution=r) for r in (0.0, -1.0, nan, inf, 1e-9, 10.0)),
        lambda: Smoothed(TEN, 0.5).epsilon(0),
        lambda: Smoothed(TEN, 0.5).epsilon(10, claims_per_user=0),
        lambda: Smoothed(TEN, 0.5).epsilon(10, claims_per_user=1000),
        lambda: pair_epsilon(0.5, 0.5, 1, 1e-6),
        lambda: pair_epsilon(0.0, 0.5, 1, 1e-6),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        make()


PAGE = Path(__file__).parents[2] / "docs" / "guarantees" / "smoothed.md"


def test_the_figures_on_the_page_are_the_ones_computed() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    figures = [row for row in rows if row[0][-1].isdigit()]
    assert len(figures) == 14
    for *first, n, one, ten, thirty in figures:
        for draws, figure in zip((1, 10, 30), (one, ten, thirty), strict=True):
            if len(first) == 1:
                found = pair_epsilon(0.2 / int(first[0]), 0.8 / int(n), draws, 1e-6)
            else:
                parameters = Smoothed(TEN, 10.0 / int(first[0].removeprefix("L/")), draws)
                found = parameters.epsilon(int(n))
                assert float(smoothed.law(parameters).envelope_mass) == pytest.approx(
                    float(first[1]), abs=5e-3
                )
            assert float(figure) - 1e-3 < found <= float(figure)
