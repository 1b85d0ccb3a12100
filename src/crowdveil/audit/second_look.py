"""The audit of the second look: a claim changes its own weight and those of its user's other claims."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.audit.case import Audit, Draws, Outputs, at_least
from crowdveil.audit.certified import A_CLAIM, EPSILON, TWELVE
from crowdveil.claims import Claims
from crowdveil.randomness import Randomness
from crowdveil.releases.histogram import Histograms, histogram_noise
from crowdveil.releases.second_look import weight_noise, weight_steps, weighted_counts, weighted_histograms

_CLAIMS = 8  # of a user, about as many objects
_STEPS = weight_steps(_CLAIMS)
SENSITIVITY = weight_noise(EPSILON, A_CLAIM, _CLAIMS).changed
_CROWDED, _EMPTY = 4.0, 11.0  # in the first look all claims are in one bin


@lru_cache(maxsize=8)
def _claims(world: int, users: int) -> Claims:
    """Users with all claims in the crowded bin, or with all but the first."""
    objects = np.arange(_CLAIMS * users)
    values = np.full(objects.size, _CROWDED)
    if world:
        values[::_CLAIMS] = _EMPTY
    return Claims.from_columns(objects, objects // _CLAIMS, values)


def _first_look(objects: int) -> Histograms:
    counts = np.tile(np.array([0, 100, 0, 0, 0]), (objects, 1))
    ones = np.ones(objects, dtype=np.int64)
    return Histograms(
        counts, np.zeros(objects, np.int8), 100 * ones, TWELVE, 4, histogram_noise(EPSILON, A_CLAIM)
    )


@lru_cache(maxsize=2)
def _weights_of_a_user(world: int) -> Floats:
    counts: Ints = weighted_counts(_claims(world, 1), _first_look(_CLAIMS), _STEPS)
    return counts.astype(np.float64)


def log_odds_rows(epsilon: Fraction) -> Draws:
    """Draws of the log-likelihood ratio of the worlds, given a user's noisy weighted counts."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        claims = _claims(world, count)
        weighted = weighted_histograms(claims, _first_look(len(claims.objects)), epsilon, A_CLAIM, rng=rng)
        rows = weighted.counts.reshape(count, _CLAIMS, -1)
        ratios = np.abs(rows - _weights_of_a_user(1)) - np.abs(rows - _weights_of_a_user(0))
        return ratios.sum(axis=(1, 2)) / SENSITIVITY  # type: ignore[no-any-return]

    return draws


SECOND_LOOK = Audit(
    name="certified-second-look",
    epsilon=float(EPSILON),
    delta=0.0,
    unit="a claim, replace-one",
    whose="ours",
    worlds=f"{_CLAIMS} claims of a user with the crowd, or one of them far from it",
    draws=log_odds_rows(EPSILON),
    events=at_least((0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85), "log odds"),
)
