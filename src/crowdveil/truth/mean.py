"""The plain mean: all users have the same weight."""

from __future__ import annotations

from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.truth import sweeps
from crowdveil.truths import Truths


def discover(claims: Claims, *, engine: Engine | None = None) -> Truths:
    """Truths as the means of the objects' claims."""
    return sweeps.once(claims, method="mean", engine=engine)
