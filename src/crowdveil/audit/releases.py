"""Audits of complete releases. Objects are independent, so one call on many objects with the same claims
gives as many draws."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.audit.case import Audit, Event, Outputs, at_least, column
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness
from crowdveil.releases.basic import Basic
from crowdveil.releases.deniability import PrivacyTest, draw
from crowdveil.releases.method import release
from crowdveil.releases.weights import Weights

_TEN = Range(0.0, 10.0)
_BASIC = Basic(1.0, _TEN, resolution=1.0)
_ALONE: tuple[float, ...] = ()
_NEIGHBOURS = (0.0, 10.0)

_TEST = PrivacyTest(k=5, gamma=4.0, epsilon0=0.1)
_PER_OBJECT = 30
_CROWD = (5.0,) * 29
_BANDWIDTH = 0.45
_T = 1  # the theorem's free parameter
_THEOREM_EPSILON = _TEST.epsilon0 + math.log(1 + _TEST.gamma / _T)  # equal weights: max c / min c = 1
_THEOREM_DELTA = math.exp(-_THEOREM_EPSILON * (_TEST.k - _T))


@lru_cache(maxsize=8)
def repeated(target: float, others: tuple[float, ...], objects: int) -> Claims:
    """`objects` objects, each with a claim of user 0 at `target` and claims of other users at `others`."""
    values = np.array([target, *others])
    users = np.tile(np.arange(values.size), objects)
    return Claims.from_columns(np.repeat(np.arange(objects), values.size), users, np.tile(values, objects))


def _basic(world: int, count: int, rng: Randomness, others: tuple[float, ...]) -> Outputs:
    claims = repeated((_TEN.low, _TEN.high)[world], others, count)
    released = release(claims, _BASIC, rng=rng, engine=LocalEngine(1))
    outputs: Outputs = released.values.reshape(count, -1)
    return outputs


def _basic_alone(world: int, count: int, rng: Randomness) -> Outputs:
    return _basic(world, count, rng, _ALONE)[:, 0]


def _basic_with_neighbours(world: int, count: int, rng: Randomness) -> Outputs:
    return _basic(world, count, rng, _NEIGHBOURS)


def rows(offsets: Ints, values: Floats, most: int) -> Outputs:
    """The released values of each object in a row, filled up to `most` columns with minus infinity."""
    out = np.full((offsets.size - 1, most), -np.inf)
    out[np.arange(most) < np.diff(offsets)[:, None]] = values
    return out


def row_events(columns: int) -> tuple[Event, ...]:
    """The events that one value of a row in [0, 10], or the sum of a row, reaches a threshold."""
    single = [at_least((0, 5, 10, 15), f"value {i + 1} of {columns}", column(i)) for i in range(columns)]
    return sum(single, start=at_least((10, 20, 30), "sum", lambda out: out.sum(axis=1)))


def even_weights(claims: Claims, bandwidth: float) -> Weights:
    """Equal weights and a public bandwidth, for which the theorem's bound is smallest."""
    counts = claims.counts()
    shares = np.repeat(1 / counts, counts)
    bandwidths = np.full(len(counts), bandwidth)
    return Weights(np.ones(len(claims.users)), shares, shares, bandwidths, sweeps=0, converged=True)


def _priscrowd(world: int, count: int, rng: Randomness) -> Outputs:
    claims = repeated((5.0, 9.0)[world], _CROWD, count)
    weights = even_weights(claims, _BANDWIDTH)
    offsets, values, _ = draw(
        claims, weights, _TEST, _PER_OBJECT, purpose="audit", rng=rng, engine=LocalEngine(1)
    )
    return rows(offsets, values, _PER_OBJECT)


BASIC = Audit(
    name="basic",
    epsilon=float(_BASIC.realised),
    delta=0.0,
    unit="a claim, replace-one",
    whose="ours",
    worlds="an object's only claim at the low or at the high end",
    draws=_basic_alone,
    events=at_least((-10, 0, 5, 10, 11, 15, 20)),
)

BASIC_WITH_NEIGHBOURS = Audit(
    name="basic-with-neighbours",
    epsilon=float(_BASIC.realised),
    delta=0.0,
    unit="a claim, replace-one",
    whose="ours",
    worlds="a claim at the low or at the high end, beside one at each end",
    draws=_basic_with_neighbours,
    events=row_events(len(_NEIGHBOURS) + 1),
)

PRISCROWD_PAPER = Audit(
    name="priscrowd-paper",
    epsilon=_THEOREM_EPSILON,
    delta=_THEOREM_DELTA,
    unit="a claim, replace-one",
    whose="paper",
    worlds="29 claims at 5 and one more at 5 or at 9, public bandwidth, 30 released",
    draws=_priscrowd,
    events=at_least((7.0, 7.5, 8.0, 8.5), "the largest released value", lambda out: out.max(axis=1)),
    usual=4_000,
)
