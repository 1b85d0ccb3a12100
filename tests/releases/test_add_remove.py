"""Certified releases where claims come and go: neither bins nor refusals tell how many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.certified import Certified, private_part
from crowdveil.releases.histogram import pair_distances
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.posterior import bins_for, typical_spread

TEN = Range(0.0, 10.0)
COMING_AND_GOING = Certified(1.0, TEN, adjacency="add-remove", objects=("a",))


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
    little, few = replace(COMING_AND_GOING, epsilon=0.01), Pattern.even(1, 2)
    with pytest.raises(ParameterError, match="too few claims"):
        replace(little, adjacency="replace-one", objects=None).refuse_useless(few)
    little.refuse_useless(few)
