"""Truths from randomized cells: equal to slow twins, better than what ignores the law, honest when unsure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from crowdveil.answers import CellReports, Domain
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels import symbol_counts
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.two_layer import TwoLayer
from crowdveil.truth import deviation, randomized
from crowdveil.truth.smooth_prior import SmoothPrior
from crowdveil.truth.user_rates import common_answers, rate_groups

Floats = NDArray[np.float64]
DOMAIN = Domain(0, 4)
NULL = -1


def crowd(
    seed: int, users: int = 300, objects: int = 100, rate: float = 0.5, spread: float = 0.8
) -> tuple[NDArray[np.int64], Floats]:
    """Codes of answers (NULL is -1) and truths; a third of the users errs three times as much."""
    rng = np.random.default_rng(seed)
    truths = rng.uniform(0, 4, objects)
    spreads = np.where(np.arange(users) % 3 == 0, 3 * spread, spread)
    values = truths + spreads[:, None] * rng.normal(size=(users, objects))
    codes = np.clip(np.rint(values), 0, 4).astype(np.int64)
    codes[rng.random(codes.shape) >= rate] = NULL
    return codes, truths


def reported(
    codes: NDArray[np.int64],
    epsilon: float,
    seed: int,
    levels: int | None = None,
    domain: Domain = DOMAIN,
) -> CellReports:
    """The reports that the law makes of these answers."""
    mechanism = CellResponse(epsilon, domain, levels)
    steps = np.cumsum(mechanism.law, axis=1)[np.where(codes == NULL, domain.size, codes)]
    drawn = np.random.default_rng([seed, 1]).random((*codes.shape, 1))
    symbols = np.minimum((drawn > steps).sum(axis=2), mechanism.rounded_to).astype(np.uint8)
    return CellReports(
        pl.Series("object", range(codes.shape[1])),
        pl.Series("user", range(codes.shape[0])),
        *(domain, symbols, mechanism.law, mechanism.level_values),
    )


def error(estimates: Floats, truths: Floats) -> float:
    return float(np.abs(estimates - truths).mean())


def test_kernels_equal_their_slow_twins() -> None:
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, 4, (7, 9)).astype(np.uint8)
    groups = rng.integers(0, 3, 7)
    table = rng.normal(size=(3, 9, 4, 2))
    users, sums = np.empty((7, 4)), np.empty((7, 2))
    counts = np.full((3, 9, 4), 5.0)
    symbol_counts.by_user(symbols, 0, 7, users)
    symbol_counts.by_object(symbols, groups, 0, 9, counts)
    symbol_counts.summed_by_user(symbols, groups, table, 0, 7, sums)
    assert users.tolist() == [[int((row == y).sum()) for y in range(4)] for row in symbols]
    for g in range(3):
        for j in range(9):
            for y in range(4):
                assert counts[g, j, y] == ((groups == g) & (symbols[:, j] == y)).sum()
    for u in range(7):
        assert sums[u] == pytest.approx(sum(table[groups[u], j, symbols[u, j]] for j in range(9)))


def test_beliefs_of_classes_equal_those_of_a_slow_twin() -> None:
    codes, _ = crowd(2, users=40, objects=6)
    reports, engine = reported(codes, 2.0, 2), LocalEngine(1)
    grid, rates = randomized._Grid.of(DOMAIN, reports.law), randomized._rates(reports, engine)
    assert rates.rates.size == 1
    classes = np.arange(40) % 2
    counts = np.empty((2, 6, 6))
    symbol_counts.by_object(reports.symbols, classes, 0, 6, counts)
    smooth = SmoothPrior.of(grid.places.size, grid.step / 4)
    shares = np.random.default_rng(2).dirichlet(np.ones(grid.spreads.size), 2)
    each = np.array([0.3, 0.6])
    model = randomized._Model(counts, each, np.arange(2), grid, smooth, reports.law)
    fit = randomized._start(model, rates)
    prior, fit.shares = np.exp(fit.prior), shares
    good = model.improve(fit)
    evidence = smooth.goodness(np.log(prior))
    for j in range(6):
        logs = np.log(prior)
        for u in range(40):
            rate, y = each[classes[u]], reports.symbols[u, j]
            for t in range(grid.places.size):
                answered = shares[classes[u]] @ grid.answered[t, :, y]
                logs[t] += np.log((1 - rate) * reports.law[-1, y] + rate * answered)
        belief = np.exp(logs - logs.max())
        assert fit.beliefs[j] == pytest.approx(belief / belief.sum(), abs=1e-9)
        evidence += np.log(np.exp(logs).sum())
    assert good == pytest.approx(evidence, rel=1e-9)


@pytest.mark.parametrize("expected", [None, np.full((2, 6), 1 / 6)])
def test_no_sweep_makes_things_worse(expected: Floats | None) -> None:
    codes, _ = crowd(3, users=200, objects=40)
    reports, engine = reported(codes, 1.0, 3), LocalEngine(1)
    grid, rates = randomized._Grid.of(DOMAIN, reports.law), randomized._rates(reports, engine)
    counts = np.empty((2, 40, 6))
    symbol_counts.by_object(reports.symbols, np.arange(200) % 3 // 2, 0, 40, counts)
    smooth = SmoothPrior.of(grid.places.size, grid.step / 4)
    model = randomized._Model(
        counts, np.full(2, 0.5), np.arange(2), grid, smooth, reports.law, expected=expected
    )
    fit = randomized._start(model, rates)
    fit.shares = np.full((2, 6), 1 / 6)
    goods = [model.improve(fit) for _ in range(60)]
    assert np.diff(goods).min() > -1e-6


def test_estimates_have_settled_when_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, epsilon in ((1, 1.0), (2, 3.0), (3, 5.0)):
        codes, _ = crowd(seed)
        reports = reported(codes, epsilon, seed)
        found = randomized.discover(reports)
        assert found.converged
        with monkeypatch.context() as longer:
            longer.setattr(randomized, "TOLERANCE", 1e-5)
            longer.setattr(randomized, "CAP", 3000)
            settled = randomized.discover(reports)
        moved = np.abs(found.estimates - settled.estimates).mean()
        assert moved < 0.2 * settled.errors.mean()


def test_answers_in_common_are_found_by_inverting_the_law() -> None:
    law = CellResponse(0.2, DOMAIN).law
    shares = np.array([0.3, 0.05, 0.1, 0.05, 0.1, 0.4])
    assert common_answers(1e6 * shares @ law, law) == pytest.approx(shares, abs=2e-3)


def test_users_rates_are_found_and_equal_ones_are_not_told_apart() -> None:
    rng = np.random.default_rng(4)
    rates = np.where(np.arange(200) < 40, 0.6, 0.02)
    for chance in (rates, np.full(200, 0.3)):
        codes = np.where(rng.random((200, 400)) < chance[:, None], rng.integers(0, 5, (200, 400)), NULL)
        reports = reported(codes, 1.0, 4)
        counts = np.stack([(reports.symbols == y).sum(axis=1) for y in range(6)], axis=1).astype(float)
        found = rate_groups(counts, reports.law)
        assert np.abs(found.of_users - chance).mean() < 0.04  # by its own reports alone: about .08
    assert found.rates.size == 1


@pytest.mark.parametrize("levels", [None, 3, 2])
def test_more_users_bring_estimates_nearer(levels: int | None) -> None:
    errors = []
    for users in (100, 400, 1600):
        codes, truths = crowd(5, users=users)
        errors.append(error(randomized.discover(reported(codes, 2.0, 5, levels)).estimates, truths))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.6 * errors[0]  # a root of 16 is 4; steps and levels leave less


def test_there_is_no_bias_away_from_the_ends() -> None:
    lean = []
    for seed in range(4):
        codes, truths = crowd(seed, users=800)
        inner = (truths > 1) & (truths < 3)
        lean.append((randomized.discover(reported(codes, 2.0, seed)).estimates - truths)[inner].mean())
    # The spread of errors is about .15, about 50 objects each.
    assert abs(np.mean(lean)) < 4 * 0.15 / np.sqrt(4 * 50)


@pytest.mark.parametrize(("epsilon", "rate"), [(1.0, 0.5), (2.0, 0.2), (3.0, 0.2)])
def test_it_beats_inverse_deviation_on_the_reports(epsilon: float, rate: float) -> None:
    gains = []
    for seed in range(6):
        codes, truths = crowd(seed, rate=rate)
        reports = reported(codes, epsilon, seed)
        users, objects = np.nonzero(reports.symbols < 5)
        claims = Claims.from_columns(objects, users, reports.symbols[users, objects].astype(float))
        plain = error(deviation.discover(claims).estimates, truths)
        gains.append(plain - error(randomized.discover(reports).estimates, truths))
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize(("rate", "epsilon"), [(0.05, 0.1), (0.5, 0.05)])
def test_with_next_to_no_information_it_is_a_constant(rate: float, epsilon: float) -> None:
    losses = []
    for seed in range(8):
        codes, truths = crowd(seed, rate=rate)
        estimates = randomized.discover(reported(codes, epsilon, seed, 2)).estimates
        losses.append(error(estimates, truths) - error(np.full(truths.size, np.median(estimates)), truths))
    assert np.mean(losses) < 0.02


@pytest.mark.parametrize(("epsilon", "rate"), [(1.0, 0.9), (2.0, 0.5), (3.0, 0.5), (5.0, 0.2)])
def test_intervals_cover(epsilon: float, rate: float) -> None:
    covered = []
    for seed in range(4):
        codes, truths = crowd(seed, users=500, rate=rate)
        found = randomized.discover(reported(codes, epsilon, seed, recommended_levels(epsilon, DOMAIN, 0.5)))
        low, high = found.intervals(0.9)
        covered.append(((low <= truths) & (truths <= high)).mean())
    assert 0.85 <= np.mean(covered) <= 0.97


def test_threads_do_not_matter() -> None:
    codes, _ = crowd(3)
    reports = reported(codes, 2.0, 3)
    one, three = (randomized.discover(reports, engine=LocalEngine(threads)) for threads in (1, 3))
    assert np.array_equal(one.estimates, three.estimates)
    assert np.array_equal(one.errors, three.errors)
    assert np.array_equal(one.weights, three.weights)


def test_careful_users_and_those_who_answer_more_weigh_more() -> None:
    codes, _ = crowd(7, spread=0.5)
    codes[1::6] = np.where(np.random.default_rng(0).random(codes[1::6].shape) < 0.8, NULL, codes[1::6])
    weights = randomized.discover(reported(codes, 4.0, 7)).weights
    assert np.median(weights[2::3]) > 2 * np.median(weights[0::3])
    assert np.median(weights[2::3]) > 2 * np.median(weights[1::6])


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 30.0])
def test_poor_input_gives_finite_estimates_inside_the_domain(epsilon: float, levels: int | None) -> None:
    nothing = np.full((20, 8), NULL)
    for codes in (
        *(np.array([[2]]), np.array([[NULL]]), crowd(1, users=1)[0], crowd(1, objects=1)[0]),
        *(nothing, np.full((20, 8), 3), np.zeros((200, 3), dtype=np.int64)),
    ):
        found = randomized.discover(reported(codes, epsilon, 1, levels))
        assert found.estimates.size == codes.shape[1]
        assert np.isfinite(found.errors).all()
        assert (found.errors > 0).all()
        assert np.isfinite(found.weights).all()
        assert ((found.estimates >= 0) & (found.estimates <= 4)).all()


def test_where_everybody_agrees_that_is_the_truth() -> None:
    for objects in (1, 30):
        found = randomized.discover(reported(np.full((400, objects), 3), 3.0, 1))
        assert np.abs(found.estimates - 3).max() < 0.5


def test_a_domain_may_be_large_or_lie_elsewhere() -> None:
    codes, truths = crowd(1, users=600)
    moved = randomized.discover(reported(codes, 2.0, 1, domain=Domain(-12, -8)))
    assert moved.estimates == pytest.approx(randomized.discover(reported(codes, 2.0, 1)).estimates - 12)
    large = Domain(0, 100)
    found = randomized.discover(
        reported(
            np.where(codes == NULL, NULL, 25 * codes), 3.0, 1, recommended_levels(3.0, large, 0.5), large
        )
    )
    assert error(found.estimates / 25, truths) < 0.5


def test_the_recommended_levels_grow_with_epsilon_and_fit_the_domain() -> None:
    ten = Domain(0, 9)
    assert [recommended_levels(e, ten, 0.5) for e in (0.1, 0.5, 1, 2, 2.5, 3, 5)] == [2, 4, 4, 4, 6, 10, 10]
    assert [recommended_levels(e, ten, 0.9) for e in (0.1, 0.5, 1, 2, 2.5, 3, 5)] == [2, 2, 4, 4, 6, 10, 10]
    assert [recommended_levels(e, DOMAIN, 0.5) for e in (0.1, 1, 2, 3)] == [2, 3, 3, 5]
    for size in (2, 3, 200):
        domain = Domain(0, size - 1)
        levels = [recommended_levels(e, domain, 0.5) for e in np.geomspace(0.01, 100, 50)]
        assert levels == sorted(levels)
        assert all(CellResponse(1.0, domain, n) for n in levels)
    for epsilon, sparsity in ((0.0, 0.5), (np.nan, 0.5), (1.0, -0.1), (1.0, 1.5)):
        with pytest.raises(ParameterError):
            recommended_levels(epsilon, ten, sparsity)


def test_users_whose_cells_share_a_hidden_draw_are_taken_for_alike() -> None:
    """2-Layer: a user's own epsilon shows in all of the user's reports, and says nothing about answers."""
    codes, truths = crowd(5, users=1500, rate=0.2)
    mechanism = TwoLayer(2.0, DOMAIN)
    rng = np.random.default_rng(6)
    own = np.array([float(one.keep_chance) for one in mechanism.responses])[rng.integers(0, 128, 1500)]
    true = np.where(codes == NULL, DOMAIN.size, codes)
    other = (true + rng.integers(1, DOMAIN.size + 1, codes.shape)) % (DOMAIN.size + 1)
    symbols = np.where(rng.random(codes.shape) < own[:, None], true, other).astype(np.uint8)
    names = pl.Series("object", range(codes.shape[1])), pl.Series("user", range(codes.shape[0]))
    reports = mechanism.received(*names, symbols)
    assert reports.users_alike
    found = randomized.discover(reports)
    low, high = found.intervals(0.9)
    assert ((low <= truths) & (truths <= high)).mean() > 0.8
    apart = randomized.discover(replace(reports, users_alike=False))
    assert error(found.estimates, truths) < 0.9 * error(apart.estimates, truths)


@pytest.mark.parametrize("epsilon", [1e-4, 0.5, 7.0, 8.0, 20.0, 42.0])
@pytest.mark.parametrize("levels", [2, 5])
def test_common_answers_are_found_at_any_epsilon(epsilon: float, levels: int) -> None:
    """Against a long run of expectation and maximization, in likelihood."""
    law = CellResponse(epsilon, DOMAIN, levels).law
    shares = np.array([0.3, 0.02, 0.0, 0.1, 0.08, 0.5])
    totals = 1e5 * shares @ law
    found = common_answers(totals, law)
    assert found.sum() == pytest.approx(1.0)
    slow = np.full(6, 1 / 6)
    for _ in range(20_000):
        slow = slow * (law @ (totals / totals.sum() / (slow @ law)))

    def likelihood(tried: Floats) -> float:
        return float(totals @ np.log(tried @ law))

    assert likelihood(found) >= likelihood(slow) - 0.5
