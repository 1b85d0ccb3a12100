"""What must hold of every release method: which claims it looks at, and where its draws come from."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.guarantee import SEEDED
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod, release
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.releases.registry import RELEASES
from crowdveil.releases.smoothed import Smoothed
from crowdveil.simulation.claims import SimulatedClaims
from noting import Noting

TEN = Range(0.0, 10.0)
METHODS: list[ReleaseMethod] = [
    Certified(2.0, TEN, unit="claim"),
    Certified(2.0, TEN, estimator="histogram", reliability=0.5, unit="claim"),
    Certified(2.0, TEN, unit="user", cap=2, delta=1e-6),
    Smoothed(TEN, bandwidth=0.5),
    Attempts(TEN, bandwidth=0.5),
    PrisCrowd(),
    PrisCrowd(range=TEN),
    Uniform(),
    Basic(1.0, TEN),
]


@pytest.fixture(scope="module")
def claims() -> Claims:
    return SimulatedClaims(users=20, objects=6).claims(rng=seeded(1))


def test_every_method_is_looked_at() -> None:
    assert {method.name for method in METHODS} == set(RELEASES)


each_method = pytest.mark.parametrize("method", METHODS, ids=repr)


@each_method
def test_the_claims_that_a_release_looks_at_lie_in_its_range(method: ReleaseMethod) -> None:
    values = np.array([-1e100, -0.1, 0.0, 5.0, 10.0, 10.1, 1e100])
    claims = Claims.from_columns(["a"] * 7, range(7), values)
    used = method.used(claims)
    inside = values if method.range is None else values.clip(0.0, 10.0)
    assert used.values.tolist() == inside.tolist()
    assert method.used(used).values.tolist() == inside.tolist()


def test_no_more_claims_of_a_user_are_looked_at_than_the_cap(claims: Claims) -> None:
    for cap in (1, 2, 5):
        used = Certified(2.0, TEN, unit="user", cap=cap).used(claims)
        assert used.claims_per_user().tolist() == [cap] * 20


@each_method
def test_a_seeded_release_promises_nothing(claims: Claims, method: ReleaseMethod) -> None:
    assert release(claims, method, rng=seeded(1), engine=LocalEngine(1)).promise is SEEDED


@each_method
def test_no_two_draws_of_a_release_share_a_stream(claims: Claims, method: ReleaseMethod) -> None:
    rng = Noting.of(1)
    release(claims, method, rng=rng, engine=LocalEngine(1))
    assert rng.used
    assert rng.repeated == []
