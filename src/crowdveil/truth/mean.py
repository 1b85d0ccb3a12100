"""The plain mean: everybody counts the same."""

from __future__ import annotations

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.truth import sweeps
from crowdveil.truths import Truths


def discover(claims: Claims, *, engine: LocalEngine | None = None) -> Truths:
    """Truths by the mean of an object's claims."""
    return sweeps.once(claims, method="mean", engine=engine)
