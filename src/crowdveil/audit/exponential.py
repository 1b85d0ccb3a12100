"""Gaussian noise whose variance is drawn from an exponential law (LDP truth discovery).

A fresh variance for each claim makes the noise exactly Laplace: pure epsilon = Delta sqrt(2 lambda2). One
variance for all claims of a user is another matter: the attacker sees N values under the same variance, and
delta(epsilon) = 1 - exp(-(sqrt(epsilon^2 + 2 lambda2 s^2) - epsilon)/2) bounds it, s^2 = N Delta^2 for the
user. The paper's delta, 1 - exp(-lambda2 Delta^2 / (2 epsilon)), does not grow with N; read as a promise to
a user it is false.

Notation: lambda2 the rate of the variances, Delta the length of the public range, here 1, N claims.
The mechanism is simulated here in floating point: what is audited is its law.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crowdveil.accounting import shared_variance_delta
from crowdveil.arrays import Floats
from crowdveil.audit.case import Audit, Event, Outputs, at_least
from crowdveil.randomness import Randomness

_FRESH_RATE = 0.5
_SHARED_RATE = 0.02
_CLAIMS = 30
_EPSILON = 1.0


def noise(rng: Randomness, users: int, claims: int, rate: float) -> Floats:
    """Noise of users with one variance each for all their claims; a row for each user."""
    variances = -np.log1p(-rng.stream("variances", purpose="audit").uniforms(users)) / rate
    normals = rng.stream("normals", purpose="audit").normals(users * claims).reshape(users, claims)
    scaled: Floats = np.sqrt(variances)[:, None] * normals
    return scaled


def paper_delta(rate: float, epsilon: float) -> float:
    """The paper's delta for claims in a range of length 1."""
    return -math.expm1(-rate / (2 * epsilon))


def log_likelihood(squares: Floats, claims: int, rate: float) -> Floats:
    """log of the density of N values with this sum of squares around the truth, up to a constant.

    The integral over v of rate exp(-rate v) v^(-N/2) exp(-S/(2v)) is a Bessel function of order N/2 - 1.
    """
    from scipy.special import kve

    order = claims / 2 - 1
    z = np.sqrt(2 * rate * squares)
    found: Floats = np.log(kve(order, z)) - z - order / 2 * np.log(squares)
    return found


def _fresh(world: int, count: int, rng: Randomness) -> Outputs:
    return world + noise(rng, count, 1, _FRESH_RATE)[:, 0]


def _shared(world: int, count: int, rng: Randomness) -> Outputs:
    return world + noise(rng, count, _CLAIMS, _SHARED_RATE)


def _log_odds(out: Outputs) -> Floats:
    """How much likelier the outputs are where all claims are 1 than where all are 0."""
    ones, zeros = (
        log_likelihood(np.square(out - centre).sum(axis=1), _CLAIMS, _SHARED_RATE) for centre in (1, 0)
    )
    odds: Floats = ones - zeros
    return odds


def _odds_event(threshold: float) -> Event:
    return Event(f"log odds >= {threshold:g}", lambda out: _log_odds(out) >= threshold)


FRESH = Audit(
    name="gaussian-exponential",
    epsilon=math.sqrt(2 * _FRESH_RATE),
    delta=0.0,
    unit="a claim, local",
    whose="ours",
    worlds="a claim at 0 or at 1, a fresh variance of mean 2",
    draws=_fresh,
    events=at_least((-1.0, 0.0, 0.5, 1.0, 2.0)),
)

_USER: dict[str, Any] = {
    "epsilon": _EPSILON,
    "unit": f"a user of {_CLAIMS} claims, local",
    "worlds": f"{_CLAIMS} claims at 0 or all at 1, one variance of mean {1 / _SHARED_RATE:g}",
    "draws": _shared,
    "events": tuple(_odds_event(threshold) for threshold in (0.8, 1.0, 1.3)),
    "usual": 40_000,
}

SHARED = Audit(
    name="gaussian-exponential-shared",
    delta=shared_variance_delta(_SHARED_RATE, math.sqrt(_CLAIMS), _EPSILON),
    whose="ours",
    **_USER,
)

SHARED_PAPER = Audit(
    name="gaussian-exponential-shared-paper",
    delta=paper_delta(_SHARED_RATE, _EPSILON),
    whose="paper",
    **_USER,
)
