"""Audits of what a certified release learns from raw claims; all that follows is post-processing.

Objects of one call share the number of bins, which follows from the noisy pair distances of all of them. The
claims here are such that pair distances have the same law in both worlds and the bins are the fewest there
can be; so objects are independent, and many of them are as many draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.audit.case import Audit, Draws, Event, Outputs, at_least, column, equal, separate
from crowdveil.audit.releases import repeated
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.kernels.histograms import CELLS, cell_of
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness
from crowdveil.releases import certified
from crowdveil.releases.certified import Certified
from crowdveil.releases.histogram import Histograms, PairDistances, noisy_histograms, pair_distances
from crowdveil.releases.neighbours import Neighbours

TWELVE = Range(0.0, 12.0)
RESOLUTION = 2.0  # so coarse that the bins are always four
EPSILON = Fraction(1)
A_CLAIM = Neighbours("claim", "replace-one")
A_CLAIM_MORE = Neighbours("claim", "add-remove")
_LOW, _MIDDLE, _HIGH = 1.5, 6.0, 10.5  # in different bins, wherever four bins start
_USUAL_RELEASES = 20_000  # where a draw is a call of its own
FEWEST_ROWS = 4_000  # fewer pairs would leave the number of bins to their noise

USER = Certified(1.0, TWELVE, resolution=RESOLUTION, unit="user", cap=2)
_USER_GAUSSIAN = replace(USER, delta=0.05)
_CLAIMS_OF_USER = 3  # one more than the cap
ADD_REMOVE = Certified(1.0, TWELVE, resolution=RESOLUTION, adjacency="add-remove")
FEW = Certified(1.0, TWELVE, per_object=2, adjacency="add-remove", estimator="histogram", objects=(0,))


def learned(claims: Claims, parameters: Certified, rng: Randomness) -> Histograms:
    """What `certified.fit` keeps as `noisy`, without the posterior that it goes on to make of it."""
    if parameters.cap is not None:
        claims = claims.capped(parameters.cap, keep_objects=parameters.adjacency == "add-remove")
    return certified.private_part(claims, parameters, rng=rng, engine=LocalEngine(1))


def counts_at(noisy: Histograms, value: float) -> Ints:
    """The noisy count of each object in the bin that holds a value."""
    cell = cell_of(value, noisy.range.low, noisy.range.length / noisy.cells, noisy.cells)
    places = (cell + noisy.shifts.astype(np.int64)) // CELLS
    counts: Ints = noisy.counts[np.arange(places.size), places]
    return counts


# --- one histogram ------------------------------------------------------------------------------------------


def _histogram(world: int, count: int, rng: Randomness) -> Outputs:
    """Noisy counts of two bins, by the function that certified releases use: one object a repetition.

    Bins start at a random place; the third of the objects whose first bin starts with the range is kept.
    """
    objects = 3 * count + 40 * math.isqrt(count) + 400
    claims = repeated((1.0, 4.0)[world], (), objects)
    noisy = noisy_histograms(claims, TWELVE, 4, EPSILON, A_CLAIM, rng=rng, engine=LocalEngine(1))
    kept: Outputs = noisy.counts[noisy.shifts == 0][:count, :2]
    return kept


def _rather(first: int, second: int) -> Event:
    return Event(
        f"bin 1 >= {first} and bin 2 <= {second}", lambda out: (out[:, 0] >= first) & (out[:, 1] <= second)
    )


_TWO_BINS = (
    *(_rather(first, second) for first in (0, 1, 2) for second in (-1, 0, 1)),
    *at_least((1, 2), "bin 1", column(0)),
    *at_least((1, 3, 5), "bin 1 - bin 2", lambda out: out[:, 0] - out[:, 1]),
)

CERTIFIED_HISTOGRAM = Audit(
    name="certified-histogram",
    epsilon=float(EPSILON),
    delta=0.0,
    unit="a claim, replace-one",
    whose="ours",
    worlds="the claim in bin 1 or in bin 2, noise of scale 2 in every bin",
    draws=_histogram,
    events=_TWO_BINS,
)

# --- a user's claims ----------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def claims_of_users(world: int, users: int) -> Claims:
    """Users with a claim about each of three objects of their own, beside somebody else's in the middle."""
    objects = np.arange(_CLAIMS_OF_USER * users)
    values = np.repeat([(_LOW, _HIGH)[world], _MIDDLE], objects.size)
    names = np.concatenate([objects // _CLAIMS_OF_USER, users + objects])
    return Claims.from_columns(np.tile(objects, 2), names, values)


def user_rows(parameters: Certified) -> Draws:
    """What shows of a user in all objects where its claims count: the least count in the low bin, the largest
    in the high one, and the sum of their differences."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        users = max(count, FEWEST_ROWS)
        noisy = learned(claims_of_users(world, users), parameters, rng)
        low, high, told = (
            found.reshape(users, -1)[:count]
            for found in (counts_at(noisy, _LOW), counts_at(noisy, _HIGH), noisy.claims)
        )
        counted = told == 2  # who claimed what is public, and so is what the cap left out
        least = np.min(low, axis=1, where=counted, initial=np.iinfo(np.int64).max)
        most = np.max(high, axis=1, where=counted, initial=np.iinfo(np.int64).min)
        return np.column_stack([least, most, np.sum(low - high, axis=1, where=counted)])

    return draws


def _all_low(least: int, most: int) -> Event:
    return Event(
        f"all low bins >= {least} and all high bins <= {most}",
        lambda out: (out[:, 0] >= least) & (out[:, 1] <= most),
    )


CERTIFIED_USER = Audit(
    name="certified-user",
    epsilon=USER.epsilon,
    delta=0.0,
    unit=f"a user of up to {USER.cap} claims, replace-one",
    whose="ours",
    worlds=f"{_CLAIMS_OF_USER} claims of a user, all low or all high, of which the cap leaves {USER.cap}",
    draws=user_rows(USER),
    events=(
        *(_all_low(least, most) for least in (-1, 0, 1, 2) for most in (-1, 0, 1, 2)),
        *at_least(range(0, 21, 2), "low bins - high bins", column(2)),
    ),
    usual=100_000,
)

CERTIFIED_USER_GAUSSIAN = replace(
    CERTIFIED_USER,
    name="certified-user-gaussian",
    epsilon=_USER_GAUSSIAN.epsilon,
    delta=_USER_GAUSSIAN.delta,
    draws=user_rows(_USER_GAUSSIAN),
)

# --- a claim comes or goes ----------------------------------------------------------------------------------


def with_or_without(world: int, objects: int) -> Claims:
    """Two claims or three, all at one place: there is one pair at distance 0 in either case."""
    return repeated(_MIDDLE, (_MIDDLE,) * (1 + world), objects)


def told_rows(parameters: Certified) -> Draws:
    """The count in the bin where the claim is or is not, and how many claims the object is said to have."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        noisy = learned(with_or_without(world, max(count, FEWEST_ROWS)), parameters, rng)
        return np.column_stack([counts_at(noisy, _MIDDLE), noisy.claims])[:count]

    return draws


CERTIFIED_ADD_REMOVE = Audit(
    name="certified-add-remove",
    epsilon=ADD_REMOVE.epsilon,
    delta=0.0,
    unit="a claim, add-remove",
    whose="ours",
    worlds="an object with two claims at one place, or with three",
    draws=told_rows(ADD_REMOVE),
    events=(
        *at_least(range(6), "the claim's bin", column(0)),
        *equal((1, 2, 3), "claims told", column(1)),
        *at_least((2, 3, 5), "claims told", column(1)),
    ),
)

# --- pair distances -----------------------------------------------------------------------------------------


def pairs_of(
    claims: Claims, neighbours: Neighbours, rng: Randomness, epsilon: Fraction = EPSILON
) -> PairDistances:
    """Noisy pair distances, by the function that certified releases use."""
    return pair_distances(claims, TWELVE, RESOLUTION, epsilon, neighbours, rng=rng, engine=LocalEngine(1))


def replaced_pair(world: int) -> Claims:
    """A pair at distance 0, or as far apart as can be."""
    return repeated((TWELVE.low, TWELVE.high)[world], (TWELVE.low,), 1)


def rematched_pair(world: int) -> Claims:
    """Fifty pairs at distance 0; a claim that is added far away takes a partner in 100 of 101 matchings."""
    return repeated((TWELVE.low, TWELVE.high)[world], (TWELVE.low,) * (99 + world), 1)


def pair_rows(
    claims_in: Callable[[int], Claims], neighbours: Neighbours, epsilon: Fraction = EPSILON
) -> Draws:
    """How many pairs are near, but for those that are in both worlds, and how many are far; noisy."""

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        claims = claims_in(world)
        ends = [pairs_of(claims, neighbours, one, epsilon).counts[[0, -1]] for one in separate(rng, count)]
        return np.array(ends) - [len(claims) // 2 - 1, 0]

    return draws


PAIR_DISTANCES = Audit(
    name="pair-distances",
    epsilon=float(EPSILON),
    delta=0.0,
    unit="a claim, replace-one",
    whose="ours",
    worlds="the only pair at distance 0 or far apart, noise of scale 2 in every bin",
    draws=pair_rows(replaced_pair, A_CLAIM),
    events=_TWO_BINS,
    usual=_USUAL_RELEASES,
)

PAIR_DISTANCES_ADD_REMOVE = Audit(
    name="pair-distances-add-remove",
    epsilon=float(EPSILON),
    delta=0.0,
    unit="a claim, add-remove",
    whose="ours",
    worlds="100 claims at one place, or one more far away, noise of scale 2 in every bin",
    draws=pair_rows(rematched_pair, A_CLAIM_MORE),
    events=_TWO_BINS,
    usual=_USUAL_RELEASES,
)

# --- everything about a release but its values --------------------------------------------------------------


def few_claims(world: int) -> Claims:
    """One object of three claims, or of four: one pair or two."""
    return repeated(_MIDDLE, (_MIDDLE,) * (2 + world), 1)


def _shape(world: int, count: int, rng: Randomness) -> Outputs:
    """A whole release for each draw: its number of bins, of objects and of values."""
    made = [
        certified.fit(few_claims(world), FEW, rng=one, engine=LocalEngine(1)) for one in separate(rng, count)
    ]
    return np.array([(one.noisy.bins, len(one.release.objects), one.release.values.size) for one in made])


# A draw takes a thirtieth of a second: tests run it with few draws, and no command does.
CERTIFIED_SHAPE = Audit(
    name="certified-shape",
    epsilon=FEW.epsilon,
    delta=0.0,
    unit="a claim, add-remove",
    whose="ours",
    worlds="one object of three claims at one place, or of four",
    draws=_shape,
    events=(
        *at_least((5, 6, 7, 8, 9, 10, 20), "bins", column(0)),
        *equal((4, 5), "bins", column(0)),
        *equal((1,), "objects", column(1)),
        *equal((FEW.per_object,), "values", column(2)),
    ),
    usual=100,
)
