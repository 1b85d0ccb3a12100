"""Factorization: what the paper sends gives away who answered; noisy sums hide it, at the epsilon printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import exp, inf, nan, sqrt
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from sparse_answers import ERROR, NULL, Row, answers_of, crowd, follows, received, stream

from crowdveil.answers import Answers, Domain
from crowdveil.arrays import Ints
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import Guarantee, NoGuarantee
from crowdveil.kernels import factors
from crowdveil.local.factorization import Factorization
from crowdveil.local.predictions import STEPS, Predictions, object_profiles
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.randomness import seeded
from crowdveil.randomness.samplers import fill_discrete_laplace

TEN, FIVE = Domain(0, 9), Domain(-2, 2)
HALVES = np.array([[STEPS // 2, STEPS // 2], [STEPS, 0], [STEPS // 4, -3 * STEPS // 4]])  # |v| = 1 in all


def exact_sums(row: Row, domain: Domain, profiles: Ints) -> tuple[int, ...]:
    """z in half steps and the triangle of G in squared steps, as sums over answers."""
    d = profiles.shape[1]
    z, g = [0] * d, [0] * (d * (d + 1) // 2)
    for answer, v in zip(row, profiles.tolist(), strict=True):
        if answer is not None:
            z = [old + (2 * answer - domain.low - domain.high) * w for old, w in zip(z, v, strict=True)]
            products = [v[k] * v[other] for k in range(d) for other in range(k, d)]
            g = [old + more for old, more in zip(g, products, strict=True)]
    return (*z, *g)


@pytest.mark.parametrize(
    ("parameters", "profiles"),
    [
        (SoundFactorization(1.0, Domain(0, 2)), np.full((2, 1), STEPS)),
        (SoundFactorization(0.1, Domain(-1, 3)), np.full((2, 1), -STEPS)),
        (SoundFactorization(1 / 3, Domain(0, 2), 2), HALVES[:2]),
        (SoundFactorization(5.0, Domain(0, 3), 2), HALVES[1:]),
    ],
    ids=str,
)
def test_the_largest_log_ratio_of_neighbouring_rows_is_the_epsilon_printed(
    parameters: SoundFactorization, profiles: Ints
) -> None:
    # A sum y has a chance ~ exp(-|y - exact| / scale); numbers are independent, so log-ratios add up.
    d, domain = parameters.dimensions, parameters.domain
    each = [*range(domain.low, domain.high + 1), NULL]
    sums = {row: exact_sums(row, domain, profiles) for row in product(each, repeat=len(profiles))}
    scales = [parameters.answer_scale] * d + [parameters.product_scale] * (parameters.sums - d)

    def log_ratio(first: tuple[int, ...], second: tuple[int, ...]) -> Fraction:
        terms = (
            max(Fraction(abs(y - b) - abs(y - a)) / scale for y in (a - 1, a, a + 1, b - 1, b, b + 1))
            for a, b, scale in zip(first, second, scales, strict=True)
        )
        return sum(terms, Fraction(0))

    largest = max(
        log_ratio(sums[first], sums[second])
        for first, second in product(sums, repeat=2)
        if sum(x != y for x, y in zip(first, second, strict=True)) == 1
    )
    printed = parameters.promise().epsilon
    assert float(largest) == pytest.approx(printed, abs=1e-9, rel=0)
    assert largest <= Fraction(printed) <= Fraction(repr(parameters.epsilon)) * (1 + Fraction(1, 2**50))
    whole = max(log_ratio(first, second) for first, second in product(sums.values(), repeat=2))
    assert whole <= Fraction(parameters.promise("user", len(profiles)).epsilon)


def test_an_answer_that_comes_or_goes_costs_as_much_as_one_that_is_replaced() -> None:
    parameters = SoundFactorization(1.0, TEN)
    replaced = 2 * 9 * STEPS / parameters.answer_scale
    comes = 9 * STEPS / parameters.answer_scale + STEPS**2 / parameters.product_scale
    assert replaced == comes == 1


@pytest.mark.parametrize("dimensions", [1, 2, 5, 30])
def test_public_profiles_are_short_positive_and_depend_on_the_name_alone(dimensions: int) -> None:
    names = pl.Series([f"object {j}" for j in range(50)])
    profiles = object_profiles(names, dimensions, 4)
    total = profiles.sum(axis=1)
    assert (profiles >= 0).all()
    assert (total <= STEPS).all()
    assert (total > STEPS - dimensions).all()  # rounded towards zero, by less than a step each
    assert (object_profiles(names[::-1], dimensions, 4)[::-1] == profiles).all()
    assert (object_profiles(names[7:8], dimensions, 4)[0] == profiles[7]).all()
    if dimensions > 1:
        assert (object_profiles(names, dimensions, 5) != profiles).any()
        assert len(np.unique(profiles, axis=0)) > 40


@dataclass(frozen=True, eq=False)
class Given(SoundFactorization):
    """With these profiles of objects, whatever their names are."""

    given: Any = field(default_factory=lambda: HALVES)

    def profiles(self, objects: pl.Series) -> Ints:
        return cast("Ints", self.given)


class Alike(Factorization):
    """All objects have one profile."""

    def profiles(self, objects: pl.Series) -> Ints:
        return np.full((len(objects), 2), STEPS // 2)


def law_in_bins(scale: float, ends: list[int]) -> Any:
    """Chances that noise lies below the first end, between two, or at the last or beyond."""
    q = exp(-1 / scale)

    def below(y: int) -> float:
        return q ** (1 - y) / (1 + q) if y <= 0 else 1 - q**y / (1 + q)

    return np.diff([0.0, *map(below, ends), 1.0])


def bins(noise: Any, ends: list[int]) -> Any:
    return np.bincount(np.searchsorted(ends, noise, side="right"), minlength=len(ends) + 1)


@pytest.mark.parametrize("row", [(2, NULL, -2), (NULL, NULL, NULL)], ids=str)
def test_noisy_sums_follow_their_law(row: Row) -> None:
    parameters = Given(1.0, FIVE, 2)
    sent = received(crowd(row, FIVE, 20_000), parameters, rng=seeded(2))
    noise = sent.sums - np.array(exact_sums(row, FIVE, HALVES))
    for column in range(parameters.sums):
        scale = float(parameters.answer_scale if column < 2 else parameters.product_scale)
        ends = [round(scale * x / 4) for x in range(-16, 17)]
        assert follows(bins(noise[:, column], ends), law_in_bins(scale, ends))
        wrong = [round(1.1 * end) for end in ends]
        assert not follows(bins(noise[:, column], wrong), law_in_bins(scale, ends))


def test_noisy_sums_are_unbiased() -> None:
    parameters, users = Given(2.0, FIVE, 2), 20_000
    row = (2, -1, NULL)
    sent = received(crowd(row, FIVE, users), parameters, rng=seeded(3))
    z, g = sent.answer_sums(), sent.product_sums()
    v = HALVES / STEPS
    far = float(norm.isf(ERROR / 20)) / sqrt(users)
    assert np.abs(z.mean(axis=0) - (2 * v[0] - 1 * v[1])).max() <= far * sqrt(2) * 4 / 2.0
    wanted = np.outer(v[0], v[0]) + np.outer(v[1], v[1])
    assert np.abs(g.mean(axis=0) - wanted).max() <= far * sqrt(2) * 2 / 2.0
    assert (g == g.transpose(0, 2, 1)).all()


def many(domain: Domain, users: int = 30, objects: int = 12) -> Answers:
    """Some answers of each user."""
    rows = [
        [domain.low + (3 * u + j * j) % domain.size if (u + 2 * j) % 3 else NULL for j in range(objects)]
        for u in range(users)
    ]
    return answers_of(rows, domain)


def slow_truths(table: Any, sweeps: int) -> Any:
    """The paper's algorithm 1 on a table of predictions; nobody is trusted without bounds."""
    truths = table.mean(axis=0)
    for _ in range(sweeps):
        losses = np.square(table - truths).mean(axis=1)
        quality = 1 / np.sqrt(np.maximum(losses, 1e-3 * losses.mean()))
        truths = quality @ table / quality.sum()
    return truths


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_the_servers_side_of_noisy_sums_equals_a_slow_twin(dimensions: int) -> None:
    parameters = SoundFactorization(3.0, FIVE, dimensions, ridge=0.5)
    sent = received(many(FIVE), parameters, rng=seeded(1))
    found = sent.predictions()
    table = []
    for z, g in zip(sent.answer_sums(), sent.product_sums(), strict=True):
        values, vectors = np.linalg.eigh(g)
        positive = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
        u = np.linalg.solve(positive + 0.5 * np.eye(dimensions), z)
        table.append(np.clip(0.0 + sent.profiles / STEPS @ u, -2, 2))
    assert np.array([found.of(u) for u in range(30)]) == pytest.approx(np.array(table), abs=1e-9)
    truths = found.truths()
    assert truths.estimates == pytest.approx(slow_truths(np.array(table), truths.sweeps), abs=1e-9)
    assert (np.abs(truths.estimates) <= 2).all()


@pytest.mark.parametrize("dimensions", [1, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_the_papers_profiles_solve_its_equations(dimensions: int, ridge: float) -> None:
    """G u = z - noise, where the noise is what the user's stream gives."""
    parameters = Factorization(1.0, FIVE, dimensions, ridge=ridge)
    answers = many(FIVE)
    profiles = parameters.profiles(answers.objects)
    found = received(answers, parameters, rng=seeded(1))
    v = profiles / STEPS
    for user in range(30):
        own = slice(answers.offsets[user], answers.offsets[user + 1])
        noise = np.empty(dimensions, dtype=np.int64)
        noise_state = stream(user, parameters.method)
        fill_discrete_laplace(noise_state, parameters.scale.numerator, parameters.scale.denominator, noise)
        mine = v[answers.object_codes[own]]
        z = mine.T @ (answers.codes[own] - 2.0) - noise / STEPS
        g = mine.T @ mine + ridge * np.eye(dimensions)
        assert g @ found.user_profiles[user] == pytest.approx(z, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_the_papers_truths_come_from_sums_as_from_a_table(dimensions: int) -> None:
    found = received(many(TEN), Factorization(2.0, TEN, dimensions, ridge=0.5), rng=seeded(4))
    table = np.array([found.of(user) for user in range(30)])
    truths = found.truths()
    assert truths.estimates == pytest.approx(slow_truths(table, truths.sweeps), abs=1e-6)
    losses = np.square(table - truths.estimates).mean(axis=1)
    assert found._plain_losses(truths.estimates) == pytest.approx(losses, rel=1e-9)


def test_the_noise_of_the_papers_objective_follows_its_law() -> None:
    """With one dimension and one answer, u = answer - noise."""
    parameters = Factorization(1.0, TEN)
    found = received(crowd([7], TEN, 30_000), parameters, rng=seeded(2))
    noise = np.rint((7 - found.user_profiles[:, 0]) * STEPS).astype(np.int64)
    ends = [round(10 * STEPS * x / 4) for x in range(-16, 17)]
    assert follows(bins(noise, ends), law_in_bins(float(parameters.scale), ends))
    twice = received(crowd([7, 7], TEN, 30_000), parameters, rng=seeded(2))
    assert twice.user_profiles.std() == pytest.approx(found.user_profiles.std() / 2, rel=0.05)  # it shows


def test_users_with_too_few_answers_are_refused_or_left_to_the_ridge() -> None:
    rows: list[Row] = [[3, 4, 5], [NULL, 4, NULL], [1, 2, 3]]
    table = answers_of(rows, TEN)
    with pytest.raises(InputError, match="fewer dimensions or a ridge"):
        received(table, Factorization(1.0, TEN, 2))
    with pytest.warns(UserWarning, match="the ridge decides"):
        found = received(table, Factorization(1.0, TEN, 2, ridge=0.1))
    assert np.isfinite(found.user_profiles).all()
    with pytest.raises(InputError, match="too few answers"):
        received(answers_of([[NULL]], TEN), Factorization(1.0, TEN))
    with pytest.raises(InputError, match="too similar"):  # many answers, but about objects with one profile
        received(answers_of([[1, 2, 3]], TEN), Alike(1.0, TEN, 2))


def test_the_paper_promises_cells_and_keeps_nothing_but_values() -> None:
    parameters = Factorization(1.0, TEN, 2)
    for promise in (parameters.promise(), parameters.promise("user", 200)):
        assert isinstance(promise, NoGuarantee)
        assert "which objects were answered is not protected" in promise.sentence()
        assert "epsilon = 0.9 " in promise.sentence()
    values = parameters.promise("claim")
    assert isinstance(values, Guarantee)
    assert (values.epsilon, values.unit, values.trust) == (0.9, "claim", "local")
    assert any("not protected" in assumption for assumption in values.assumptions)


@pytest.mark.parametrize("answers", [3, 7])
def test_the_epsilon_of_values_is_their_largest_log_ratio(answers: int) -> None:
    """For those whose answers are about the same objects u is z - noise, turned: one to one."""
    parameters = Factorization(0.7, Domain(0, answers - 1), 2)
    shift = max(np.abs((a - b) * v).sum() for a in range(answers) for b in range(answers) for v in HALVES)
    ratio = Fraction(int(shift)) / parameters.scale
    values = parameters.promise("claim")
    assert isinstance(values, Guarantee)
    assert float(ratio) == pytest.approx(values.epsilon, abs=1e-9, rel=0)


def test_sound_promises_are_pure_local_and_add_up() -> None:
    parameters = SoundFactorization(0.5, TEN, 3)
    cell, user = parameters.promise(), parameters.promise("user", 200)
    assert isinstance(cell, Guarantee)
    assert (cell.epsilon, cell.delta, cell.unit, cell.trust) == (0.5, 0.0, "cell", "local")
    assert (user.epsilon, user.unit) == (100.0, "user")
    assert any("public seed" in assumption for assumption in cell.assumptions)


def test_what_a_user_sends_does_not_depend_on_other_users() -> None:
    rows: list[Row] = [[1, NULL, 2, NULL], [NULL, 2, 1, 0], [-1, -1, NULL, 2]]
    names = ["ann", "ben", "cy"]
    table, turned = answers_of(rows, FIVE, names), answers_of(rows[::-1], FIVE, names[::-1])
    sound, paper = SoundFactorization(1.0, FIVE, 2), Factorization(1.0, FIVE, 2)
    sent = received(table, sound, rng=seeded(1)).sums
    assert (received(turned, sound, rng=seeded(1)).sums[::-1] == sent).all()
    told = received(table, paper, rng=seeded(1)).user_profiles
    assert (received(turned, paper, rng=seeded(1)).user_profiles[::-1] == told).all()
    for user, name in enumerate(names):
        alone = answers_of([rows[user]], FIVE, [name])
        profiles, out = sound.profiles(table.objects), np.empty(sound.sums, dtype=np.int64)
        own = (alone.object_codes, alone.codes, profiles)
        sound.fill_sums(stream(name, sound.method), *own, out)
        assert (out == sent[user]).all()
        noisy, triangle = np.empty(2, dtype=np.int64), np.empty(3, dtype=np.int64)
        paper.fill_sums(stream(name, paper.method), *own, noisy, triangle)
        assert (paper.user_profile(noisy, triangle) == told[user]).all()


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    table = many(FIVE)
    reports: list[Callable[..., Any]] = [
        lambda **rng: received(table, SoundFactorization(1.0, FIVE), **rng).sums,
        lambda **rng: received(table, Factorization(1.0, FIVE), **rng).user_profiles,
    ]
    for send in reports:
        assert (send(rng=seeded(8)) == send(rng=seeded(8))).all()
        assert (send(rng=seeded(8)) != send(rng=seeded(9))).any()
        assert (send() != send()).any()


def test_sums_over_answers_are_exact() -> None:
    table = answers_of([[2, NULL, -2]], FIVE)
    z, g = np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.int64)
    factors.add_answers(table.object_codes, table.codes, HALVES, 2, 4, z)
    factors.add_products(table.object_codes, HALVES, g)
    assert (*z.tolist(), *g.tolist()) == exact_sums([2, NULL, -2], FIVE, HALVES)


def test_a_constant_predictor_is_found_constant() -> None:
    users = pl.Series(["a", "b"])
    same = Predictions(
        pl.Series(["x", "y"]), users, TEN, np.array([[3.0], [3.0]]), np.ones((2, 1)), 0.0, False
    )
    assert same.truths().estimates == pytest.approx([3.0, 3.0])


def with_profiles(profiles: Any) -> object:
    return received(crowd([1], TEN, 2), Given(1.0, TEN, given=profiles))


BOTH: tuple[Callable[..., Any], ...] = (Factorization, SoundFactorization)
BAD: list[tuple[Callable[[], object], str]] = [
    *((lambda m=m, e=e: m(e, TEN), "epsilon") for m in BOTH for e in (0.0, -1.0, nan, inf, 1e-7)),
    *((lambda m=m, d=d: m(1.0, TEN, d), "dimensions") for m in BOTH for d in (0, -1, 1.5, 257)),
    *((lambda m=m, r=r: m(1.0, TEN, ridge=r), "ridge") for m in BOTH for r in (-1.0, nan, inf)),
    *((lambda m=m: m(1.0, TEN, seed=-1), "seed") for m in BOTH),
    *((lambda m=m: m(1.0, TEN).promise("user", 0), "number of objects") for m in BOTH),
    (lambda: SoundFactorization(1.0, TEN, ridge=0.0), "ridge"),
    (lambda: with_profiles(np.array([[STEPS + 1]])), "more than"),
    (lambda: with_profiles(np.array([[1], [2]])), "1 for each"),
    (lambda: with_profiles(np.array([[0.5]])), "whole numbers"),
]


@pytest.mark.parametrize(("make", "wrong"), BAD)
def test_bad_parameters_are_refused(make: Callable[[], object], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        make()
