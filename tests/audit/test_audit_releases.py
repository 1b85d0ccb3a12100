"""Audits of releases: they attack what is really released, and their events have the chances they should."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from few_draws import ALPHA, seeds
from scipy.stats import multinomial

from crowdveil.audit import attempts, certified, smoothed
from crowdveil.audit.bounds import Counts, lower_bounds
from crowdveil.audit.case import separate
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.randomness import Randomness, secure, seeded
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.certified import Certified, fit
from crowdveil.releases.histogram import noisy_histograms

DEVIATIONS = 4.9  # one side: one chance in two million


def reaches(threshold: int, rate: float) -> float:
    """Pr[discrete Laplace noise of scale 1/rate >= threshold]."""
    tail = math.exp(-max(threshold, 1 - threshold) * rate) / (1 + math.exp(-rate))
    return tail if threshold > 0 else 1 - tail


def passes(parameters: Attempts, count: int) -> float:
    """The chance of the privacy test with so many plausible seeds, without forced failures."""
    missing = parameters.k - count
    tail = math.exp(-abs(missing) * parameters.epsilon0) / 2
    return tail if missing > 0 else 1 - tail


def tells_cells_apart(least: int) -> tuple[float, float]:
    q, a = (float(part) for part in smoothed.CELL.pair(1 + len(smoothed.CELL_OTHERS)))
    draws = smoothed.CELL.per_object
    chances = [0.0, 0.0]
    for i in range(draws + 1):
        for j in range(draws + 1 - i):
            if i - j >= least:
                for world, pair in enumerate(((q + a, q), (q, q + a))):
                    chances[world] += multinomial.pmf([i, j, draws - i - j], draws, [*pair, 1 - sum(pair)])
    return chances[0], chances[1]


def isolated_passes() -> tuple[float, float]:
    each = 0.9 * passes(attempts.ISOLATED, 1) / 3
    return 1 - (1 - each) ** 3, 0.0


def all_of_a_crowd_pass() -> tuple[float, float]:
    whole, less = passes(attempts.CROWD, 30), passes(attempts.CROWD, 29)
    return (0.9 * whole) ** 3, (0.9 * less * 29 / 30) ** 3


def nothing_passes() -> tuple[float, float]:
    alone, seven, eight = (1 - passes(attempts.NOTHING, count) for count in (1, 7, 8))
    return 0.02 + 0.98 * (alone + 7 * seven) / 8, 0.02 + 0.98 * eight


def both_bins() -> tuple[float, float]:
    return reaches(0, 0.5) ** 2, reaches(1, 0.5) ** 2


def rematched() -> tuple[float, float]:
    before, after = both_bins()
    return before, (100 * after + before) / 101


def all_bins_of_a_user() -> tuple[float, float]:
    rate = (1 - 0.02) / 4  # less than 2 % of epsilon go to the pairs
    return reaches(0, rate) ** 4, reaches(1, rate) ** 4


CHANCES = {
    "pair-distances": both_bins(),
    "pair-distances-add-remove": rematched(),
    "certified-user": all_bins_of_a_user(),
    "certified-add-remove": (reaches(0, 0.85), reaches(1, 0.85)),
    "smoothed": tells_cells_apart(3),
    "attempts-isolated": isolated_passes(),
    "attempts-crowd": all_of_a_crowd_pass(),
    "attempts-nothing": nothing_passes(),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CHANCES)
def test_audits_of_releases_show_what_their_best_event_can_show(name: str) -> None:
    audit, (p, q) = AUDITS[name], CHANCES[name]
    found = run_audit(audit, seed=1)
    tested = found.counts.draws
    both = audit.log_ratios is not None and audit.delta > 0  # then events have half of alpha
    on_paper = lower_bounds(
        Counts(round(p * tested), round(q * tested), tested),
        epsilon=audit.epsilon,
        delta=audit.delta,
        alpha=found.alpha / 2 if both else found.alpha,
    )
    deviations = [math.sqrt(chance * (1 - chance) / tested) for chance in (p, q)]
    if on_paper.delta > 0:
        stray = deviations[0] + math.exp(audit.epsilon) * deviations[1]
        assert found.bounds.delta > on_paper.delta - DEVIATIONS * stray
    else:
        assert found.bounds.epsilon is not None
        assert on_paper.epsilon is not None
        stray = deviations[0] / p + deviations[1] / q
        assert found.bounds.epsilon > on_paper.epsilon - DEVIATIONS * stray


def test_the_event_of_the_smoothed_audit_attains_its_claim() -> None:
    p, q = tells_cells_apart(3)
    audit = AUDITS["smoothed"]
    assert p - math.exp(audit.epsilon) * q == pytest.approx(audit.delta, abs=1e-9)


def some_claims() -> Claims:
    generator = np.random.default_rng(1)
    chosen = generator.random((12, 8)) < 0.7
    objects, users = np.nonzero(chosen)
    return Claims.from_columns(objects, users, generator.uniform(0, 12, objects.size))


@pytest.mark.parametrize(
    "parameters", [certified.USER, certified.ADD_REMOVE, certified.FEW], ids=["user", "add-remove", "few"]
)
def test_what_is_attacked_is_what_a_release_learns(parameters: Certified) -> None:
    claims = some_claims()
    if parameters.adjacency == "add-remove":
        parameters = replace(parameters, objects=tuple(claims.objects))
    released = fit(claims, parameters, rng=seeded(3), engine=LocalEngine(1)).noisy
    attacked = certified.learned(claims, parameters, seeded(3))
    assert attacked.bins == released.bins
    for mine, theirs in (
        (attacked.counts, released.counts),
        (attacked.shifts, released.shifts),
        (attacked.claims, released.claims),
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("world", [0, 1])
@pytest.mark.parametrize("seed", seeds(10))
def test_objects_are_independent_because_bins_are_always_four(world: int, seed: int) -> None:
    rows = certified.FEWEST_ROWS
    users = certified.learned(certified.claims_of_users(world, rows), certified.USER, seeded(seed))
    more = certified.learned(certified.with_or_without(world, rows), certified.ADD_REMOVE, seeded(seed))
    assert users.bins == more.bins == 4


def test_counts_are_read_from_the_bin_that_holds_a_value() -> None:
    claims = some_claims()
    noisy = noisy_histograms(
        *(claims, certified.TWELVE, 5, 200 * certified.EPSILON, certified.A_CLAIM),
        rng=seeded(1),
        engine=LocalEngine(1),
    )  # noise of scale 1/100: none at all
    width = certified.TWELVE.length / 5
    for value in (0.0, 1.5, 6.0, 11.9):
        for i, found in enumerate(certified.counts_at(noisy, value)):
            start = -noisy.shifts[i] * width / 3
            same = np.floor((claims.of(i) - start) / width) == math.floor((value - start) / width)
            assert found == same.sum()


@pytest.mark.parametrize("rng", [seeded(1), secure()], ids=["seeded", "secure"])
def test_separate_calls_share_no_draws(rng: Randomness) -> None:
    drawn = [one.stream("noise", purpose="test").uniforms(3) for one in separate(rng, 500)]
    assert np.unique(drawn).size == 1500


@pytest.mark.no_cover
def test_neither_bins_nor_objects_nor_values_of_a_whole_release_give_a_claim_away() -> None:
    assert not run_audit(certified.CERTIFIED_SHAPE, alpha=ALPHA, seed=1).refuted
