"""Every mechanism that puts noise on claims, and claims for it: engines must agree on all of them."""

from __future__ import annotations

import hashlib

import numpy as np

from crowdveil.claims import Claims
from crowdveil.local import ClaimMechanism, Laplace, VariancePerUser, fresh_variance
from crowdveil.public_range import Range

TEN = Range(0.0, 10.0)
MECHANISMS: dict[str, ClaimMechanism] = {
    "laplace": Laplace(1.0, TEN, resolution=1.0),
    "fresh": fresh_variance(0.5, TEN),
    "per user": VariancePerUser(0.5, TEN),
    "per user, coarse": VariancePerUser(0.1, TEN, resolution=5.0),
    "per user, floor": VariancePerUser(0.5, TEN, floor=400.0),
}


def table(names: str = "text", users: int = 300) -> Claims:
    """9,000 claims about 60 objects, many of them equal or outside the range."""
    rng = np.random.default_rng(5)
    objects, codes = np.divmod(rng.choice(60 * users, 9000, replace=False), users)
    values = np.round(rng.normal(5, 4, 9000), 1)
    if names == "numbers":
        return Claims.from_columns(objects, codes, values)
    return Claims.from_columns([f"o{each}" for each in objects], [f"u{each}" for each in codes], values)


def digest(claims: Claims) -> str:
    """A hash of who claims what about which object."""
    told = hashlib.sha256()
    for array in (claims.offsets, claims.user_codes, claims.values):
        told.update(np.ascontiguousarray(array).tobytes())
    return told.hexdigest()[:16]
