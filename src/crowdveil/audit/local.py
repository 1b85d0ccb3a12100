"""Audits of local mechanisms for numeric claims, which run on devices.

The mechanisms are those of `crowdveil.local` themselves, not simulations. Users are independent, so one call
on many users with the same claims gives as many draws.

With a fresh exponential variance for each claim the noise is Laplace. If a user has one variance for all
claims, N noisy claims reveal it. The paper's delta, 1 - exp(-lambda2 Delta^2 / (2 epsilon)), does not grow
with N; as a guarantee for users it is false.

Notation: lambda2 the rate of the variances, Delta the length of the public range, N claims of a user.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least, column
from crowdveil.claims import Claims
from crowdveil.local import ClaimMechanism, Laplace, VariancePerUser, fresh_variance, perturb
from crowdveil.local.gaussian_exponential import paper_delta
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness

_EPSILON = 1.0
_CLAIMS = 30
_ZEROS, _ONES, _ONE = (0.0,) * _CLAIMS, (1.0,) * _CLAIMS, (1.0,) + (0.0,) * (_CLAIMS - 1)

LAPLACE = Laplace(_EPSILON, Range(0.0, 10.0), resolution=1.0)
FRESH = fresh_variance(0.5, Range(0.0, 1.0))
FEW = VariancePerUser(0.5, Range(0.0, 1.0))  # for one claim
MANY = VariancePerUser(0.02, Range(0.0, 1.0))  # for all claims of a user


@lru_cache(maxsize=8)
def same_users(values: tuple[float, ...], count: int) -> Claims:
    """`count` users with the same claims `values` about objects 0, 1, ..."""
    objects = np.tile(np.arange(len(values)), count)
    return Claims.from_columns(objects, np.repeat(np.arange(count), len(values)), np.tile(values, count))


def sent(mechanism: ClaimMechanism, *worlds: tuple[float, ...]) -> Draws:
    """Draws of the reports of users with the claims of one world or the other; one row per user."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        noisy = perturb(same_users(worlds[world], count), mechanism, rng=rng).claims
        out = np.empty((count, len(worlds[world])))
        out[noisy.user_codes, np.repeat(np.arange(len(noisy.objects)), noisy.counts())] = noisy.values
        return out

    return draws


def log_likelihood(squares: Floats, claims: int, rate: float) -> Floats:
    """The log-density of N values, given their sum of squares S around the truth, up to a constant.

    The integral over v of rate exp(-rate v) v^(-N/2) exp(-S/(2v)) is a Bessel function of order N/2 - 1.
    """
    from scipy.special import kve

    order = claims / 2 - 1
    z = np.sqrt(2 * rate * squares)
    density: Floats = np.log(kve(order, z)) - z - order / 2 * np.log(squares)
    return density


def log_odds(mechanism: VariancePerUser, *worlds: tuple[float, ...]) -> tuple[Event, ...]:
    """The events that the log-likelihood ratio of world 1 to world 0 reaches a threshold."""

    def odds(out: Outputs) -> Floats:
        zero, one = (
            log_likelihood(np.square(out - np.array(centre)).sum(axis=1), len(centre), mechanism.rate)
            for centre in worlds
        )
        difference: Floats = one - zero
        return difference

    return at_least((0.8, 1.0, 1.3), "log odds", odds)


LAPLACE_AUDIT = Audit(
    name="laplace",
    epsilon=LAPLACE.realised,
    delta=0.0,
    unit="a claim, local",
    whose="ours",
    worlds="a claim at the low or at the high end of 10 steps",
    draws=sent(LAPLACE, (0.0,), (10.0,)),
    events=at_least((-10, 0, 5, 10, 11, 15, 20), of=column(0)),
)

FRESH_AUDIT = Audit(
    name="gaussian-exponential",
    epsilon=FRESH.realised,
    delta=0.0,
    unit="a claim, local",
    whose="ours",
    worlds="a claim at 0 or at 1, a fresh variance of mean 2",
    draws=sent(FRESH, (0.0,), (1.0,)),
    events=at_least((-1.0, 0.0, 0.5, 1.0, 2.0), of=column(0)),
)

CLAIM_AUDIT = Audit(
    name="gaussian-exponential-shared-claim",
    epsilon=_EPSILON,
    delta=FEW.delta_at(_EPSILON),
    unit="a claim, local",
    whose="ours",
    worlds=f"{_CLAIMS} claims at 0, or one of them at 1; one variance of mean {1 / FEW.rate:g}",
    draws=sent(FEW, _ZEROS, _ONE),
    events=log_odds(FEW, _ZEROS, _ONE),
    usual=40_000,
)

_USER: dict[str, Any] = {
    "epsilon": _EPSILON,
    "unit": f"a user of {_CLAIMS} claims, local",
    "worlds": f"{_CLAIMS} claims at 0 or all at 1, one variance of mean {1 / MANY.rate:g}",
    "draws": sent(MANY, _ZEROS, _ONES),
    "events": log_odds(MANY, _ZEROS, _ONES),
    "usual": 40_000,
}

USER_AUDIT = Audit(
    name="gaussian-exponential-shared", delta=MANY.delta_at(_EPSILON, _CLAIMS), whose="ours", **_USER
)

PAPER_AUDIT = Audit(
    name="gaussian-exponential-shared-paper",
    delta=paper_delta(MANY.rate, 1.0, _EPSILON),
    whose="paper",
    **_USER,
)
