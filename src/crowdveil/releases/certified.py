"""Certified releases: synthetic claims whose privacy is proved, from one noisy histogram for each object.

Two noisy statistics are all that is learned from raw claims (`histogram.py`); the rest is post-processing:
the bins' width from the typical spread, an empirical Bayes posterior for each object's density
(`posterior.py`), and any number of claims drawn from it. The histogram estimator takes the histograms as they
are instead (`plain.py`) and may look a second time, with reliability weights (`second_look.py`). Central
model; pure epsilon, or with a delta for users Gaussian noise in the histograms.

Sensitivities (L1): the value of one claim replaced: 2 in either statistic. One claim added or removed: 1 in
the histograms, 2 in the pair distances (the one that was left over finds a partner, or a pair is rematched).
A user with at most C claims, at most one about an object: C times that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, Literal

import numpy as np
import polars as pl

from crowdveil.arrays import Floats, Singles
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency, Guarantee, Unit, rational
from crowdveil.public_range import Range, check_resolution
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.histogram import Histograms, noisy_histograms, pair_distances
from crowdveil.releases.noise import count_noise
from crowdveil.releases.plain import draw, plain_densities
from crowdveil.releases.posterior import DensityPosterior, bins_for, typical_spread
from crowdveil.releases.result import Release, Status, check_per_object
from crowdveil.releases.second_look import MOST_STEPS, claim_sensitivity, weight_steps, weighted_histograms

PAIR_SHARE = 0.15  # of epsilon at the most goes to the typical spread ...
PAIR_COUNT = 150.0  # ... and less where there are many pairs
RELIABILITY_SHARE = Fraction(7, 10)  # of what is left, for reliability weights ...
RELIABLE = 250.0  # ... where claims of an object times epsilon are so many
USEFUL = 5.0  # claims of an object times epsilon: below that an object's own claims say nothing
POOLED_NAME = "all objects"
STEPS_FOR_PAIRS = 2000  # the default resolution: so many steps in the range
LEAST_EPSILON, LEAST_DELTA = 0.01, 1e-300  # where Gaussian noise is asked for
DENOMINATOR = 10_000


@dataclass(frozen=True)
class Certified:
    """Parameters of a certified release; epsilon protects each `unit` under `adjacency`."""

    epsilon: float
    range: Range
    per_object: int = 30
    resolution: float | None = None
    unit: Unit = "claim"
    adjacency: Adjacency = "replace-one"
    cap: int | None = None  # claims kept of each user, for unit "user"
    delta: float = 0.0  # for unit "user": Gaussian noise in the histograms
    pooled: bool = False  # one distribution of all objects together
    estimator: Literal["bayes", "histogram"] = "bayes"
    background: bool = False  # whether the even background of an object's claims is released too
    reliability: float | None = None  # share of what histograms get, for the second look of "histogram"
    objects: tuple[str | int, ...] | None = None  # the public list of them, for adjacency "add-remove"

    def __post_init__(self) -> None:
        check_per_object(self.per_object)
        check_resolution(self.resolution)
        self._check_scope()
        self._check_estimator()
        if not (isfinite(self.step) and self.step > 0 and 4 <= self.range.length / self.step <= 1e9):
            raise ParameterError(f"the resolution {self.step:g} does not suit the range")
        # Shares of epsilon are thousandths: what the least of them needs must exist before it is charged.
        least = rational(self.epsilon, what="epsilon", limit=DENOMINATOR) / 1000
        count_noise(2 * self.claims_protected, least)
        if self.reliability:
            count_noise(4 * self.claims_protected * MOST_STEPS, least)

    def _check_scope(self) -> None:
        if self.unit not in ("claim", "user"):
            raise ParameterError(f"unit must be claim or user, not {self.unit!r}")
        if self.adjacency not in ("replace-one", "add-remove"):
            raise ParameterError(f"adjacency must be replace-one or add-remove, not {self.adjacency!r}")
        if (self.cap is not None) != (self.unit == "user"):
            raise ParameterError(
                "unit user needs a cap on claims for each user, and only unit user takes one"
            )
        if self.cap is not None and (not isinstance(self.cap, int) or self.cap < 1):
            raise ParameterError(f"cap must be at least 1, not {self.cap}")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be in [0, 1), not {self.delta}")
        if self.delta and (self.delta < LEAST_DELTA or self.epsilon < LEAST_EPSILON):
            raise ParameterError(
                f"with a delta epsilon must be at least {LEAST_EPSILON:g} and delta at least {LEAST_DELTA:g}"
            )
        if self.objects is not None and (self.adjacency == "replace-one" or self.pooled):
            raise ParameterError("a list of objects is for adjacency add-remove, and not pooled")
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
    def claims_protected(self) -> int:
        """How many claims one protected unit can hold."""
        return 1 if self.cap is None else self.cap

    @property
    def method(self) -> str:
        """The method's name."""
        return "certified"

    def cost(self) -> Guarantee:
        """What a release with these parameters costs and promises."""
        fixed = self.adjacency == "replace-one"
        assumptions = [
            "the range and the resolution were declared, not read off the data",
            "who made claims about which objects is public"
            if fixed
            else "the list of objects was declared, not read off the claims",
            "whatever else is published from the same claims is added to the ledger",
        ]
        if not fixed and self.pooled:
            del assumptions[1]
        if self.cap is not None:
            assumptions.append(f"at most {self.cap} claims of a user were used, chosen without their values")
        return Guarantee(
            epsilon=float(rational(self.epsilon, what="epsilon", limit=DENOMINATOR)),
            delta=self.delta,
            unit=self.unit,
            adjacency=self.adjacency,
            trust="central",
            assumptions=tuple(assumptions),
        )

    def to_dict(self) -> dict[str, Any]:
        """What was asked for, as the certificate prints it."""
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


def usefulness(claims: Claims, parameters: Certified) -> float:
    """Claims of a typical object times epsilon, for each claim protected; below `USEFUL` little is left.

    It is public only where who claimed what is: under add-remove nothing may depend on it.
    """
    typical = float(np.median(used(claims, parameters).counts()))
    return typical * parameters.epsilon / parameters.claims_protected


@dataclass(frozen=True)
class Fit:
    """A release together with the densities it was drawn from (masses of equal parts of the range)."""

    release: Release
    densities: Floats | Singles
    noisy: Histograms  # what the densities were estimated from; published nowhere


def release(
    claims: Claims,
    parameters: Certified,
    *,
    rng: Randomness | None = None,
    engine: LocalEngine | None = None,
) -> Release:
    """Synthetic claims with the promise that `parameters.cost()` states; charge it before calling."""
    return fit(claims, parameters, rng=rng, engine=engine, keep=False).release


def fit(
    claims: Claims,
    parameters: Certified,
    *,
    rng: Randomness | None = None,
    engine: LocalEngine | None = None,
    keep: bool = True,
) -> Fit:
    """The release and, if kept, its densities."""
    rng = rng or secure()
    engine = engine or LocalEngine()
    claims = used(claims, parameters)
    noisy = _private_part(claims, parameters, rng, engine)
    count, names = parameters.per_object, claims.objects
    densities: Floats | Singles
    if parameters.estimator == "histogram":
        densities = plain = plain_densities(noisy)
        values = draw(plain, noisy, count, rng=rng, engine=engine, names=names)
    else:
        values, densities = DensityPosterior(noisy, rng=rng, engine=engine).draw(
            count, rng=rng, names=names, background=parameters.background, keep=keep
        )
    return Fit(_published(claims.objects, values, parameters, seeded=not rng.private), densities, noisy)


def used(claims: Claims, parameters: Certified) -> Claims:
    """The claims that a release looks at. Doing it twice changes nothing more."""
    if parameters.adjacency == "add-remove" and not parameters.pooled:
        if parameters.objects is None:
            raise ParameterError(
                "where claims come and go the objects must be listed: whether one is named gives claims away"
            )
        claims = claims.about(parameters.objects)
    if parameters.cap is not None:
        claims = claims.capped(parameters.cap, keep_objects=parameters.adjacency == "add-remove")
    claims, _ = claims.clamped(parameters.range.low, parameters.range.high)
    return _pooled(claims) if parameters.pooled else claims


def _private_part(claims: Claims, parameters: Certified, rng: Randomness, engine: LocalEngine) -> Histograms:
    """The noisy statistics, with the budget split between them; the last of them is returned."""
    fixed = parameters.adjacency == "replace-one"
    group = parameters.claims_protected
    epsilon = rational(parameters.epsilon, what="epsilon", limit=DENOMINATOR)
    share = PAIR_SHARE
    if fixed:  # the number of pairs is public then
        pairs = max(1, int((claims.counts() // 2).sum()))
        share = min(PAIR_SHARE, PAIR_COUNT * group / pairs / float(epsilon))
    for_pairs = epsilon * max(Fraction(1, 1000), Fraction(int(share * 1000), 1000))
    near = pair_distances(
        *(claims, parameters.range, parameters.step, for_pairs, 2 * group, parameters.adjacency),
        rng=rng,
        engine=engine,
    )
    typical = float(claims.counts().mean()) if fixed else max(2.0, 2.0 * near.pairs / len(claims.objects))
    spread = typical_spread(near, parameters.range.length)
    bins = bins_for(spread, typical, parameters.epsilon / group, parameters.range.length)
    sensitivity = (2 if fixed else 1) * group
    left = epsilon - for_pairs
    for_weights = left * _second_share(parameters, typical * float(left) / group)
    noisy = noisy_histograms(
        *(claims, parameters.range, bins, left - for_weights, sensitivity),
        *(parameters.adjacency, parameters.delta),
        rng=rng,
        engine=engine,
    )
    if not for_weights:
        return noisy
    if parameters.cap is None:
        most = int(np.bincount(claims.user_codes).max())  # who claimed what is public then
        steps = weight_steps(most)
        sensitivity = claim_sensitivity(most)
    else:
        steps = weight_steps(parameters.cap)
        sensitivity *= steps
    return weighted_histograms(claims, noisy, for_weights, sensitivity, steps, rng=rng)


def _second_share(parameters: Certified, evidence: float) -> Fraction:
    """The share for reliability weights: by default only where there is much evidence for each object."""
    if parameters.estimator != "histogram" or parameters.pooled:
        return Fraction(0)
    if parameters.reliability is not None:
        return Fraction(int(parameters.reliability * 1000), 1000)
    possible = parameters.unit == "user" or parameters.adjacency == "replace-one"
    return RELIABILITY_SHARE if possible and evidence >= RELIABLE else Fraction(0)


def _pooled(claims: Claims) -> Claims:
    order = np.argsort(claims.values, kind="stable")
    return Claims(
        objects=pl.Series("object", [POOLED_NAME]),
        users=claims.users,
        offsets=np.array([0, len(claims)], dtype=np.int64),
        user_codes=claims.user_codes[order],
        values=claims.values[order],
    )


def _published(objects: pl.Series, values: Floats, parameters: Certified, *, seeded: bool) -> Release:
    count, per_object = values.shape
    return Release(
        objects=objects,
        offsets=np.arange(count + 1, dtype=np.int64) * per_object,
        values=values.ravel(),
        statuses=np.full(count, Status.released, dtype=np.int8),
        method=parameters.method,
        parameters=parameters.to_dict(),
        promise=parameters.cost(),
        seeded=seeded,
    )
