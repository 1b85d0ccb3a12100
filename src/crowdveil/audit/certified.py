"""Audits of the noisy statistics of a certified release; the rest of a release is post-processing.

The objects of one call share the number of bins, which depends on the noisy pair distances of all of them.
The claims here are chosen such that pair distances have the same distribution in both worlds and the number
of bins is the smallest possible. So objects are independent, and many objects give as many draws.
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
RESOLUTION = 2.0  # so coarse that there are always four bins
EPSILON = Fraction(1)
A_CLAIM = Neighbours("claim", "replace-one")
A_CLAIM_MORE = Neighbours("claim", "add-remove")
_LOW, _MIDDLE, _HIGH = 1.5, 6.0, 10.5  # in different bins, whatever the shift of the four bins
_USUAL_RELEASES = 20_000  # for audits with one call per draw
FEWEST_ROWS = 4_000  # with fewer pairs the number of bins would depend on noise

USER = Certified(1.0, TWELVE, resolution=RESOLUTION, unit="user", cap=2)
_USER_GAUSSIAN = replace(USER, delta=0.05)
_CLAIMS_OF_USER = 3  # one more than the cap
ADD_REMOVE = Certified(1.0, TWELVE, resolution=RESOLUTION, unit="claim", adjacency="add-remove")
FEW = Certified(
    1.0, TWELVE, per_object=2, unit="claim", adjacency="add-remove", estimator="histogram", objects=(0,)
)


def learned(claims: Claims, parameters: Certified, rng: Randomness) -> Histograms:
    """The noisy histograms of `certified.fit`, without its posterior."""
    if parameters.cap is not None:
        claims = claims.capped(parameters.cap, keep_objects=parameters.adjacency == "add-remove")
    return certified.private_part(claims, parameters, rng=rng, engine=LocalEngine(1)).last


def counts_at(noisy: Histograms, value: float) -> Ints:
    """The noisy count of each object in the bin that contains `value`."""
    cell = cell_of(value, noisy.range.low, noisy.range.length / noisy.cells, noisy.cells)
    bins = (cell + noisy.shifts.astype(np.int64)) // CELLS
    counts: Ints = noisy.counts[np.arange(bins.size), bins]
    return counts


# --- one histogram ------------------------------------------------------------------------------------------


def _histogram(world: int, count: int, rng: Randomness) -> Outputs:
    """Noisy counts of two bins, by the function that certified releases use; one object per draw.

    Bins have a random shift; only objects with shift 0, a third of them, are returned.
    """
    objects = 3 * count + 40 * math.isqrt(count) + 400
    claims = repeated((1.0, 4.0)[world], (), objects)
    noisy = noisy_histograms(claims, TWELVE, 4, EPSILON, A_CLAIM, rng=rng, engine=LocalEngine(1))
    counts: Outputs = noisy.counts[noisy.shifts == 0][:count, :2]
    return counts


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
    """Users with one claim about each of three objects; each object also has another user's claim."""
    objects = np.arange(_CLAIMS_OF_USER * users)
    values = np.repeat([(_LOW, _HIGH)[world], _MIDDLE], objects.size)
    names = np.concatenate([objects // _CLAIMS_OF_USER, users + objects])
    return Claims.from_columns(np.tile(objects, 2), names, values)


def user_rows(parameters: Certified) -> Draws:
    """Draws of the smallest low count, the largest high count and the sum of low minus high counts of a user.

    Low and high counts are those in the bins of the two values, over the objects whose claims the cap keeps.
    """

    def draws(world: int, count: int, rng: Randomness) -> Outputs:
        users = max(count, FEWEST_ROWS)
        noisy = learned(claims_of_users(world, users), parameters, rng)
        low, high, claims = (
            counts.reshape(users, -1)[:count]
            for counts in (counts_at(noisy, _LOW), counts_at(noisy, _HIGH), noisy.claims)
        )
        counted = claims == 2  # which claims the cap removes is public
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
    """Objects with two or three claims of equal value: one pair at distance 0 in either case."""
    return repeated(_MIDDLE, (_MIDDLE,) * (1 + world), objects)


def count_rows(parameters: Certified) -> Draws:
    """Draws of the count in the bin of the added claim, and of the published number of claims."""

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
    draws=count_rows(ADD_REMOVE),
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
    """One pair at distance 0, or at the largest distance."""
    return repeated((TWELVE.low, TWELVE.high)[world], (TWELVE.low,), 1)


def rematched_pair(world: int) -> Claims:
    """Fifty pairs at distance 0; a claim added far away is matched with probability 100/101."""
    return repeated((TWELVE.low, TWELVE.high)[world], (TWELVE.low,) * (99 + world), 1)


def pair_rows(
    claims_in: Callable[[int], Claims], neighbours: Neighbours, epsilon: Fraction = EPSILON
) -> Draws:
    """Draws of the noisy numbers of near pairs (less those in both worlds) and of far pairs."""

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
    """One object with three or four claims: one pair or two."""
    return repeated(_MIDDLE, (_MIDDLE,) * (2 + world), 1)


def _shape(world: int, count: int, rng: Randomness) -> Outputs:
    """The numbers of bins, objects and values of a release; one release per draw."""
    fits = [
        certified.fit(few_claims(world), FEW, rng=one, engine=LocalEngine(1)) for one in separate(rng, count)
    ]
    return np.array([(one.noisy.bins, len(one.release.objects), one.release.values.size) for one in fits])


# One draw takes about 30 ms: tests run this audit with few draws, and no command runs it.
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
