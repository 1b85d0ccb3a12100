"""Fixed attempts: the law of an attempt, what neighbours can change in it, and what is printed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import exp, inf, log, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.kernels.attempts import seeds_between
from crowdveil.kernels.smoothed import draw_weighted, fold
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.randomness.chacha import STATE_WORDS, start
from crowdveil.randomness.samplers import below, laplace_at_least
from crowdveil.releases import attempts
from crowdveil.releases.attempts import (
    Attempts,
    attempt_delta,
    cut_bins,
    nothing_epsilon,
    pass_chances,
)
from crowdveil.releases.method import release
from crowdveil.releases.result import Status
from crowdveil.releases.smoothed import gaussian_weights

modest = settings(deadline=None, derandomize=True, max_examples=80)
ERROR = 1e-6
TEN = Range(0.0, 10.0)


def claims_of(objects: list[list[float]]) -> Claims:
    rows = [(i, s, value) for i, values in enumerate(objects) for s, value in enumerate(values)]
    return Claims.from_columns(*map(list, zip(*rows, strict=True)))


def small(width: float = 0.7, cells: int = 5, **changes: float) -> Attempts:
    """A grid of a few cells of width 1."""
    given: dict[str, float] = {"attempts": 2, "k": 2, "gamma": 2.0, "epsilon0": 0.5, "eta": 0.2, "delta": 0.3}
    return Attempts(Range(0.0, float(cells)), width, resolution=1.0, **(given | changes))  # type: ignore[arg-type]


def chance_to_pass(count: int, parameters: Attempts) -> float:
    """Pr[Laplace noise >= k - count]."""
    missing = parameters.epsilon0 * (parameters.k - count)
    return 0.5 * exp(-missing) if missing > 0 else 1 - 0.5 * exp(missing)


def law_of(parameters: Attempts, places: tuple[int, ...]) -> Floats:
    """The law of one attempt, in the plainest way: "nothing", then every cell that can be reached."""
    kernel = gaussian_weights(parameters.bandwidth / parameters.range.length * parameters.cells)
    reach, total = kernel.size // 2, int(kernel.sum())
    bins = cut_bins(kernel, parameters.gamma)
    bin_of = [int(np.searchsorted(bins, d, side="right")) for d in range(reach + 1)]
    law = np.zeros(1 + parameters.cells + 2 * reach)
    for x in places:
        for offset in range(-reach, reach + 1):
            y = x + offset
            near = [abs(y - t) for t in places]
            count = sum(d <= reach and bin_of[d] == bin_of[abs(offset)] for d in near)
            drawn = int(kernel[offset + reach]) / total / len(places)
            law[1 + y + reach] += (1 - parameters.eta) * drawn * chance_to_pass(count, parameters)
    law[0] = 1 - law.sum()
    return law


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> float:
    return float(np.maximum(p - exp(epsilon) * q, 0.0).sum())


def neighbours(parameters: Attempts, n: int) -> list[list[Floats]]:
    """For each choice of the other claims, the laws for every place of one claim."""
    cells = range(parameters.cells)
    return [
        [law_of(parameters, (*others, x)) for x in cells]
        for others in combinations_with_replacement(cells, n - 1)
    ]


# --- the figures


@pytest.mark.parametrize(
    ("n", "k", "epsilon0", "figures"),
    [(247, 50, 0.3, (0.356, 1.836, 10.89)), (1000, 20, 1.0, (1.113, 5.63, 34.3))],
)
def test_the_stated_epsilons(n: int, k: int, epsilon0: float, figures: tuple[float, ...]) -> None:
    for times, figure, last in zip(
        (1, 5, 30), figures, ((5e-4, 5e-4, 5e-3), (5e-4, 5e-3, 5e-2))[k == 20], strict=True
    ):
        assert Attempts(TEN, 0.5, times, k, 2.0, epsilon0).epsilon([n]) == pytest.approx(figure, abs=last)


@pytest.mark.parametrize("times", [1, 5, 30])
def test_too_small_a_k_has_no_answer(times: int) -> None:
    parameters = Attempts(TEN, 0.5, times, 5, 2.0, 1.0)
    assert parameters.epsilon([1000]) == inf
    with pytest.raises(ParameterError, match="raise k"):
        release(claims_of([[1.0] * 100]), parameters)


@pytest.mark.parametrize(("times", "k"), [(1, 27), (5, 32), (30, 38)])
def test_the_smallest_k_with_an_answer(times: int, k: int) -> None:
    assert Attempts(TEN, 0.5, times, k, 2.0, 0.3).epsilon([247]) < inf
    assert Attempts(TEN, 0.5, times, k - 1, 2.0, 0.3).epsilon([247]) == inf


def test_the_chance_of_nothing_is_bounded_better_than_by_the_sum() -> None:
    for n, rate, eta in product((1, 30, 247), (0.1, 0.3, 1.0), (0.01, 0.1, 0.5)):
        assert nothing_epsilon(n, rate, eta) <= log(exp(rate) + 1 / (n * eta))
    assert nothing_epsilon(247, 0.3, 0.1) == pytest.approx(0.3)


def test_the_worst_object_counts() -> None:
    parameters = Attempts(TEN, 0.5, 5, 60, 2.0, 0.3)
    alone = [parameters.epsilon([n]) for n in (80, 247, 1000)]
    assert max(alone) <= parameters.epsilon([247, 80, 1000, 247]) <= max(alone) * 1.02
    assert parameters.epsilon([100, 100]) == parameters.epsilon([100])


# --- the law


@pytest.mark.parametrize(("k", "rate"), [(1, 0.3), (5, 1.0), (50, 0.3)])
def test_chances_to_pass_are_those_of_laplace_noise(k: int, rate: float) -> None:
    c = np.arange(0, 2 * k + 3)
    found = pass_chances(c, k, rate)
    for count, chance in zip(c.tolist(), found.tolist(), strict=True):
        t = k - count
        assert chance == pytest.approx(0.5 * exp(-rate * t) if t > 0 else 1 - 0.5 * exp(rate * t), rel=1e-14)
    assert (np.diff(np.log(found)) <= rate + 1e-12).all()
    assert (np.diff(np.log1p(-found)) >= -rate - 1e-8).all()


@modest
@given(
    n=st.integers(1, 300),
    k=st.integers(1, 60),
    gamma=st.floats(1.01, 20),
    rate=st.floats(0.01, 3),
    more=st.floats(0, 3),
)
def test_the_delta_of_an_attempt_equals_its_twin(
    n: int, k: int, gamma: float, rate: float, more: float
) -> None:
    def brackets(epsilon: float) -> list[float]:
        pi = pass_chances(np.arange(n + 1), k, rate).tolist()
        return [pi[c + 1] - c / gamma * (exp(epsilon) * pi[c] - pi[c + 1]) for c in range(n)]

    epsilon = rate + more
    found = attempt_delta(np.array([n]), k, gamma, rate, epsilon)
    assert found == pytest.approx(max(0.0, *brackets(epsilon)) / n, rel=1e-9, abs=1e-13)
    assert attempt_delta(np.array([n]), k, gamma, rate, epsilon + 0.1) <= found * (1 + 1e-9) + 1e-15
    assert found <= attempt_delta(np.array([n]), k, 1.1 * gamma, rate, epsilon) * (1 + 1e-9) + 1e-15
    assert found <= attempt_delta(np.array([n, 7]), k, gamma, rate, epsilon)


SMALL = [
    small(),
    small(k=1, gamma=1.2, epsilon0=1.0),
    small(k=3, gamma=4.0, epsilon0=0.2, eta=0.05),
    small(0.1, 4, k=2, epsilon0=2.0),
    small(2.0, 6, k=2, gamma=1.5),
]


@pytest.mark.parametrize("parameters", SMALL)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_neighbour_changes_an_attempt_by_more_than_stated(parameters: Attempts, n: int) -> None:
    rate, eta = parameters.epsilon0, parameters.eta
    grid = [rate, rate + 0.2, rate + 0.7, rate + 2.0]
    stated = [attempt_delta(np.array([n]), parameters.k, parameters.gamma, rate, one) for one in grid]
    nothing = nothing_epsilon(n, rate, eta)
    for near in neighbours(parameters, n):
        for p, q in product(near, near):
            assert log(p[0] / q[0]) <= nothing + 1e-12
            for one, delta in zip(grid, stated, strict=True):
                assert hockey_stick(p[1:], q[1:], one) <= delta + 1e-12


@pytest.mark.no_cover
@pytest.mark.parametrize("parameters", SMALL)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_two_attempts_keep_the_printed_promise(parameters: Attempts, n: int) -> None:
    printed = parameters.epsilon([n])
    if printed == inf:
        return
    worst = 0.0
    for near in neighbours(parameters, n):
        twice = [np.outer(law, law).ravel() for law in near]
        worst = max(worst, *(hockey_stick(p, q, printed) for p, q in product(twice, twice)))
    assert worst <= parameters.delta + 1e-12


def test_some_of_those_promises_are_finite() -> None:
    assert sum(parameters.epsilon([n]) < inf for parameters in SMALL for n in (1, 2, 3)) >= 8


def test_the_delta_of_a_lone_claim_is_attained_but_for_forced_failures() -> None:
    # Kernels of one cell: a lone claim at 0 passes with one plausible seed, and nobody else reaches 0.
    parameters = small(0.1, 4, k=4, gamma=2.0, epsilon0=1.0, eta=0.2)
    p, q = (law_of(parameters, (2, 2, x)) for x in (0, 1))
    stated = attempt_delta(np.array([1]), 4, 2.0, 1.0, 5.0) / 3
    assert hockey_stick(p, q, 5.0) == pytest.approx(0.8 * stated, rel=1e-9)
    assert attempt_delta(np.array([3]), 4, 2.0, 1.0, 5.0) == pytest.approx(stated, rel=1e-9)


@modest
@given(width=st.floats(0.05, 40), gamma=st.floats(1.0001, 1e6))
@example(width=29.0, gamma=1.2)  # 1.2 is a little less than 6/5, and 30 more than 1.2 times 25
def test_weights_inside_a_bin_differ_by_at_most_gamma(width: float, gamma: float) -> None:
    kernel = gaussian_weights(width)
    side = kernel[kernel.size // 2 :]
    bins = cut_bins(kernel, gamma)
    assert bins[0] == 0
    assert bins[-1] == side.size
    assert (np.diff(bins) > 0).all()
    for first, past in pairwise(bins):
        largest = Fraction(int(side[first])) / Fraction(gamma)
        assert largest <= int(side[past - 1])
        assert past == side.size or largest > int(side[past])


@modest
@given(
    x=st.lists(st.integers(-20, 20), min_size=1, max_size=30),
    y=st.integers(-25, 25),
    near=st.integers(0, 10),
    more=st.integers(1, 10),
)
def test_seeds_between_equal_their_twin(x: list[int], y: int, near: int, more: int) -> None:
    found = seeds_between(np.sort(np.array(x, dtype=np.int64)), y, near, near + more)
    assert found == sum(near <= abs(y - place) < near + more for place in x)


# --- the draws


def twin(claims: Claims, parameters: Attempts, seed: int) -> list[list[int]]:
    """The loop, one step after the other, with plausible seeds counted one by one."""
    key, nonces = seeded(seed).streams(claims.objects, purpose="attempts")
    kernel = gaussian_weights(parameters.bandwidth / parameters.range.length * parameters.cells)
    reach, bins = kernel.size // 2, cut_bins(kernel, parameters.gamma).tolist()
    rows = []
    for i in range(len(claims.objects)):
        state = np.zeros(STATE_WORDS, dtype=np.uint32)
        start(state, key, nonces[i])
        places = [min(int(max(x, 0.0)), parameters.cells - 1) for x in claims.of(i)]
        row = []
        for _ in range(parameters.attempts):
            if below(state, 5) < 1:  # eta = 0.2
                continue
            offset = int(draw_weighted(state, np.cumsum(kernel))) - reach
            y = places[below(state, len(places))] + offset
            (mine,) = [b for b in range(len(bins) - 1) if bins[b] <= abs(offset) < bins[b + 1]]
            count = sum(bins[mine] <= abs(y - place) < bins[mine + 1] for place in places)
            if laplace_at_least(state, parameters.k - count, 1, 2):  # epsilon0 = 0.5
                row.append(int(fold(y, parameters.cells)))
        rows.append(sorted(row))
    return rows


def test_the_loop_equals_its_twin_on_the_same_draws() -> None:
    parameters = small(2.0, 12, attempts=60, k=30, delta=0.3)
    claims = claims_of([[1.0, 2.5, 11.9], [5.0] * 30, [-3.0, 99.0, 7.0, 0.0] * 9, [6.0]])
    released = release(claims, parameters, rng=seeded(1))
    cells = [np.rint(released.of(i) - 0.5).astype(int).tolist() for i in range(4)]
    assert cells == twin(claims, parameters, 1)
    assert len(cells[1]) > 10


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "places", [(0, 0, 3), (2, 2, 2, 2), (0, 1, 3, 4), (2,)], ids=["mixed", "constant", "spread", "single"]
)
@pytest.mark.parametrize("width", [0.7, 1.5])
def test_attempts_follow_the_law(places: tuple[int, ...], width: float) -> None:
    parameters = small(width, attempts=1, delta=0.9)
    objects = 100_000
    claims = Claims.from_columns(
        np.repeat(np.arange(objects), len(places)),
        np.tile(np.arange(len(places)), objects),
        np.tile(np.array(places) + 0.5, objects),
    )
    released = release(claims, parameters, rng=seeded(2))
    law = law_of(parameters, places)
    reach = (law.size - 1 - 5) // 2
    expected = np.zeros(6)
    expected[5] = law[0]
    for y, mass in enumerate(law[1:]):
        expected[int(fold(y - reach, 5))] += mass
    observed = np.bincount(np.rint(released.values - 0.5).astype(int), minlength=6)
    observed[5] = objects - len(released)
    expected *= objects
    assert expected.min() >= 20
    assert ((observed - expected) ** 2 / expected).sum() <= float(chi2.isf(ERROR, 5))


def test_the_counterexample_to_the_papers_theorem_is_no_longer_one() -> None:
    # 29 claims at 5 and one at 9: the chance that any of 30 attempts shows a value near 9 stays below delta.
    parameters = Attempts(TEN, 0.45, 30, 50, 4.0, 0.3, resolution=0.1)
    lone = 30 * chance_to_pass(1, parameters) / 30
    assert lone <= parameters.delta
    assert parameters.epsilon([30]) < inf


# --- the release


def crowd(objects: int = 3, per_object: int = 247) -> Claims:
    values = 4 + 2 * seeded(1).stream("values", purpose="test").uniforms(objects * per_object)
    names = [f"object {i}" for i in range(objects) for _ in range(per_object)]
    return Claims.from_columns(names, list(range(per_object)) * objects, values.tolist())


def test_the_promise_is_the_computed_epsilon() -> None:
    parameters = Attempts(TEN, 0.5)
    released = release(crowd(), parameters)
    promise = released.promise
    assert isinstance(promise, Guarantee)
    assert promise.epsilon == parameters.epsilon([247]) == pytest.approx(1.8356, abs=1e-4)
    assert (promise.delta, promise.unit, promise.adjacency, promise.trust) == (
        1e-6,
        "claim",
        "replace-one",
        "central",
    )
    assert not released.seeded
    assert released.parameters["attempts"] == 5


def test_a_seed_takes_the_promise_away() -> None:
    assert isinstance(release(crowd(), Attempts(TEN, 0.5), rng=seeded(3)).promise, NoGuarantee)


def test_equal_claims_are_treated_like_all_others() -> None:
    claims = claims_of([[5.0] * 200, [5.0 + i / 1000 for i in range(200)], [i / 20 for i in range(200)]])
    released = release(claims, Attempts(TEN, 0.5, attempts=100, k=60, delta=1e-6), rng=seeded(4))
    constant, close, spread = (released.of(i) for i in range(3))
    assert constant.size > 60
    assert abs(constant.size - close.size) < 40
    assert spread.size < close.size
    assert np.unique(constant).size > 10  # values are moved, not repeated


def test_objects_in_which_nothing_passes_stay_in_the_release() -> None:
    claims = claims_of([[1.0, 9.0], [5.0] * 247])
    released = release(claims, Attempts(TEN, 0.5, attempts=20, k=80), rng=seeded(5))
    assert len(released.objects) == 2
    assert released.of(0).size == 0
    assert 0 < released.of(1).size <= 20
    assert released.statuses.tolist() == [Status.shortfall, Status.released]
    assert (np.diff(released.of(1)) >= 0).all()
    assert ((released.values > 0) & (released.values < 10)).all()


@pytest.mark.parametrize(("outside", "end"), [(-1e100, 0.0), (-0.1, 0.0), (10.1, 10.0), (1e100, 10.0)])
def test_claims_outside_the_range_count_as_its_nearest_end(outside: float, end: float) -> None:
    a, b = (release(claims_of([[x] * 250]), Attempts(TEN, 0.5, 50), rng=seeded(6)) for x in (outside, end))
    assert a.values.size > 0
    assert np.array_equal(a.values, b.values)


def test_threads_and_other_objects_do_not_matter() -> None:
    claims, parameters = crowd(300, 200), Attempts(TEN, 0.5, 400, 70)
    one, two = (release(claims, parameters, rng=seeded(7), engine=LocalEngine(threads)) for threads in (1, 2))
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.offsets, two.offsets)
    index = claims.objects.to_list().index("object 7")
    alone = Claims.from_columns(["object 7"] * 200, list(range(200))[::-1], claims.of(index))
    assert np.array_equal(release(alone, parameters, rng=seeded(7)).values, one.of(index))


@pytest.mark.no_cover
@settings(deadline=None, derandomize=True, max_examples=8)
@given(times=st.integers(1, 40), k=st.integers(40, 80), n=st.integers(50, 400), delta=st.floats(1e-6, 1e-2))
def test_more_attempts_cost_more_and_more_delta_less(times: int, k: int, n: int, delta: float) -> None:
    found = Attempts(TEN, 0.5, times, k, 2.0, 0.3, delta=delta).epsilon([n])
    assert found <= Attempts(TEN, 0.5, times + 1, k, 2.0, 0.3, delta=delta).epsilon([n]) * (1 + 1e-3)
    assert found >= Attempts(TEN, 0.5, times, k, 2.0, 0.3, delta=2 * delta).epsilon([n]) * (1 - 1e-3)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda h=h: Attempts(TEN, h) for h in (0.0, -1.0, nan, inf, 11.0)),
        *(lambda t=t: Attempts(TEN, 0.5, t) for t in (0, -1, 10_001)),
        *(lambda k=k: Attempts(TEN, 0.5, k=k) for k in (0, -1)),
        *(lambda g=g: Attempts(TEN, 0.5, gamma=g) for g in (1.0, 0.5, nan, inf)),
        *(lambda e=e: Attempts(TEN, 0.5, epsilon0=e) for e in (0.0, -1.0, nan, inf, 101.0)),
        *(lambda e=e: Attempts(TEN, 0.5, eta=e) for e in (0.0, 1.0, -0.1, nan, 1e-9)),
        *(lambda d=d: Attempts(TEN, 0.5, delta=d) for d in (0.0, -1e-9, 1.0, nan)),
        *(lambda r=r: Attempts(TEN, 0.5, resolution=r) for r in (0.0, -1.0, nan, inf, 1e-9)),
        lambda: Attempts(TEN, 0.5).epsilon([]),
        lambda: Attempts(TEN, 0.5).epsilon([0, 5]),
        lambda: attempts.attempt_delta(np.array([5]), 5, 2.0, 1.0, 0.5),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        make()


PAGE = Path(__file__).parents[2] / "docs" / "guarantees" / "attempts.md"


def test_the_figures_on_the_page_are_the_ones_computed() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    figures = [row for row in rows if row[0].isdigit()]
    assert len(figures) == 3
    for n, k, rate, *stated in figures:
        for times, figure in zip((1, 5, 30), stated, strict=True):
            found = Attempts(TEN, 0.5, times, int(k), 2.0, float(rate)).epsilon([int(n)])
            assert (found == inf) if figure == "none" else (float(figure) - 1e-3 < found <= float(figure))
