"""Every release method, and claims that look for trouble: engines must agree on all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdveil.claims import Claims
from crowdveil.labels import Labels
from crowdveil.public_range import Range
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.releases.smoothed import Smoothed

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


def labels_of(claims: Claims) -> Labels:
    """Labels of the same users about the same objects."""
    users = claims.users.gather(claims.user_codes)
    texts = [f"label {value // 2:g}" for value in claims.values]
    return Labels.from_columns(claims.objects.gather(claims.owners()), users, texts)


def same_releases(one: Any, other: Any) -> None:
    """Fail unless two releases agree to the last bit."""
    assert one.objects.to_list() == other.objects.to_list()
    for name in ("values", "offsets", "statuses"):
        assert np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(other, name)).tobytes()
    assert one.promise == other.promise
    assert one.user_promise == other.user_promise
    if one.weights is not None and other.weights is not None:
        assert one.weights.user.tobytes() == other.weights.user.tobytes()


def same_truths(one: Any, other: Any) -> None:
    """Fail unless truths agree to the last bit."""
    assert one.sweeps == other.sweeps
    assert one.objects.to_list() == other.objects.to_list()
    assert one.users.to_list() == other.users.to_list()
    for name in ("estimates", "errors", "freedom", "weights"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def same_votes(one: Any, other: Any) -> None:
    """Fail unless votes agree to the last bit."""
    assert one.estimates.to_list() == other.estimates.to_list()
    assert one.chances.tobytes() == other.chances.tobytes()
    assert one.weights.tobytes() == other.weights.tobytes()
