"""Laplace noise on every claim, drawn on the device.

A claim is clamped to the public range and rounded to a public grid; one claim moves by at most G steps, and
exact discrete Laplace noise of scale G / epsilon makes it pure epsilon-private, whoever sees the noisy claim.
A user with N claims has N epsilon in all, or less at some delta.

What shows: who took part, how many claims a user made and about which objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, nextafter, sqrt
from typing import ClassVar

from crowdveil import accounting
from crowdveil.accounting import NoiseEvent, events_epsilon
from crowdveil.accounting.rounding import up, up_to
from crowdveil.arrays import Ints
from crowdveil.guarantee import Guarantee, Unit, rational
from crowdveil.kernels import device_noise
from crowdveil.local.grid import Grid
from crowdveil.local.perturbed import ClaimMechanism
from crowdveil.noise_law import NoiseLaw
from crowdveil.public_range import Range
from crowdveil.randomness import Words, scales

ASSUMPTIONS = (
    "the range and the resolution were declared, not read off the data",
    "who made claims about which objects, and so how many there are, is public",
    "each claim was perturbed once: whatever else is sent about it adds up",
)


def most_claims(claims: int) -> str:
    """The assumption that a user made no more claims than these."""
    return f"a user made at most {so_many(claims)}"


def so_many(claims: int) -> str:
    """A number of claims in words."""
    return "1 claim" if claims == 1 else f"{claims} claims"


@dataclass(frozen=True)
class Laplace(ClaimMechanism):
    """Discrete Laplace noise on every claim.

    Parameters
    ----------
    epsilon:
        For each claim.
    range:
        The public range that claims are clamped to.
    resolution:
        The step of the public grid; by default a thousandth of the range.

    >>> mechanism = Laplace(epsilon=1.0, range=Range(0, 10))
    >>> mechanism.promise().epsilon, mechanism.promise("user", 3).epsilon
    (1.0, 3.0)

    """

    name: ClassVar[str] = "laplace"
    method: ClassVar[str] = "local laplace"
    options: ClassVar[tuple[str, ...]] = ("resolution",)

    epsilon: float
    range: Range
    resolution: float | None = None

    def __post_init__(self) -> None:
        self.grid.check_noise(self.largest_deviation)

    @cached_property
    def grid(self) -> Grid:
        """The public grid that claims are rounded to."""
        return Grid.of(self.range, self.resolution)

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise in steps: steps / epsilon, or slightly more if that has too many digits."""
        refusal = "the resolution is too fine for this range and epsilon: use a coarser one"
        return scales.at_least(self.grid.steps / rational(self.epsilon, what="epsilon"), refusal=refusal)

    @property
    def realised(self) -> float:
        """The epsilon that the noise gives a claim, never above the one asked for."""
        return up_to(self.grid.steps / self.scale, self.epsilon)

    @property
    def largest_deviation(self) -> float:
        """The standard deviation of the noise in steps, not rounded down."""
        return sqrt(2) * float(self.scale)

    @property
    def noise_variance(self) -> float:
        """The variance of a noisy claim around the rounded one."""
        kept = exp(-1.0 / float(self.scale))
        return 2.0 * kept * (self.grid.step / -expm1(-1.0 / float(self.scale))) ** 2

    @property
    def average_noise(self) -> float:
        """Mean absolute noise of a claim: the scale, in units of the values."""
        return float(self.scale) * self.grid.step

    @property
    def law(self) -> NoiseLaw:
        """What is publicly known about the noise."""
        grid = self.grid
        return NoiseLaw(grid.low, grid.high, laplace_scale=sqrt(self.noise_variance / 2))

    def fill_noise(self, key: Words, nonces: Words, offsets: Ints, out: Ints) -> None:
        """Fill `out` with the noise of users' claims, in steps."""
        device_noise.fill_laplace(key, nonces, offsets, self.scale.numerator, self.scale.denominator, out)

    def promise(self, unit: Unit | None = None, count: int = 1, *, delta: float = 0.0) -> Guarantee:
        """Pure epsilon for each claim; for a user the sum over `count` claims or, at a delta, less."""
        unit = self._unit(unit, count)
        claim = Guarantee(self.realised, 0.0, "claim", "replace-one", "local", ASSUMPTIONS)
        if unit == "claim":
            return claim
        user = replace(
            accounting.user_level(claim, count),
            epsilon=up(count * self.grid.steps / self.scale),
            assumptions=(*ASSUMPTIONS, most_claims(count)),
        )
        if not delta:
            return user
        scale = nextafter(float(self.scale), 0.0)  # never more noise than there is
        noise = NoiseEvent("discrete_laplace", scale, self.grid.steps, count)
        return replace(user, epsilon=min(user.epsilon, events_epsilon([noise], delta)), delta=delta)
