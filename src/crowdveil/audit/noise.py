"""Audits of the samplers: discrete Laplace noise, discrete Gaussian noise, randomized response."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from crowdveil.accounting import discrete_gaussian_delta
from crowdveil.arrays import Ints
from crowdveil.audit.case import Audit, Outputs, at_least, equal, fresh_state
from crowdveil.randomness import Randomness, gaussian
from crowdveil.randomness.response import Response

_EPSILON = Fraction(1)
_STEPS = 10
_VARIANCE = Fraction(7, 2)
_SHIFT = 2
_KRR = Response.of(6, 1.0)


def laplace_noise(rng: Randomness, count: int, scale: Fraction) -> Ints:
    """Exact discrete Laplace noise, by the sampler that releases use."""
    stream = rng.stream("noise", purpose="audit")
    return stream.discrete_laplace(count, num=scale.numerator, den=scale.denominator)


def _laplace(world: int, count: int, rng: Randomness) -> Outputs:
    return _STEPS * world + laplace_noise(rng, count, _STEPS / _EPSILON)


def gaussian_noise(rng: Randomness, count: int, variance: Fraction) -> Ints:
    """Exact discrete Gaussian noise."""
    gaussian.check_variance(variance.numerator, variance.denominator)
    out = np.empty(count, dtype=np.int64)
    gaussian.fill_discrete_gaussian(fresh_state(rng), variance.numerator, variance.denominator, out)
    return out


def _gaussian(world: int, count: int, rng: Randomness) -> Outputs:
    return _SHIFT * world + gaussian_noise(rng, count, _VARIANCE)


def _krr(world: int, count: int, rng: Randomness) -> Outputs:
    return _KRR.perturb(np.full(count, world, dtype=np.int64), state=fresh_state(rng))


DISCRETE_LAPLACE = Audit(
    name="discrete-laplace",
    epsilon=float(_EPSILON),
    delta=0.0,
    unit=f"a whole number that moves by up to {_STEPS}",
    whose="ours",
    worlds=f"0 or {_STEPS}, noise of scale {_STEPS}",
    draws=_laplace,
    events=at_least((-10, 0, 1, 5, 10, 15, 20)) + equal((-5, 0, 10, 15)),
)

DISCRETE_GAUSSIAN = Audit(
    name="discrete-gaussian",
    epsilon=1.0,
    delta=discrete_gaussian_delta(math.sqrt(_VARIANCE), _SHIFT, 1.0),
    unit=f"a whole number that moves by up to {_SHIFT}",
    whose="ours",
    worlds=f"0 or {_SHIFT}, noise of variance {_VARIANCE}",
    draws=_gaussian,
    events=at_least(range(-2, 9)),
)

RANDOMIZED_RESPONSE = Audit(
    name="randomized-response",
    epsilon=_KRR.epsilon,
    delta=0.0,
    unit="a report, local",
    whose="ours",
    worlds=f"symbol 0 or symbol 1 of {_KRR.symbols}",
    draws=_krr,
    events=equal(range(_KRR.symbols)),
)
