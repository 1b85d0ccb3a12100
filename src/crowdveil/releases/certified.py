"""Certified releases: synthetic claims with a proved guarantee, from one noisy histogram per object.

Only two noisy statistics are computed from raw claims (`histogram.py`). The rest is post-processing: the bin
width follows from the typical spread, each object's density gets an empirical Bayes posterior
(`posterior.py`), and any number of claims is drawn from it. The estimator "histogram" uses the noisy
histograms without a model (`plain.py`); it may compute a third statistic, histograms with reliability weights
(`second_look.py`). The guarantee is central and pure, or (epsilon, delta) for users with Gaussian noise in
the histograms.

This file holds the parameters and the release. Each statistic computes its own sensitivity. Proof:
docs/guarantees/certified.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from crowdveil.accounting import basic_composition
from crowdveil.accounting.events import Event
from crowdveil.accounting.rounding import up
from crowdveil.claims import Claims
from crowdveil.engines import Engine, Kept, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import ONE_NAME, Adjacency, Guarantee, Unit, rational
from crowdveil.public_range import Range, check_resolution
from crowdveil.randomness import Randomness, secure
from crowdveil.releases import plain
from crowdveil.releases.epsilon_split import EpsilonSplit
from crowdveil.releases.expected_error import Expectation, ExpectedError, chosen_cap
from crowdveil.releases.histogram import (
    Histograms,
    PairDistances,
    noisy_histograms,
    pair_distances,
    pair_noise,
)
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.noise import count_noise
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.posterior import DensityPosterior, bins_for, typical_spread
from crowdveil.releases.result import Release, Status, check_per_object
from crowdveil.releases.second_look import MOST_STEPS, weighted_histograms
from crowdveil.releases.usefulness import claims_used, expectation, ways_out

POOLED_NAME = "all objects"
STEPS_FOR_PAIRS = 2000  # the default resolution: so many steps in the range
LEAST_EPSILON, LEAST_DELTA = 0.01, 1e-300  # where Gaussian noise is asked for
DENOMINATOR = 10_000


@dataclass(frozen=True)
class Certified(ReleaseMethod):
    """Parameters of a certified release.

    >>> from crowdveil import Claims, Range, release
    >>> claims = Claims.from_columns(["a"] * 40, list(range(40)), [4.0, 5.0] * 20)
    >>> synthetic = release(claims, Certified(epsilon=2.0, range=Range(0, 10)))
    >>> len(synthetic), synthetic.promise.epsilon
    (30, 2.0)

    Parameters
    ----------
    epsilon:
        The privacy budget of the release, for each `unit` under `adjacency`.
    range:
        The public range of values; claims outside are clamped to it.
    per_object:
        The number of synthetic claims for each object.
    resolution:
        The smallest distance that matters; by default 1/2000 of the range.
    unit, adjacency, cap:
        The neighbouring datasets: see `Neighbours`. For users, the cap is by default chosen from the public
        pattern of who made claims about what (`expected_error.py`); under add-remove it must be given.
    delta:
        For unit "user": with a delta above 0 the histograms get Gaussian noise, which is less than Laplace
        noise for users with many claims.
    pooled:
        Whether the claims of all objects are released as one distribution.
    estimator:
        "bayes" for the posterior over densities, "histogram" for the noisy histograms without a model.
    background:
        Whether the uniform background of an object's claims is part of the released density.
    reliability:
        For "histogram": the share of the histograms' epsilon that is spent on reliability weights.
    objects:
        For adjacency "add-remove": the public list of objects.

    """

    epsilon: float
    range: Range
    per_object: int = 30
    resolution: float | None = None
    unit: Unit = "user"
    adjacency: Adjacency = "replace-one"
    cap: int | None = None
    delta: float = 0.0
    pooled: bool = False
    estimator: Literal["bayes", "histogram"] = "bayes"
    background: bool = False
    reliability: float | None = None
    objects: tuple[str | int, ...] | None = None

    name: ClassVar[str] = "certified"

    def __post_init__(self) -> None:
        check_per_object(self.per_object)
        check_resolution(self.resolution)
        self._check_scope()
        self._check_estimator()
        if not (isfinite(self.step) and self.step > 0 and 4 <= self.range.length / self.step <= 1e9):
            raise ParameterError(f"the resolution {self.step:g} does not suit the range")
        # Shares of epsilon are thousandths. Noise for the smallest share must exist, or nothing is charged.
        least = self.budget / 1000
        pair_noise(least, self._least_neighbours)
        if self.reliability:
            count_noise(4 * self._least_neighbours.claims * MOST_STEPS, least)

    def _check_scope(self) -> None:
        if self.leaves_cap and not self._least_neighbours.replaced:
            raise ParameterError(
                "where persons come and go the cap on claims of each (--cap) must be declared: a number that "
                "was read off the claims would give away how many there are"
            )
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be in [0, 1), not {self.delta}")
        if self.delta and (self.delta < LEAST_DELTA or self.epsilon < LEAST_EPSILON):
            raise ParameterError(
                f"with a delta epsilon must be at least {LEAST_EPSILON:g} and delta at least {LEAST_DELTA:g}"
            )
        if self.objects is not None and self.pooled:
            raise ParameterError("--objects is not needed with --pooled: leave it out")
        if self.objects is not None and self._least_neighbours.replaced:
            raise ParameterError("a list of objects is for adjacency add-remove only")
        if self.delta and (self.unit == "claim" or self.pooled):
            raise ParameterError(
                "a delta buys Gaussian noise, which is less noise only for unit user and not pooled"
            )

    def _check_estimator(self) -> None:
        if self.estimator not in ("bayes", "histogram"):
            raise ParameterError(f"estimator must be bayes or histogram, not {self.estimator!r}")
        if self.background and self.estimator != "bayes":
            raise ParameterError("the histogram estimator leaves the background in: background is for bayes")
        if self.reliability is None:
            return
        if self.estimator != "histogram" or self.pooled:
            raise ParameterError("reliability is for the histogram estimator, and not pooled")
        if not 0 <= self.reliability < 1 or round(self.reliability, 3) != self.reliability:
            raise ParameterError(
                f"reliability must be a share in [0, 1) of at most three digits, not {self.reliability}"
            )
        if self.reliability and self.unit == "claim" and self.adjacency == "add-remove":
            raise ParameterError("reliability is not protected when claims come and go: unit user, or 0")

    @property
    def step(self) -> float:
        """The smallest distance that matters."""
        return self.range.length / STEPS_FOR_PAIRS if self.resolution is None else self.resolution

    @property
    def budget(self) -> Fraction:
        """Epsilon as the fraction that its decimal digits denote; the split adds up to it exactly."""
        return rational(self.epsilon, what="epsilon", limit=DENOMINATOR)

    @property
    def leaves_cap(self) -> bool:
        """Whether the cap is left to the public pattern of claims."""
        return self.unit == "user" and self.cap is None

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring datasets."""
        if self.leaves_cap:
            raise ParameterError("the cap on claims of each user is not chosen yet: see `settled`")
        return Neighbours(self.unit, self.adjacency, self.cap)

    @property
    def _least_neighbours(self) -> Neighbours:
        """The neighbouring datasets, with the smallest cap where none is chosen yet."""
        return Neighbours(self.unit, self.adjacency, 1 if self.leaves_cap else self.cap)

    def settled(self, claims: Claims, engine: Engine | None = None) -> Certified:
        """With a cap, chosen from the public pattern of claims where none is given."""
        if not self.leaves_cap:
            return self
        cap = chosen_cap(claims, self.epsilon, delta=self.delta, pooled=self.pooled, engine=engine)
        return replace(self, cap=cap)

    @property
    def may_lack_claims(self) -> bool:
        """Where claims come and go, that there are some must not show."""
        return self.adjacency == "add-remove"

    def promise(self, pattern: Pattern) -> Guarantee:
        """The guarantee of a release: the requested epsilon, which its events do not exceed."""
        spent = basic_composition(self.events(pattern), self.delta)
        return Guarantee(
            epsilon=float(self.budget) if spent <= self.budget else up(spent),
            delta=self.delta,
            unit=self.unit,
            adjacency=self.adjacency,
            trust="central",
            assumptions=self._assumptions(),
        )

    @property
    def split(self) -> EpsilonSplit:
        """The division of epsilon among the noisy statistics."""
        return EpsilonSplit(self.budget, self.neighbours, self.delta, self._second_share())

    def _second_share(self) -> Fraction | None:
        possible = self.unit == "user" or self.neighbours.replaced
        if self.estimator != "histogram" or self.pooled or not possible:
            return Fraction(0)
        return None if self.reliability is None else Fraction(int(self.reliability * 1000), 1000)

    def events(self, pattern: Pattern) -> tuple[Event, ...]:
        """Noise on pair distances, on histograms and, with a second look, on weighted histograms."""
        return self.split.events(pattern)

    def _assumptions(self) -> tuple[str, ...]:
        assumptions = ["the range and the resolution were declared, not read off the data"]
        if self.neighbours.replaced:
            assumptions.append("who made claims about which objects is public")
        elif not self.pooled:
            assumptions.append("the list of objects was declared, not read off the claims")
        assumptions.append("every row is well formed: a number, at most one for each user and object")
        if not self.neighbours.replaced:
            assumptions.append("all claims fit the machine that released them")
        assumptions.append("whatever else is published from the same claims is added to the ledger")
        if self.cap is not None:
            assumptions.append(f"at most {self.cap} claims of a user were used, chosen without their values")
            assumptions.append(ONE_NAME)
        return tuple(assumptions)

    def used(self, claims: Claims) -> Claims:
        """The claims that a release uses: of listed objects, capped, clamped to the range, maybe pooled."""
        if not (self.neighbours.replaced or self.pooled):
            if self.objects is None:
                raise ParameterError(
                    "where claims come and go the objects must be listed: whether one is named gives claims "
                    "away"
                )
            claims = claims.about(self.objects)
        if self.cap is not None:
            claims = claims.capped(self.cap, keep_objects=not self.neighbours.replaced)
        claims = super().used(claims)
        return claims.pooled(POOLED_NAME) if self.pooled else claims

    def unlisted(self, claims: Claims) -> int:
        """Claims about objects that are not on the list, where there is one."""
        return 0 if self.objects is None else len(claims) - len(claims.about(self.objects))

    def left_out(self, claims: Claims) -> int:
        """Objects that lose all their claims to the cap; under add-remove every listed object is kept."""
        return int((claims_used(claims, self) == 0).sum()) if self.neighbours.replaced else 0

    def expected_error(self, spread: float | None = None) -> ExpectedError:
        """The error to expect by number of claims, if an object's claims spread so."""
        return ExpectedError(
            *(self.epsilon, self.neighbours, self.range.length, spread, self.delta),
            pooled=self.pooled,
            estimator=self.estimator,
        )

    def expectation(
        self, claims: Claims, spread: float | None = None, engine: Engine | None = None
    ) -> Expectation | None:
        """The error to expect; under add-remove None, since it would reveal the number of claims."""
        return expectation(claims, self, spread, engine) if self.adjacency == "replace-one" else None

    def refuse_useless(
        self, claims: Claims, spread: float | None = None, engine: Engine | None = None
    ) -> None:
        """Refuse an expected error of more than half of that without a release; under add-remove never."""
        expected = self.expectation(claims, spread, engine)
        if expected is not None and not expected.useful:
            ways = ", ".join(ways_out(claims, self, spread, engine))
            raise ParameterError(f"too few claims for this epsilon: {expected.sentence} ({ways})")

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        """`per_object` synthetic claims for every object."""
        return fit(claims, self, rng=rng, engine=engine, keep=False).release

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as the certificate prints them."""
        return {
            "epsilon": self.epsilon,
            "unit": self.unit,
            "adjacency": self.adjacency,
            "cap": self.cap,
            "delta": self.delta,
            "per_object": self.per_object,
            "range": [self.range.low, self.range.high],
            "resolution": self.resolution,
            "pooled": self.pooled,
            "estimator": self.estimator,
            "background": self.background,
            "reliability": self.reliability,
        }


@dataclass(frozen=True)
class Fit:
    """A release and the densities from which it was drawn (masses of equal parts of the range)."""

    release: Release
    densities: Kept  # None unless they were kept
    noisy: Histograms  # what the densities were estimated from; published nowhere


def fit(
    claims: Claims,
    parameters: Certified,
    *,
    rng: Randomness | None = None,
    engine: Engine | None = None,
    keep: bool = True,
) -> Fit:
    """The release and, with `keep`, its densities."""
    rng = rng or secure()
    engine = engine or LocalEngine()
    parameters = parameters.settled(claims, engine)
    claims = parameters.used(claims)
    noisy = private_part(claims, parameters, rng=rng, engine=engine).last
    count, objects = parameters.per_object, claims.without_claims()
    if parameters.estimator == "histogram":
        values, densities = plain.draw(noisy, count, rng=rng, engine=engine, objects=objects, keep=keep)
    else:
        values, densities = DensityPosterior(noisy, objects, rng=rng, engine=engine).draw(
            count, rng=rng, background=parameters.background, keep=keep
        )
    drawn = engine.flat(values, np.full(claims.object_count, count))
    return Fit(_published(claims, drawn, parameters, seeded=not rng.private), densities, noisy)


class Transcript(NamedTuple):
    """All noisy statistics of raw claims, in the order in which they are drawn; published nowhere."""

    near: PairDistances
    first: Histograms
    second: Histograms | None  # weighted, if there was a second look

    @property
    def last(self) -> Histograms:
        """The histograms from which densities are estimated."""
        return self.first if self.second is None else self.second


class Looks(NamedTuple):
    """The functions that look at raw claims; an audit puts its own there, to see what a release asks."""

    pair_distances: Callable[..., PairDistances] = pair_distances
    noisy_histograms: Callable[..., Histograms] = noisy_histograms
    weighted_histograms: Callable[..., Histograms] = weighted_histograms


DRAWN = Looks()


def private_part(
    claims: Claims,
    parameters: Certified,
    *,
    rng: Randomness,
    engine: Engine,
    looks: Looks = DRAWN,
) -> Transcript:
    """The noisy statistics, the only part that uses raw claims.

    What is looked at, and with which epsilon, follows from parameters, public numbers and earlier statistics.
    """
    neighbours, limits, split = parameters.neighbours, parameters.range, parameters.split
    pairs = split.for_pairs(Pattern.of(claims))
    near = looks.pair_distances(claims, limits, parameters.step, pairs, neighbours, rng=rng, engine=engine)
    left = split.epsilon - pairs
    typical = (
        float(claims.counts().mean())
        if neighbours.replaced
        else max(2.0, 2.0 * near.pairs / claims.object_count)
    )
    weights = split.for_weights(left, typical)
    spread = typical_spread(near, limits.length)
    bins = bins_for(spread, typical, parameters.epsilon / neighbours.claims, limits.length)
    noisy = looks.noisy_histograms(
        claims, limits, bins, left - weights, neighbours, parameters.delta, rng=rng, engine=engine
    )
    if not weights:
        return Transcript(near, noisy, None)
    weighted = looks.weighted_histograms(claims, noisy, weights, neighbours, rng=rng, engine=engine)
    return Transcript(near, noisy, weighted)


def _published(claims: Claims, values: Kept, parameters: Certified, *, seeded: bool) -> Release:
    count = claims.object_count
    pattern = Pattern.of(claims)
    return Release(
        objects=claims.objects,
        offsets=np.arange(count + 1, dtype=np.int64) * parameters.per_object,
        values=values,
        statuses=np.full(count, Status.released, dtype=np.int8),
        method=parameters.name,
        parameters=parameters.to_dict(),
        promise=parameters.promise(pattern),
        user_promise=parameters.user_promise(pattern),
        seeded=seeded,
        public=parameters.public(pattern),
    )
