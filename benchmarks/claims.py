"""Simulated claims as plain arrays, grouped by object, and as a Parquet file: the inputs of the works.

The claims of one user in ten are uniform in the range; those of the others are normal around the truth, with
a standard deviation of the user. Objects have different users, as in sparse data.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.stopwatch import Arrays
from crowdveil.claims import Claims
from crowdveil.randomness import seeded
from crowdveil.releases.priscrowd import PrisCrowd

LOW, HIGH = 0.0, 10.0
STRIDE = 7  # between the codes of an object's users
CLAIMS_PER_USER = 100


def simulated(objects: int, per_object: int) -> dict[str, np.ndarray]:
    """Offsets, users' codes and values; values ascend within an object."""
    rng = seeded(1)

    def uniforms(name: str, count: int) -> np.ndarray:
        return rng.stream(name, purpose="benchmark").uniforms(count)

    users = max(100, objects * per_object // CLAIMS_PER_USER, per_object)
    users += users % STRIDE == 0  # otherwise a user could occur twice in an object
    first = (uniforms("first users", objects) * users).astype(np.int64)
    user = (first[:, None] + STRIDE * np.arange(per_object)) % users
    spread = 0.3 + 1.2 * uniforms("spreads", users)
    liar = uniforms("liars", users) < 0.1
    truth = LOW + 2 + (HIGH - LOW - 4) * uniforms("truths", objects)
    noise = rng.stream("noise", purpose="benchmark").normals(user.size).reshape(user.shape)
    anything = LOW + (HIGH - LOW) * uniforms("anything", user.size).reshape(user.shape)
    value = np.clip(np.where(liar[user], anything, truth[:, None] + spread[user] * noise), LOW, HIGH)
    order = np.argsort(value, axis=1, kind="stable")
    return {
        "offsets": np.arange(0, user.size + 1, per_object, dtype=np.int64),
        "users": np.take_along_axis(user, order, axis=1).ravel().astype(np.int32),
        "values": np.take_along_axis(value, order, axis=1).ravel(),
        "user_count": np.array(users),
    }


def as_claims(arrays: Arrays) -> Claims:
    """The arrays as `Claims`, with numbers for names."""
    return Claims(
        objects=pl.Series("object", np.arange(arrays["offsets"].size - 1)),
        users=pl.Series("user", np.arange(int(arrays["user_count"]))),
        offsets=arrays["offsets"],
        user_codes=arrays["users"],
        values=arrays["values"],
    )


def with_estimate(arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays with our combined weights c and bandwidths h added."""
    weights = PrisCrowd().estimate(as_claims(arrays))
    return {**arrays, "combined": weights.combined, "bandwidths": weights.bandwidth}


def write_parquet(arrays: Arrays, path: Path) -> np.ndarray:
    """Write the claims as a file of named objects and users in random order; return its path."""
    offsets, values = arrays["offsets"], arrays["values"]
    order = seeded(1).stream("order", purpose="benchmark").uniforms(values.size).argsort()
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    pl.DataFrame(
        {"object": owners[order], "user": arrays["users"][order], "value": values[order]}
    ).with_columns(
        pl.format("object-{}", "object").alias("object"), pl.format("user-{}", "user").alias("user")
    ).write_parquet(path)
    return np.array(str(path))


def every(arrays: Arrays, share: int) -> dict[str, np.ndarray]:
    """The arrays of every `share`-th object."""
    offsets = arrays["offsets"]
    chosen = np.arange(0, offsets.size - 1, share)
    counts = np.diff(offsets)[chosen]
    selected = np.zeros(offsets[-1], dtype=np.bool_)
    for a, b in zip(offsets[chosen], offsets[chosen + 1], strict=True):
        selected[a:b] = True
    per_claim = {name: arrays[name][selected] for name in ("users", "values", "combined") if name in arrays}
    return {
        **arrays,
        **per_claim,
        "offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        **({"bandwidths": arrays["bandwidths"][chosen]} if "bandwidths" in arrays else {}),
    }
