"""Certificates as they stand in their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdveil.guarantee import Deniability, Guarantee, NoGuarantee, Promise
from crowdveil.public_range import Range
from crowdveil.releases.certified import Certified
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release
from crowdveil.report.certificate import certificate, to_json

PURE = Guarantee(1.0, 0.0, "claim", "replace-one", "central", ("the range was declared",))
DENIABLE = Deniability(5, 4.0, "1, all weights are equal", "draws repeat until enough pass")
NOTHING = NoGuarantee("draws repeat until enough pass.")
PATTERN = Pattern.even(40, 30)
USER = Certified(2.0, Range(0, 10), unit="user", adjacency="add-remove", cap=5)
GAUSSIAN = Certified(1.0, Range(0, 10), unit="user", cap=5, delta=1e-6, estimator="histogram")
CASES: dict[str, tuple[str, Promise, dict[str, Any], bool]] = {
    "basic": ("basic", PURE, {"epsilon": 1.0}, False),
    "user": ("certified", USER.promise(PATTERN), USER.to_dict(), False),
    "gaussian": ("certified", GAUSSIAN.promise(PATTERN), GAUSSIAN.to_dict(), False),
    "delta": ("smoothed", Guarantee(0.5, 1e-6, "claim", "replace-one", "central"), {"delta": 1e-6}, False),
    "local": ("rr", Guarantee(1.0, 0.0, "cell", "replace-one", "local"), {}, False),
    "deniable": ("uniform", DENIABLE, {"k": 5, "gamma": 4.0, "require_k": True}, False),
    "nothing": ("priscrowd", NOTHING, {"k": 5, "gamma": 4.0, "require_k": False}, False),
    "seeded": ("basic", PURE, {"epsilon": 1.0}, True),
}


def made(case: str) -> dict[str, Any]:
    """The certificate of a release, as it stands in its file."""
    return stated(*CASES[case])


def stated(method: str, promise: Promise, parameters: dict[str, Any], seeded: bool = False) -> dict[str, Any]:
    """The certificate of a release of that method, as it stands in its file."""
    release = Release(
        objects=pl.Series(["a"]),
        offsets=np.array([0, 0]),
        values=np.array([]),
        statuses=np.array([0], dtype=np.int8),
        method=method,
        parameters=parameters,
        promise=promise,
        seeded=seeded,
        synthetic=method != "basic",
    )
    written: dict[str, Any] = json.loads(to_json(certificate(release)))
    return written


def write(folder: Path, value: Any) -> Path:
    path = folder / "certificate.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def claim(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", "replace-one", "central")
