"""Gaussian noise of a fresh exponential variance for each claim: Laplace noise under another name.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018, whose
devices draw one variance for all claims (`gaussian_exponential`). A normal variable whose variance is
exponential of rate lambda2 is Laplace noise of scale 1/sqrt(2 lambda2): docs/guarantees/sensing.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar

from crowdveil.arrays import Ints
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, Unit
from crowdveil.local.description import Description
from crowdveil.local.gaussian_exponential import VariancePerUser, check_rate
from crowdveil.local.grid import Grid
from crowdveil.local.laplace import Laplace
from crowdveil.local.perturbed import ClaimMechanism
from crowdveil.local.request import MechanismRequest
from crowdveil.noise_law import NoiseLaw
from crowdveil.public_range import Range
from crowdveil.randomness import Words


def fresh_variance(rate: float, range: Range, resolution: float | None = None) -> Laplace:
    """The paper's noise with a fresh variance for each claim: Laplace noise of scale 1/sqrt(2 rate)."""
    check_rate(rate)
    grid = Grid.of(range, resolution)
    return Laplace(grid.steps * grid.step * sqrt(2.0 * rate), range, resolution)


@dataclass(frozen=True)
class FreshVariance(ClaimMechanism):
    """Parameters: the rate of variances, a fresh one for each claim, or the epsilon that they give a claim.

    It *is* Laplace noise, and is drawn as such.
    """

    name: ClassVar[str] = "gaussian-exponential"
    method: ClassVar[str] = Laplace.method
    options: ClassVar[tuple[str, ...]] = ("resolution", "lambda2", "variance_per_user", "floor", "delta")

    range: Range
    resolution: float | None = None
    rate: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        _ = self.laplace

    @classmethod
    def describe(cls, request: MechanismRequest) -> Description:
        """Noise of that epsilon or rate; with one variance for each user another mechanism."""
        asked = request.given("lambda2", "floor", "delta")
        if request.options.get("variance_per_user"):
            return VariancePerUser.describe(request)
        if (request.epsilon is None) == ("lambda2" not in asked):
            raise ParameterError("--mechanism gaussian-exponential takes either --epsilon or --lambda2")
        if len(asked) > ("lambda2" in asked):
            raise ParameterError("--floor and --delta go with --variance-per-user")
        rate = {"rate": asked["lambda2"]} if request.epsilon is None else {"epsilon": request.epsilon}
        return Description(cls.name, rate | {"range": list(cls.ends(request))} | request.given("resolution"))

    @cached_property
    def laplace(self) -> Laplace:
        """The same noise under its other name."""
        if self.rate is not None and self.epsilon is None:
            return fresh_variance(self.rate, self.range, self.resolution)
        if self.rate is None and self.epsilon is not None:
            return Laplace(self.epsilon, self.range, self.resolution)
        raise ParameterError("gaussian-exponential takes either a rate or an epsilon")

    @property
    def grid(self) -> Grid:
        """The public grid that claims are rounded to."""
        return self.laplace.grid

    @property
    def largest_deviation(self) -> float:
        """The standard deviation of the noise in steps."""
        return self.laplace.largest_deviation

    @property
    def average_noise(self) -> float:
        """The mean absolute noise of a claim."""
        return self.laplace.average_noise

    @property
    def noise_variance(self) -> float:
        """The variance of a noisy claim around the rounded one."""
        return self.laplace.noise_variance

    @property
    def law(self) -> NoiseLaw:
        """What is publicly known about the noise."""
        return self.laplace.law

    def fill_noise(self, key: Words, nonces: Words, offsets: Ints, out: Ints) -> None:
        """Fill `out` with the noise of users' claims, in steps."""
        self.laplace.fill_noise(key, nonces, offsets, out)

    def promise(self, unit: Unit | None = None, count: int = 1, *, delta: float = 0.0) -> Guarantee:
        """What Laplace noise promises: pure epsilon for each claim."""
        return self.laplace.promise(unit, count, delta=delta)
