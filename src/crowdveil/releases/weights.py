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

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.engines import Block, ByClaim, ByObject, ByUser, Engine, Kept
from crowdveil.errors import ParameterError
from crowdveil.kernels import bandwidths, reliability, robust
from crowdveil.truth.crh import by_share
from crowdveil.truth.sweeps import judged_claims, spreads

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
    local: Kept  # (claims,) l, summing to one over an object
    combined: Kept  # (claims,) c, summing to one over an object
    bandwidth: Kept  # (N,) h
    sweeps: int
    converged: bool


def smallest_bandwidth(claims: Claims, engine: Engine) -> float:
    """The default floor of bandwidths without a declared range: 1/1000 of the typical spread of an object.

    The typical spread is the median over objects with a positive spread, which is robust to a few objects
    with huge values.
    """
    spread = spreads(claims, engine)
    positive = spread[spread > 0]
    return 1e-3 * float(np.median(positive)) if positive.size else 0.0


def _bandwidths(claims: Claims, factor: float, floor: float, engine: Engine) -> Kept:
    (kept,) = engine.map("bandwidths", claims, _bandwidths_in, (factor, floor))
    return kept


def _bandwidths_in(block: Block, shared: tuple[float, float]) -> tuple[Floats]:
    out = np.empty(block.size)
    bandwidths.bandwidths(block.offsets, block.values, *shared, 0, block.size, out)
    return (out,)


def uniform_weights(claims: Claims, *, floor: float, engine: Engine) -> Weights:
    """Equal weights for all users and claims, with bandwidths h = 1.15 * 1.06 sd n^(-1/5)."""
    (shares,) = engine.map(
        "equal weights", claims, _equal_shares, None, per=("claim",), operations=float(len(claims))
    )
    bandwidth = _bandwidths(claims, WIDEN * SILVERMAN, floor, engine)
    return Weights(np.ones(claims.user_count), shares, shares, bandwidth, sweeps=0, converged=True)


def _equal_shares(block: Block, _: None) -> tuple[Floats]:
    counts = np.diff(block.offsets)
    return (np.repeat(1.0 / counts, counts),)


def estimate_weights(
    claims: Claims,
    *,
    floor: float,
    loss: Literal["mean", "sum"] = "mean",
    normaliser: Literal["sum", "max"] = "sum",
    engine: Engine,
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
    (local,) = engine.map("local weights", claims, _local, None, ByObject(h0), per=("claim",))
    combined, bandwidth = combine_weights(claims, user, local, floor=floor, engine=engine)
    return Weights(user, local, combined, bandwidth, sweeps, converged)


def _local(block: Block, _: None, h0: Floats) -> tuple[Floats]:
    local = np.empty(block.values.size)
    robust.local_weights(
        *(block.offsets, block.values, h0, FEWEST_FOR_LOCAL, TOLERANCE, LOCAL_CAP),
        *(0, block.size, local),
    )
    return (local,)


def combine_weights(
    claims: Claims, user: Floats, local: Kept, *, floor: float, engine: Engine
) -> tuple[Kept, Kept]:
    """c = sqrt(l g), normalised and with a floor, and the bandwidths h = 1.15 * 1.06 s_w n_eff^(-1/5)."""
    combined, bandwidth = engine.map(
        *("combined weights", claims, _combined, (WIDEN * SILVERMAN, floor)),
        *(ByUser(user), ByClaim(local)),
        per=("claim", "object"),
    )
    return combined, bandwidth


def _combined(
    block: Block, shared: tuple[float, float], user: Floats, local: Floats
) -> tuple[Floats, Floats]:
    factor, floor = shared
    combined, bandwidth = np.empty(block.values.size), np.empty(block.size)
    reliability.combine(
        *(block.offsets, block.user_codes, block.values, user, local, factor, floor, LEAST_SHARE),
        *(0, block.size, combined, bandwidth),
    )
    return combined, bandwidth


def _global(
    claims: Claims, h0: Kept, loss: str, normaliser: Literal["sum", "max"], engine: Engine
) -> tuple[Floats, int, bool]:
    """g_s = -log(L_s / sum L), iterated: losses L depend on densities, and densities on g."""
    claims_judged = judged_claims(claims, h0, engine)
    judged = claims_judged > 0
    g = np.ones(claims.user_count)
    if not judged.any():
        return g, 0, True
    # Losses are summed as integer multiples of 1/unit; the largest total of one user fits 62 bits.
    unit = 2.0 ** (62 - math.ceil(math.log2(LARGEST_DISTANCE * claims_judged.max())))

    for sweep in range(1, GLOBAL_CAP + 1):
        totals = engine.sum_by_user(
            "users' reliability", claims, 1, _add_losses, unit, ByUser(g), ByObject(h0)
        )
        losses = totals[judged] / unit
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


def _add_losses(block: Block, unit: float, g: Floats, h0: Floats, totals: Ints) -> None:
    reliability.add_losses(block.offsets, block.user_codes, block.values, h0, g, unit, 0, block.size, totals)
