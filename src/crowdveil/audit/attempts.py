"""Audits of fixed attempts, one for each of the three quantities that the proof bounds.

A claim far from all others: values drawn from it must rarely pass (delta). A crowd of exactly k claims that
loses one: the noise of the threshold must hide the loss (epsilon0). A crowd that nearly always passes and
loses one: only forced failures bound the privacy loss of an empty release (eta).
"""

from __future__ import annotations

import numpy as np

from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least, equal
from crowdveil.audit.releases import repeated, rows
from crowdveil.engines import LocalEngine
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.method import release
from crowdveil.releases.pattern import Pattern

_TEN = Range(0.0, 10.0)
_PLACES = (5.0, 9.0)  # of one claim; all others are at 5, farther away than the kernel reaches
_BANDWIDTH = 0.3
ISOLATED = Attempts(
    _TEN, _BANDWIDTH, attempts=3, k=2, gamma=1.1, epsilon0=1.0, eta=0.1, delta=0.18, resolution=0.1
)
CROWD = Attempts(
    _TEN, _BANDWIDTH, attempts=3, k=30, gamma=1.1, epsilon0=0.3, eta=0.1, delta=1e-3, resolution=0.1
)
NOTHING = Attempts(
    _TEN, _BANDWIDTH, attempts=1, k=5, gamma=1.1, epsilon0=1.5, eta=0.02, delta=1e-3, resolution=0.1
)

NOTHING_CLAIMS = 8


def released(parameters: Attempts, claims: int) -> Draws:
    """Draws of the values that passed, one object per row: `claims` claims at 5, or one of them at 9."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        passed = release(
            repeated(_PLACES[world], _PLACES[:1] * (claims - 1), count),
            parameters,
            rng=rng,
            engine=LocalEngine(1),
        )
        return rows(passed.offsets, passed.values, parameters.attempts)

    return draws


def _passed(out: Outputs) -> Outputs:
    number: Outputs = np.isfinite(out).sum(axis=1)
    return number


def _events(most: int) -> tuple[Event, ...]:
    return (
        *at_least((7.0,), "the largest released value", lambda out: out.max(axis=1)),
        *at_least(range(1, most + 1), "released", _passed),
        *equal((0,), "released", _passed),
    )


def _audit(name: str, parameters: Attempts, claims: int) -> Audit:
    return Audit(
        name=name,
        epsilon=parameters.promise(Pattern.even(1, claims)).epsilon,
        delta=parameters.delta,
        unit="a claim, replace-one",
        whose="ours",
        worlds=f"{claims} claims at 5, or one of them at 9; k {parameters.k}, {parameters.attempts} attempts",
        draws=released(parameters, claims),
        events=_events(parameters.attempts),
    )


ATTEMPTS_ISOLATED = _audit("attempts-isolated", ISOLATED, 3)
ATTEMPTS_CROWD = _audit("attempts-crowd", CROWD, CROWD.k)
ATTEMPTS_NOTHING = _audit("attempts-nothing", NOTHING, NOTHING_CLAIMS)
