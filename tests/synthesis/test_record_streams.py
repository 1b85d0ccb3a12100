"""No two draws of a synthesis come from the same stream: neither two devices', nor two rounds'."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from small_tables import SIZES, dependent, schema_of

from crowdveil.synthesis.collection import Collection
from crowdveil.synthesis.methods import METHODS
from noting import Noting


@pytest.mark.parametrize("name", METHODS)
def test_no_two_draws_of_a_synthesis_share_a_stream(name: str) -> None:
    rng, method = Noting.of(1), METHODS[name]
    method.synthesize(dependent(2000), method.parameters(2.0), rng=rng)
    assert rng.used
    assert rng.repeated == []


def test_every_round_tosses_its_own_coins() -> None:
    """Under the same plan a place is asked the same question again as often as two strangers are."""
    first = Collection(schema_of(SIZES), 2.0, seed=5)
    second = replace(first, number=1, planned=tuple(first.chances.tolist()))
    places = np.arange(20_000)
    alike = float((first.chances**2).sum())
    found = float(np.mean(first.assign(places) == second.assign(places)))
    assert abs(found - alike) < 4.9 * sqrt(alike * (1 - alike) / places.size)
