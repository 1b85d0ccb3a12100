"""The expected errors of a sensing campaign, by simulation of its claims and their noise.

Errors are means over objects of the absolute distance of the estimate to the truth (`error`), and to the
estimate without noise (`change`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.local import Laplace, VariancePerUser, perturb
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.truth import gtm, mean, noise_aware

MOST_OBJECTS = 60
MOST_CLAIMS = 1_000  # simulated claims of an object; with more claims, errors are extrapolated
MOST_IN_ALL = 12_000
IN_ALL_REPETITIONS = 60_000  # simulated claims over all repetitions
METHODS = ("noise-aware", "gtm", "mean")

Mechanism = Laplace | VariancePerUser
Errors = dict[str, dict[str, float]]
"""For each method of truth discovery, its `error` to the truth and the `change` that noise causes."""


@dataclass(frozen=True)
class ExpectedSensing:
    """The expected size of a campaign, and the spread of users' errors.

    Users' error variances are exponential with mean spread^2, as in the sensing paper. Truths are uniform at
    a distance of at least two spreads, or a quarter of the range if that is less, from its ends.
    """

    users: int
    objects: int
    claims: int  # of a user
    range: Range
    spread: float

    @property
    def claims_per_object(self) -> float:
        """Mean number of claims about an object."""
        return self.users * self.claims / self.objects

    @property
    def sample(self) -> ExpectedSensing:
        """The part of the campaign that is simulated, with as many claims per object and user as possible."""
        per_object = min(self.claims_per_object, MOST_CLAIMS)
        objects = min(self.objects, MOST_OBJECTS, max(1, int(MOST_IN_ALL / per_object)))
        claims = min(self.claims, objects)
        return replace(
            self, users=max(1, round(per_object * objects / claims)), objects=objects, claims=claims
        )

    @property
    def seeds(self) -> Iterable[int]:
        """Seeds of the simulations: five to ten, fewer if the simulations are larger."""
        sample = self.sample
        return range(min(10, max(5, IN_ALL_REPETITIONS // (sample.users * sample.claims))))

    def simulated(self, seed: int) -> tuple[Claims, Floats]:
        """Simulated claims and truths of the sample."""
        return _simulated(self.sample, seed)

    def errors(self, mechanism: Mechanism, *, engine: LocalEngine) -> Errors:
        """Expected errors with a mechanism's noise on every claim.

        The change of the noise-aware method is relative to GTM on the raw claims, which have no noise.
        """
        return self._expected(_errors(self.sample, mechanism, engine))

    def errors_without_noise(self, *, engine: LocalEngine) -> Errors:
        """Expected errors without noise; the noise-aware method is then GTM."""
        simulated = []
        for seed in self.seeds:
            claims, truths = self.simulated(seed)
            by_gtm, by_mean = (method.discover(claims, engine=engine).estimates for method in (gtm, mean))
            simulated.append([np.abs(estimates - truths).mean() for estimates in (by_gtm, by_gtm, by_mean)])
        errors = (self._left * np.mean(simulated, axis=0)).tolist()
        return {name: {"error": error, "change": 0.0} for name, error in zip(METHODS, errors, strict=True)}

    def error_of_the_middle(self) -> float:
        """The error of the middle of the range as the estimate of every object."""
        middle = 0.5 * (self.range.low + self.range.high)
        return float(np.mean([np.abs(middle - self.simulated(seed)[1]).mean() for seed in self.seeds]))

    def _expected(self, simulated: Floats) -> Errors:
        """Errors by method, extrapolated to the expected number of claims, down to `lasting`.

        Under strong noise a method may be far better than the mean, and improves with more claims only once
        the mean is as good: then the mean's error is extrapolated instead.
        """
        if self._left < 1:
            of_mean = simulated[METHODS.index("mean")]
            extrapolated = np.hypot(
                self._left * np.where(simulated > 0.5 * of_mean, simulated, of_mean), self.lasting
            )
            simulated = np.minimum(simulated, extrapolated)
        return {
            name: {"error": float(error), "change": float(change)}
            for name, (error, change) in zip(METHODS, simulated, strict=True)
        }

    @property
    def _left(self) -> float:
        """Factor from a simulated error to that with the expected number of claims, at most 1."""
        return sqrt(min(1.0, MOST_CLAIMS / self.claims_per_object))

    @property
    def lasting(self) -> float:
        """The bias of the mean claim by clamping, which more claims do not reduce.

        Normal errors with exponential variances are Laplace errors of scale b = spread / sqrt(2), whose mean
        excess beyond a distance d is b/2 e^(-d/b).
        """
        scale = self.spread / sqrt(2.0)
        truths = np.concatenate([self.simulated(seed)[1] for seed in self.seeds])
        pulled = np.exp((self.range.low - truths) / scale) - np.exp((truths - self.range.high) / scale)
        return float(np.abs(0.5 * scale * pulled).mean())


@lru_cache(maxsize=64)
def _errors(campaign: ExpectedSensing, mechanism: Mechanism, engine: LocalEngine) -> Floats:
    """Simulated errors to the truth and changes by noise, of shape (methods, 2), without extrapolation."""
    simulated = []
    for seed in campaign.seeds:
        claims, truths = campaign.simulated(seed)
        noisy = perturb(claims, mechanism, rng=seeded(seed)).claims
        plain, average = (method.discover(claims, engine=engine).estimates for method in (gtm, mean))
        aware = noise_aware.discover(noisy, mechanism.law, engine=engine).estimates
        by_gtm, by_mean = (method.discover(noisy, engine=engine).estimates for method in (gtm, mean))
        pairs = ((aware, plain), (by_gtm, plain), (by_mean, average))
        simulated.append([(np.abs(new - truths).mean(), np.abs(new - old).mean()) for new, old in pairs])
    expected: Floats = np.mean(simulated, axis=0)
    return expected


@lru_cache(maxsize=10)
def _simulated(sample: ExpectedSensing, seed: int) -> tuple[Claims, Floats]:
    low, length = sample.range.low, sample.range.length
    margin = min(2 * sample.spread, length / 4)
    total = sample.users * sample.claims
    rng = seeded(seed)
    positions, variance_uniforms = (
        rng.stream(name, purpose="plan sensing").uniforms(count)
        for name, count in (("truths", sample.objects), ("variances", sample.users))
    )
    errors = rng.stream("errors", purpose="plan sensing").normals(total)
    truths: Floats = low + margin + (length - 2 * margin) * positions
    users = np.repeat(np.arange(sample.users), sample.claims)
    objects = np.arange(total) % sample.objects  # every object gets as many claims as any other, or one more
    values = truths[objects] + sample.spread * np.sqrt(-np.log1p(-variance_uniforms))[users] * errors
    return Claims.from_columns(objects, users, values), truths
