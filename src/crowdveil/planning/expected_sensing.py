"""A sensing campaign as it is expected: simulated claims, noise on them, and how far truths will be off.

Errors are mean absolute errors over objects: to the truth, and how far the noise alone moved the estimate.
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
MOST_CLAIMS = 1_000  # of an object that are simulated; errors of more are extrapolated
MOST_IN_ALL = 12_000
IN_ALL_REPETITIONS = 60_000  # claims
METHODS = ("noise-aware", "gtm", "mean")

Mechanism = Laplace | VariancePerUser
Errors = dict[str, dict[str, float]]
"""For each method of truth discovery its `error` to the truth and the `change` that noise makes."""


@dataclass(frozen=True)
class ExpectedSensing:
    """What is expected: so many users with so many claims each about objects, and the spread of errors.

    Users' error variances are exponential with the mean spread^2, as in the sensing paper. Truths keep two
    spreads away from the ends of the range, or a quarter of it where that is less.
    """

    users: int
    objects: int
    claims: int  # of a user
    range: Range
    spread: float

    @property
    def claims_per_object(self) -> float:
        """Claims about an object, on average."""
        return self.users * self.claims / self.objects

    @property
    def sample(self) -> ExpectedSensing:
        """The campaign as far as it is simulated: as many claims of an object and of a user as possible."""
        each = min(self.claims_per_object, MOST_CLAIMS)
        objects = min(self.objects, MOST_OBJECTS, max(1, int(MOST_IN_ALL / each)))
        claims = min(self.claims, objects)
        return replace(self, users=max(1, round(each * objects / claims)), objects=objects, claims=claims)

    @property
    def seeds(self) -> Iterable[int]:
        """What simulations are drawn from: five to ten, the fewer the larger they are."""
        sample = self.sample
        return range(min(10, max(5, IN_ALL_REPETITIONS // (sample.users * sample.claims))))

    def simulated(self, seed: int) -> tuple[Claims, Floats]:
        """Claims and truths of the sample."""
        return _simulated(self.sample, seed)

    def errors(self, made: Mechanism, *, engine: LocalEngine) -> Errors:
        """What to expect with a mechanism's noise on every claim.

        The change by the noise-aware method is from GTM on the raw claims, where there is no noise to know.
        """
        return self._expected(_errors(self.sample, made, engine))

    def errors_without_noise(self, *, engine: LocalEngine) -> Errors:
        """What to expect if everybody told the collector everything; without noise there is none to know."""
        found = []
        for seed in self.seeds:
            claims, truths = self.simulated(seed)
            by_gtm, by_mean = (one.discover(claims, engine=engine).estimates for one in (gtm, mean))
            found.append([np.abs(one - truths).mean() for one in (by_gtm, by_gtm, by_mean)])
        errors = (self._left * np.mean(found, axis=0)).tolist()
        return {name: {"error": error, "change": 0.0} for name, error in zip(METHODS, errors, strict=True)}

    def error_of_the_middle(self) -> float:
        """The error of whoever knows the range alone, and says its middle for every object."""
        middle = 0.5 * (self.range.low + self.range.high)
        return float(np.mean([np.abs(middle - self.simulated(seed)[1]).mean() for seed in self.seeds]))

    def _expected(self, found: Floats) -> Errors:
        """Figures by name; those of more claims than were simulated shrink to what lasts.

        Where there is little but noise a method may be far better than the mean and shrink no more until the
        mean is as good: then the mean's figure shrinks in its place.
        """
        if self._left < 1:
            average = found[METHODS.index("mean")]
            shrunk = np.hypot(self._left * np.where(found > 0.5 * average, found, average), self.lasting)
            found = np.minimum(found, shrunk)
        return {
            name: {"error": float(error), "change": float(change)}
            for name, (error, change) in zip(METHODS, found, strict=True)
        }

    @property
    def _left(self) -> float:
        """How much of a simulated error more claims than a simulation holds would leave."""
        return sqrt(min(1.0, MOST_CLAIMS / self.claims_per_object))

    @property
    def lasting(self) -> float:
        """How far clamping moves the mean claim, which no number of claims mends.

        Normal errors of exponential variances follow a Laplace law of scale b = spread / sqrt(2), whose mean
        beyond a distance d is b/2 e^(-d/b).
        """
        scale = self.spread / sqrt(2.0)
        truths = np.concatenate([self.simulated(seed)[1] for seed in self.seeds])
        pulled = np.exp((self.range.low - truths) / scale) - np.exp((truths - self.range.high) / scale)
        return float(np.abs(0.5 * scale * pulled).mean())


@lru_cache(maxsize=64)
def _errors(campaign: ExpectedSensing, made: Mechanism, engine: LocalEngine) -> Floats:
    """(methods, 2): errors to the truth and changes, without more claims than are simulated."""
    found = []
    for seed in campaign.seeds:
        claims, truths = campaign.simulated(seed)
        noisy = perturb(claims, made, rng=seeded(seed)).claims
        plain, average = (one.discover(claims, engine=engine).estimates for one in (gtm, mean))
        aware = noise_aware.discover(noisy, made.law, engine=engine).estimates
        by_gtm, by_mean = (one.discover(noisy, engine=engine).estimates for one in (gtm, mean))
        pairs = ((aware, plain), (by_gtm, plain), (by_mean, average))
        found.append([(np.abs(new - truths).mean(), np.abs(new - old).mean()) for new, old in pairs])
    expected: Floats = np.mean(found, axis=0)
    return expected


@lru_cache(maxsize=10)
def _simulated(sample: ExpectedSensing, seed: int) -> tuple[Claims, Floats]:
    low, length = sample.range.low, sample.range.length
    margin = min(2 * sample.spread, length / 4)
    total = sample.users * sample.claims
    rng = seeded(seed)
    places, lots = (
        rng.stream(name, purpose="plan sensing").uniforms(count)
        for name, count in (("truths", sample.objects), ("variances", sample.users))
    )
    errors = rng.stream("errors", purpose="plan sensing").normals(total)
    truths: Floats = low + margin + (length - 2 * margin) * places
    who = np.repeat(np.arange(sample.users), sample.claims)
    what = np.arange(total) % sample.objects  # every object gets as many claims as any other, or one more
    values = truths[what] + sample.spread * np.sqrt(-np.log1p(-lots))[who] * errors
    return Claims.from_columns(what, who, values), truths
