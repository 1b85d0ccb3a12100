"""Certificates as they stand in their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdveil.certificates.certificate import of_release
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.plain_data import to_json
from crowdveil.public_range import Range
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.certified import Certified
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.releases.result import Release
from crowdveil.releases.smoothed import Smoothed

PATTERN = Pattern.even(40, 30)
METHODS: dict[str, ReleaseMethod] = {
    "basic": Basic(1.0, Range(0, 10)),
    "user": Certified(2.0, Range(0, 10), unit="user", adjacency="add-remove", cap=5),
    "gaussian": Certified(1.0, Range(0, 10), unit="user", cap=5, delta=1e-6, estimator="histogram"),
    "delta": Smoothed(Range(0, 10), bandwidth=0.5),
    "attempts": Attempts(Range(0, 10), bandwidth=0.5, attempts=1, k=30, epsilon0=1.0),
    "deniable": Uniform(require_k=True),
    "nothing": PrisCrowd(),
}
CASES = (*METHODS, "seeded")
PURE = METHODS["basic"].promise(PATTERN)
DENIABLE = METHODS["deniable"].promise(PATTERN)
NOTHING = METHODS["nothing"].promise(PATTERN)


def made(case: str) -> dict[str, Any]:
    """The certificate of a release, as it stands in its file."""
    return stated(METHODS["basic"], seeded=True) if case == "seeded" else stated(METHODS[case])


def stated(method: ReleaseMethod, promise: Promise | None = None, *, seeded: bool = False) -> dict[str, Any]:
    """The certificate of a release by that method, or of one that promises something else."""
    release = Release(
        objects=pl.Series(["a"]),
        offsets=np.array([0, 0]),
        values=np.array([]),
        statuses=np.array([0], dtype=np.int8),
        method=method.name,
        parameters=method.to_dict(),
        promise=promise or method.promise(PATTERN),
        user_promise=method.user_promise(PATTERN),
        public=method.public(PATTERN),
        seeded=seeded,
        synthetic=method.synthetic,
    )
    written: dict[str, Any] = json.loads(to_json(of_release(release).to_dict()))
    return written


def write(folder: Path, value: Any) -> Path:
    path = folder / "certificate.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def claim(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", "replace-one", "central")
