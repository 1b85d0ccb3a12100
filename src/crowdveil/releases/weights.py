"""Reliability weights: PrisCrowd's global, local and combined weights.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019,
section 4.2, with these corrections: a user's loss is the *mean* over their claims (the paper's sum measures
the number of claims, not their quality); the constraint is sum exp(-g) = 1; the local update uses psi(y) / y
of Hampel's loss (with the loss itself, as printed, outliers gain weight); combined weights get a floor.

Notation: g_s a user's global weight, l_is a claim's local weight, c_is the combined one, L_s a user's loss,
h0_i the bandwidth of the kernel that measures distances, h_i the bandwidth of the density.

Weights are computed from raw claims and carry no privacy guarantee of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.kernels import bandwidths, reliability, robust
from crowdveil.truth.crh import by_share
from crowdveil.truth.sweeps import judged_claims

SILVERMAN = 1.06
WIDEN = 1.15
FEWEST_FOR_LOCAL = 8
LEAST_SHARE = 0.1
LARGEST_DISTANCE = 4.0  # |phi(x) - f|^2 <= (1 + 1)^2
TOLERANCE = 1e-6
GLOBAL_CAP = 50
LOCAL_CAP = 200


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of users and claims, and the bandwidth of each object's density (0 if all claims are equal)."""

    user: Floats  # (M,) global g
    local: Floats  # (claims,) l, summing to one over an object
    combined: Floats  # (claims,) c, summing to one over an object
    bandwidth: Floats  # (N,) h
    sweeps: int
    converged: bool


def smallest_bandwidth(claims: Claims, engine: LocalEngine) -> float:
    """The default floor of bandwidths without a declared range: 1/1000 of the typical spread of an object.

    The typical spread is the median over objects with a positive spread, which is robust to a few objects
    with huge values.
    """
    spreads = np.empty(len(claims.objects))
    engine.run(
        "spreads",
        claims,
        lambda first, last: bandwidths.spreads(claims.offsets, claims.values, first, last, spreads),
    )
    positive = spreads[spreads > 0]
    return 1e-3 * float(np.median(positive)) if positive.size else 0.0


def _bandwidths(claims: Claims, factor: float, floor: float, engine: LocalEngine) -> Floats:
    out = np.empty(len(claims.objects))
    engine.run(
        "bandwidths",
        claims,
        lambda first, last: bandwidths.bandwidths(
            claims.offsets, claims.values, factor, floor, first, last, out
        ),
    )
    return out


def uniform_weights(claims: Claims, *, floor: float, engine: LocalEngine) -> Weights:
    """Equal weights for all users and claims, with bandwidths h = 1.15 * 1.06 sd n^(-1/5)."""
    counts = claims.counts()
    shares = np.repeat(1.0 / counts, counts)
    bandwidth = _bandwidths(claims, WIDEN * SILVERMAN, floor, engine)
    return Weights(np.ones(len(claims.users)), shares, shares, bandwidth, sweeps=0, converged=True)


def estimate_weights(
    claims: Claims,
    *,
    floor: float,
    loss: Literal["mean", "sum"] = "mean",
    normaliser: Literal["sum", "max"] = "sum",
    engine: LocalEngine,
) -> Weights:
    """PrisCrowd's weights.

    Parameters
    ----------
    claims:
        The raw claims.
    floor:
        The smallest bandwidth.
    loss:
        A user's loss: the mean of the losses of their claims, or the sum.
    normaliser:
        The divisor of users' losses: their sum or their maximum.
    engine:
        Where the loops run.

    """
    if loss not in ("mean", "sum"):
        raise ParameterError(f"loss must be 'mean' or 'sum', not {loss!r}")
    if normaliser not in ("sum", "max"):
        raise ParameterError(f"normaliser must be 'sum' or 'max', not {normaliser!r}")
    h0 = _bandwidths(claims, SILVERMAN, floor, engine)
    user, sweeps, converged = _global(claims, h0, loss, normaliser, engine)
    local = np.empty(len(claims))
    engine.run(
        "local weights",
        claims,
        lambda first, last: robust.local_weights(
            claims.offsets, claims.values, h0, FEWEST_FOR_LOCAL, TOLERANCE, LOCAL_CAP, first, last, local
        ),
    )
    combined, bandwidth = combine_weights(claims, user, local, floor=floor, engine=engine)
    return Weights(user, local, combined, bandwidth, sweeps, converged)


def combine_weights(
    claims: Claims, user: Floats, local: Floats, *, floor: float, engine: LocalEngine
) -> tuple[Floats, Floats]:
    """c = sqrt(l g), normalised and with a floor, and the bandwidths h = 1.15 * 1.06 s_w n_eff^(-1/5)."""
    combined = np.empty(len(claims))
    bandwidth = np.empty(len(claims.objects))
    factor = WIDEN * SILVERMAN
    engine.run(
        "combined weights",
        claims,
        lambda first, last: reliability.combine(
            claims.offsets,
            claims.user_codes,
            claims.values,
            user,
            local,
            factor,
            floor,
            LEAST_SHARE,
            first,
            last,
            combined,
            bandwidth,
        ),
    )
    return combined, bandwidth


def _global(
    claims: Claims, h0: Floats, loss: str, normaliser: Literal["sum", "max"], engine: LocalEngine
) -> tuple[Floats, int, bool]:
    """g_s = -log(L_s / sum L), iterated: losses L depend on densities, and densities on g."""
    claims_judged = judged_claims(claims, h0, engine)
    judged = claims_judged > 0
    g = np.ones(len(claims.users))
    if not judged.any():
        return g, 0, True
    # Losses are summed as integer multiples of 1/unit; the largest total of one user fits 62 bits.
    unit = 2.0 ** (62 - math.ceil(math.log2(LARGEST_DISTANCE * claims_judged.max())))

    def add(first: int, last: int, totals: NDArray[np.int64]) -> None:
        reliability.add_losses(
            claims.offsets, claims.user_codes, claims.values, h0, g, unit, first, last, totals
        )

    for sweep in range(1, GLOBAL_CAP + 1):
        losses = engine.sum("users' reliability", claims, len(g), add)[judged] / unit
        if loss == "mean":
            losses /= claims_judged[judged]
        new = np.empty_like(g)
        new[judged] = by_share(losses, of=normaliser)
        new[~judged] = new[judged].mean()
        change = float(np.abs(new - g).max())
        g = new
        if change < TOLERANCE:
            return g, sweep, True
    return g, GLOBAL_CAP, False
