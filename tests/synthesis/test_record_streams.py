"""No two draws of a synthesis come from the same stream: neither two devices', nor two rounds'."""

from __future__ import annotations

import pytest
from small_tables import dependent

from crowdveil.synthesis.registry import METHODS
from noting import Noting


@pytest.mark.parametrize("name", METHODS)
def test_no_two_draws_of_a_synthesis_share_a_stream(name: str) -> None:
    rng, method = Noting.of(1), METHODS[name]
    method.synthesize(dependent(2000), method.parameters(2.0), rng=rng)
    assert rng.used
    assert rng.repeated == []
