"""Certified releases: synthetic claims whose privacy is proved, from one noisy histogram for each object.

Two noisy statistics are all that is learned from raw claims (`histogram.py`); the rest is post-processing:
the bins' width from the typical spread, an empirical Bayes posterior for each object's density
(`posterior.py`), and any number of claims drawn from it. Pure epsilon, central model.

Sensitivities (L1): the value of one claim replaced: 2 in either statistic. One claim added or removed: 1 in
the histograms, 2 in the pair distances (the one that was left over finds a partner, or a pair is rematched).
A user with at most C claims, at most one about an object: C times that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from crowdveil.arrays import Floats, Singles
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency, Guarantee, Unit, rational
from crowdveil.randomness import Randomness, secure
from crowdveil.release.histogram import Histograms, noise_scale, noisy_histograms, pair_distances
from crowdveil.release.posterior import Estimate, bins_for, typical_spread
from crowdveil.release.result import Range, Release, Status, check_per_object, check_resolution

PAIR_SHARE = 0.15  # of epsilon at the most goes to the typical spread ...
PAIR_COUNT = 60.0  # ... and less where there are many pairs
USEFUL = 5.0  # claims of an object times epsilon: below that an object's own claims say nothing
POOLED_NAME = "all objects"
STEPS_IN_RANGE = 2000
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
    pooled: bool = False  # one distribution of all objects together

    def __post_init__(self) -> None:
        check_per_object(self.per_object)
        check_resolution(self.resolution)
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
        steps = self.range.length / self.step
        if not (isfinite(self.step) and self.step > 0 and 4 <= steps <= 1e9):
            raise ParameterError(f"the resolution {self.step:g} does not suit the range")
        noise_scale(2 * self.claims_protected, rational(self.epsilon, what="epsilon", limit=DENOMINATOR))

    @property
    def step(self) -> float:
        """The smallest distance that matters."""
        return self.range.length / STEPS_IN_RANGE if self.resolution is None else self.resolution

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
            "who made claims about which objects is public" if fixed else "the list of objects is public",
            "whatever else is published from the same claims is added to the ledger",
        ]
        if self.cap is not None:
            assumptions.append(f"at most {self.cap} claims of a user were used, chosen without their values")
        return Guarantee(
            epsilon=float(rational(self.epsilon, what="epsilon", limit=DENOMINATOR)),
            delta=0.0,
            unit=self.unit,
            adjacency=self.adjacency,
            trust="central",
            assumptions=tuple(assumptions),
        )

    def public(self) -> dict[str, Any]:
        """What was asked for, as the certificate prints it."""
        return {
            "epsilon": self.epsilon,
            "unit": self.unit,
            "adjacency": self.adjacency,
            "cap": self.cap,
            "per_object": self.per_object,
            "range": [self.range.low, self.range.high],
            "resolution": self.resolution,
            "pooled": self.pooled,
        }


def usefulness(claims: Claims, parameters: Certified) -> float:
    """Claims of a typical object times epsilon, for each claim protected; below `USEFUL` little is left."""
    typical = float(len(claims)) if parameters.pooled else float(np.median(claims.counts()))
    return typical * parameters.epsilon / parameters.claims_protected


@dataclass(frozen=True)
class Fit:
    """A release together with the densities it was drawn from (masses of equal parts of the range)."""

    release: Release
    densities: Singles
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
    if parameters.cap is not None:
        # Which objects keep a claim is public only if who claimed what is.
        claims = claims.capped(parameters.cap, keep_objects=parameters.adjacency == "add-remove")
    claims, _ = claims.clamped(parameters.range.low, parameters.range.high)
    if parameters.pooled:
        claims = _pooled(claims)
    noisy = _private_part(claims, parameters, rng, engine)
    values, densities = Estimate(noisy, rng=rng, engine=engine).draw(
        parameters.per_object, rng=rng, names=claims.objects, keep=keep
    )
    return Fit(_published(claims.objects, values, parameters, seeded=not rng.private), densities, noisy)


def _private_part(claims: Claims, parameters: Certified, rng: Randomness, engine: LocalEngine) -> Histograms:
    """The two noisy statistics, with the budget split between them."""
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
    return noisy_histograms(
        *(claims, parameters.range, bins, epsilon - for_pairs, sensitivity, parameters.adjacency),
        rng=rng,
        engine=engine,
    )


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
        parameters=parameters.public(),
        promise=parameters.cost(),
        seeded=seeded,
    )
