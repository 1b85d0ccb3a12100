"""CRH: a user's weight is -log of their share of the total loss.

Reference: Li et al., *Resolving Conflicts in Heterogeneous Data by Truth Discovery and Source Reliability
Estimation*, SIGMOD 2014, doi:10.1145/2588555.2610509. A user's loss is the mean over their claims: on sparse
data the sum would mostly measure the number of claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.errors import ParameterError
from crowdveil.truth import sweeps
from crowdveil.truths import Truths

LEAST_SHARE = 1e-12
TIE = 1e-9


@dataclass(frozen=True)
class CRH:
    """Parameters of CRH; `loss` says whether a user's loss is the mean or the sum over their claims."""

    loss: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if self.loss not in ("mean", "sum"):
            raise ParameterError(f"loss must be 'mean' or 'sum', not {self.loss!r}")


def discover(
    claims: Claims,
    parameters: CRH | None = None,
    *,
    start: Truths | None = None,
    engine: Engine | None = None,
) -> Truths:
    """Truths by CRH."""
    chosen = parameters or CRH()

    def weigh(losses: Floats, counts: Ints) -> Floats:
        return by_share(losses / counts if chosen.loss == "mean" else losses)

    return sweeps.discover(claims, weigh, method="crh", squared=False, start=start, engine=engine)


def by_share(losses: Floats, *, of: Literal["sum", "max"] = "sum") -> Floats:
    """-log of each loss as a share of the sum of losses, or of the largest loss."""
    reference = losses.sum() if of == "sum" else losses.max()
    if reference == 0.0:
        return np.ones_like(losses)
    share = losses / reference
    # Mathematically equal losses may differ in the last bit: shares within TIE of 1 count as 1.
    share[share > 1.0 - TIE] = 1.0
    weights: Floats = -np.log(np.maximum(share, LEAST_SHARE))
    return weights
