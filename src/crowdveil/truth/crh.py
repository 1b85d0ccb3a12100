"""CRH: a user weighs -log of their share in all losses.

Reference: Li et al., *Resolving Conflicts in Heterogeneous Data by Truth Discovery and Source Reliability
Estimation*, SIGMOD 2014. On sparse data a user's loss is the mean over their claims: the sum would measure
how much somebody claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

LEAST_SHARE = 1e-12
TIE = 1e-9


@dataclass(frozen=True)
class CRH:
    """Losses as means over a user's claims, or as sums."""

    loss: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if self.loss not in ("mean", "sum"):
            raise ParameterError(f"loss must be 'mean' or 'sum', not {self.loss!r}")


def discover(
    claims: Claims,
    parameters: CRH | None = None,
    *,
    start: Truths | None = None,
    engine: LocalEngine | None = None,
) -> Truths:
    """Truths by CRH."""
    chosen = parameters or CRH()

    def weigh(losses: Floats, made: Ints) -> Floats:
        return by_share(losses / made if chosen.loss == "mean" else losses)

    return sweeps.discover(claims, weigh, method="crh", squared=False, start=start, engine=engine)


def by_share(losses: Floats, *, of: Literal["sum", "max"] = "sum") -> Floats:
    """-log of each loss as a share of all, or of the largest one."""
    whole = losses.sum() if of == "sum" else losses.max()
    if whole == 0.0:
        return np.ones_like(losses)
    share = losses / whole
    # Losses that are equal on paper may differ in the last bit, and nobody is worse than the worst.
    share[share > 1.0 - TIE] = 1.0
    weights: Floats = -np.log(np.maximum(share, LEAST_SHARE))
    return weights
