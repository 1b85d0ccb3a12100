"""Certified releases where claims come and go: neither bins nor refusals tell how many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.certified import Certified, private_part
from crowdveil.releases.histogram import pair_distances
from crowdveil.releases.method import release
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.posterior import bins_for, typical_spread
from crowdveil.report.release_pages import public_page, steward_page

TEN = Range(0.0, 10.0)
COMING_AND_GOING = Certified(1.0, TEN, adjacency="add-remove", objects=("a",), unit="claim")


def test_the_number_of_bins_follows_noisy_counts_alone() -> None:
    claims = Claims.from_columns(["a"] * 30, range(30), np.full(30, 5.0))
    around, epsilon = COMING_AND_GOING.neighbours, COMING_AND_GOING.split.for_pairs(Pattern.of(claims))
    exact = []
    for seed in range(10):
        drawn: Any = {"rng": seeded(seed), "engine": LocalEngine(1)}
        near = pair_distances(claims, TEN, COMING_AND_GOING.step, epsilon, around, **drawn)
        spread, noisy_mean = typical_spread(near, TEN.length), max(2.0, 2.0 * near.pairs)
        bins = private_part(claims, COMING_AND_GOING, **drawn).last.bins
        assert bins == bins_for(spread, noisy_mean, 1.0, TEN.length)
        exact.append(bins_for(spread, 30.0, 1.0, TEN.length) == bins)
    assert not all(exact)  # the exact mean would have shown


def test_too_few_claims_are_refused_only_where_their_number_is_public() -> None:
    little, few = replace(COMING_AND_GOING, epsilon=0.01), Claims.from_columns(["a"] * 2, [1, 2], [5.0, 6.0])
    with pytest.raises(ParameterError, match="too few claims"):
        replace(little, adjacency="replace-one", objects=None).refuse_useless(few)
    little.refuse_useless(few)


EVERY_WAY: dict[str, dict[str, Any]] = {
    "bayes": {"unit": "claim"},
    "bayes, users": {"unit": "user", "cap": 2},
    "bayes, Gaussian": {"unit": "user", "cap": 2, "delta": 1e-6},
    "histogram": {"unit": "claim", "estimator": "histogram"},
    "histogram, users": {"unit": "user", "cap": 2, "estimator": "histogram"},
    "histogram, reliability": {"unit": "user", "cap": 2, "estimator": "histogram", "reliability": 0.3},
    "bayes, pooled": {"unit": "claim", "pooled": True},
    "histogram, pooled": {"unit": "user", "cap": 2, "estimator": "histogram", "pooled": True},
}
FEW = {
    "none": [],
    "one": [("a", "u", 3.0)],
    "not on the list": [("z", "u", 3.0), ("y", "v", 4.0)],
    "of one user": [("a", "u", 3.0), ("b", "u", 4.0)],
    "all equal": [("a", f"u{s}", 5.0) for s in range(9)],
}


@pytest.mark.parametrize("few", FEW)
@pytest.mark.parametrize("way", EVERY_WAY)
def test_however_few_claims_there_are_the_release_looks_the_same(way: str, few: str) -> None:
    options = EVERY_WAY[way] if "pooled" in EVERY_WAY[way] else {**EVERY_WAY[way], "objects": ("a", "b")}
    parameters = Certified(1.0, TEN, adjacency="add-remove", **options)
    frame = pl.DataFrame(FEW[few], schema={"o": pl.String, "u": pl.String, "v": pl.Float64}, orient="row")
    claims = parameters.used(Claims.from_frame(frame, object="o", user="u", value="v", if_any=True))
    made = release(claims, parameters, rng=seeded(1), engine=LocalEngine(1))
    assert parameters.may_lack_claims
    assert made.objects.to_list() == (["all objects"] if parameters.pooled else ["a", "b"])
    assert made.status_counts()["released"] == len(made.objects)
    assert np.diff(made.offsets).tolist() == [30] * len(made.objects)
    assert ((made.values >= 0) & (made.values <= 10)).all()
    assert public_page(made, LocalEngine())
    assert steward_page(made, claims, LocalEngine())
