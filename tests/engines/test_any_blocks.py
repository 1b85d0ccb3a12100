"""Results of every method are the same to the last bit, however an engine divides the claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.labels import Labels
from crowdveil.noise_law import NoiseLaw
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, Streams, Words, seeded
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod, release
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.releases.registry import RELEASES
from crowdveil.releases.smoothed import Smoothed
from crowdveil.truth.registry import Input, method_for, methods_for
from cutting import OneByOne

TEN = Range(0.0, 10.0)
RELEASED: dict[str, ReleaseMethod] = {
    "certified": Certified(2.0, TEN, unit="claim"),
    "certified, background": Certified(2.0, TEN, unit="user", cap=3, background=True),
    "certified, gaussian": Certified(2.0, TEN, unit="user", cap=3, delta=1e-6),
    "certified, coming and going": Certified(
        4.0, TEN, unit="user", cap=3, adjacency="add-remove", objects=("3", "none", *map(str, range(20)))
    ),
    "certified, histogram": Certified(2.0, TEN, estimator="histogram", unit="claim"),
    "certified, reliability": Certified(9.0, TEN, estimator="histogram", reliability=0.5, unit="claim"),
    "certified, pooled": Certified(2.0, TEN, pooled=True, unit="claim"),
    "smoothed": Smoothed(TEN, bandwidth=0.5),
    "attempts": Attempts(TEN, bandwidth=2.0, k=16, epsilon0=1.0),
    "priscrowd": PrisCrowd(k=2, gamma=8.0),
    "priscrowd, range": PrisCrowd(range=TEN),
    "uniform": Uniform(k=2),
    "basic": Basic(1.0, TEN),
}


def crowd(seed: int = 1) -> Claims:
    """Objects with one claim and with many, ties, and an object on which all agree."""
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 30, 8, 9, *rng.integers(1, 40, 24).tolist()]
    objects = np.repeat([str(number) for number in range(len(sizes))], sizes)
    users = np.concatenate([rng.permutation(45)[:size] for size in sizes])
    values = np.round(rng.normal(rng.uniform(2, 8, len(sizes)).repeat(sizes), 1.0), 1).clip(0, 10)
    values[objects == "5"] = 4.0
    return Claims.from_columns(objects.tolist(), [f"user {user}" for user in users], values)


def test_every_method_is_looked_at() -> None:
    assert {method.name for method in RELEASED.values()} == set(RELEASES)


@pytest.mark.parametrize("name", RELEASED)
def test_a_release_does_not_depend_on_blocks(name: str) -> None:
    whole, cut = (
        release(crowd(), RELEASED[name], rng=seeded(5), engine=engine)
        for engine in (LocalEngine(1), OneByOne())
    )
    assert len(whole) > 0
    assert whole.values.tobytes() == cut.values.tobytes()
    assert whole.offsets.tobytes() == cut.offsets.tobytes()
    assert whole.statuses.tobytes() == cut.statuses.tobytes()
    if whole.weights is not None and cut.weights is not None:
        assert whole.weights.user.tobytes() == cut.weights.user.tobytes()


@pytest.mark.parametrize("name", methods_for(Input.CLAIMS))
def test_truths_do_not_depend_on_blocks(name: str) -> None:
    infer = method_for(Input.CLAIMS, name)
    _same_truths(*(infer(crowd(), engine=engine) for engine in (LocalEngine(1), OneByOne())))


@pytest.mark.parametrize("laplace", [0.0, 2.0])
def test_noise_aware_truths_do_not_depend_on_blocks(laplace: float) -> None:
    infer, law = method_for(Input.NOISY_CLAIMS, None), NoiseLaw(0.0, 10.0, laplace, 0.5)
    _same_truths(*(infer(crowd(), law, engine=engine) for engine in (LocalEngine(1), OneByOne())))


def _same_truths(whole: Any, cut: Any) -> None:
    assert whole.sweeps == cut.sweeps
    for array in ("estimates", "errors", "freedom", "weights"):
        assert getattr(whole, array).tobytes() == getattr(cut, array).tobytes()


@pytest.mark.parametrize("name", methods_for(Input.LABELS))
def test_votes_do_not_depend_on_blocks(name: str) -> None:
    claims = crowd()
    users = claims.users.gather(claims.user_codes)
    labels = Labels.from_columns(
        claims.objects.gather(claims.owners()), users, [f"label {value // 2:g}" for value in claims.values]
    )
    vote = method_for(Input.LABELS, name)
    whole, cut = (vote(labels, engine=engine) for engine in (LocalEngine(1), OneByOne()))
    assert whole.estimates.to_list() == cut.estimates.to_list()
    assert whole.chances.tobytes() == cut.chances.tobytes()
    assert whole.weights.tobytes() == cut.weights.tobytes()


@dataclass(frozen=True, eq=False)
class _Seen(Streams):
    used: list[bytes]

    def nonces(self, names: Any, first: int = 0) -> Words:
        nonces = super().nonces(names, first)
        self.used.extend(self.key.tobytes() + nonce.tobytes() for nonce in nonces)
        return nonces


@dataclass(frozen=True)
class _Secure(Randomness):
    used: list[bytes] = field(default_factory=list)

    def all_streams(self, *, purpose: str) -> Streams:
        streams = super().all_streams(purpose=purpose)
        return _Seen(streams.key, None, purpose.encode(), self.used)


@pytest.mark.parametrize("name", RELEASED)
def test_blocks_never_draw_from_the_same_stream(name: str) -> None:
    rng = _Secure(None)
    release(crowd(), RELEASED[name], rng=rng, engine=OneByOne())
    assert len(rng.used) >= len(crowd().objects) or RELEASED[name].pooled  # type: ignore[attr-defined]
    assert max(Counter(rng.used).values()) == 1
