"""Audits of everything that a certified release spends: exact ratios, from the release code itself."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from crowdveil.audit import whole_release as whole
from crowdveil.audit.broken import Line, broken
from crowdveil.audit.case import Audit
from crowdveil.audit.planted import PLANTED
from crowdveil.audit.planted_lines import LINES
from crowdveil.audit.registry import AUDITS
from crowdveil.audit.run import run_audit
from crowdveil.audit.transcripts import NOISE_FREE, World, log_chances, log_ratio, over_matchings
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.randomness import secure, seeded
from crowdveil.releases import certified, histogram
from crowdveil.releases.certified import Certified, fit
from crowdveil.releases.histogram import pair_distances
from crowdveil.releases.noise import CountNoise

# Without noise, exactly: epsilon, or less where an added claim is not always paired, or weights are small.
REACHED = {
    "claim": 1.0,
    "claim-add-remove": 0.977,
    "user": 1.0,
    "user-add-remove": 0.977,
    "pooled": 0.92,
    "pooled-add-remove": 0.95,
    "second-look": 0.75 * 8,
    "second-look-add-remove": 0.85 * 8,
    "second-look-claim": 0.9 * 8,
}
PURE = [audit for audit in whole.ALL if audit.delta == 0]


def test_all_of_them_are_registered() -> None:
    for audit in whole.ALL:
        assert AUDITS[audit.name] is audit
    assert {audit.name.removeprefix("whole-certified-") for audit in PURE} == {*REACHED}
    for planted in LINES:
        assert PLANTED[planted.name] is planted


@pytest.mark.no_cover
@pytest.mark.parametrize("audit", PURE, ids=lambda audit: audit.name)
def test_without_noise_the_whole_of_epsilon_is_nearly_spent_and_no_more(audit: Audit) -> None:
    least = REACHED[audit.name.removeprefix("whole-certified-")]
    reached = max((1 - 2 * world) * audit.draws(world, NOISE_FREE, seeded(1))[:, 1].max() for world in (0, 1))
    assert least - 1e-9 <= reached <= audit.epsilon + 1e-9


def test_the_ratio_of_a_claim_is_that_of_its_two_statistics_by_hand() -> None:
    """Every coordinate on its own: near pairs and far ones, the low bin and the high one."""
    worlds = World(whole.claim_moves(0), whole.CLAIM), World(whole.claim_moves(1), whole.CLAIM)
    for seed in range(20):
        made = worlds[0].draw(seeded(seed))
        exact = [worlds[w].without_noise(seeded(seed)).near.counts for w in (0, 1)]
        pairs = (np.abs(made.near.counts - exact[1]) - np.abs(made.near.counts - exact[0])).sum()
        width = 12.0 / made.first.cells
        low, high = (int((place / width) + made.first.shifts[0]) // 3 for place in (1.5, 10.5))
        counts = made.first.counts[0]
        bins = abs(counts[low] - 1) - abs(counts[low] - 2) + abs(counts[high] - 1) - abs(counts[high])
        expected = pairs * 0.15 / 2 + bins * 0.85 / 2
        assert log_ratio(made, worlds, 0, seeded(seed)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("parameter", [Fraction(1, 3), Fraction(7, 2), Fraction(40)])
def test_chances_of_noise_sum_to_one(gaussian: bool, parameter: Fraction) -> None:
    noise = CountNoise(gaussian=gaussian, parameter=parameter, changed=1)
    assert np.exp(log_chances(noise, np.arange(-2000, 2001))).sum() == pytest.approx(1.0, abs=1e-12)


def test_all_matchings_of_small_objects() -> None:
    """Three claims have three matchings; so have four, of which one pairs equals if two and two are alike."""

    def law(values: list[float], objects: list[str]) -> dict[tuple[int, ...], float]:
        claims = Claims.from_columns(objects, list(range(len(values))), values)
        return over_matchings(
            claims,
            lambda one: (
                pair_distances(
                    *(one, whole.TWELVE, 2.0, Fraction(10**6), whole.CLAIM.neighbours),
                    rng=seeded(5),
                    engine=LocalEngine(1),
                ).counts
            ),
        )

    assert sorted(law([0.0, 1.0, 11.0], ["a"] * 3).values()) == pytest.approx([1 / 3, 2 / 3])
    assert law([0.0, 0.0, 11.0, 11.0], ["a"] * 4) == pytest.approx(
        {(2, 0, 0, 0, 0): 1 / 3, (0, 0, 0, 0, 2): 2 / 3}
    )
    two = law([0.0, 1.0, 11.0] * 2, ["a"] * 3 + ["b"] * 3)
    assert sorted(two.values()) == pytest.approx([1 / 9, 4 / 9, 4 / 9])


def test_what_is_replayed_is_what_a_release_learns() -> None:
    claims = whole.weights_move(0)
    released = fit(claims, whole.SECOND_LOOK, rng=seeded(3), engine=LocalEngine(1)).noisy
    made = World(claims, whole.SECOND_LOOK).draw(seeded(3))
    assert made.second is not None
    np.testing.assert_array_equal(made.last.counts, released.counts)
    assert released.noise == made.second.noise


def test_a_decision_that_differs_between_the_worlds_is_an_infinite_ratio() -> None:
    planted = PLANTED["the exact mean of claims, add-remove"]
    found = run_audit(planted, draws=100, seed=2)
    assert found.ratios is not None
    assert found.ratios.largest == inf
    assert found.refuted
    assert found.to_dict()["measured"]["epsilon"] == "infinite"


def test_without_a_seed_an_audit_reruns_each_release_all_the_same() -> None:
    drawn = whole.WHOLE_CLAIM.draws(0, 3, secure())
    assert np.abs(drawn).max() <= 1.0 + 1e-9
    assert drawn[0, 1] == pytest.approx(1.0)


def test_a_line_is_broken_only_as_long_as_it_is_asked_for() -> None:
    right = histogram.pair_noise
    around = Certified(1.0, whole.TWELVE, unit="user", cap=7).neighbours
    with broken(Line(histogram, "pair_noise", "2 * neighbours.claims", "2")):
        assert histogram.pair_noise(Fraction(1), around).changed == 2
    assert histogram.pair_noise is right
    assert histogram.pair_noise(Fraction(1), around).changed == 14
    with (
        pytest.raises(AssertionError, match="does not occur once"),
        broken(Line(certified, "fit", "x y", "")),
    ):
        pass
