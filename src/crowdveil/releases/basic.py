"""Basic, the papers' simplest baseline: every claim is published with Laplace noise.

Claims are clamped to the declared range and rounded to a public grid; exact discrete Laplace noise is added
in whole steps of the grid. The sensitivity of one claim is G steps, so noise of scale G / epsilon gives pure
epsilon-differential privacy for each claim under replace-one; the number of claims per object is public.
Noisy claims are published in ascending order, because the order of raw claims would reveal ranks for no
benefit. (Epsilon would hold in either order: sorting does not increase the L1 distance of rows.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, pi, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfcx

from crowdveil.accounting.events import Event, NoiseEvent
from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import Block, Engine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee, rational
from crowdveil.kernels import candidates
from crowdveil.public_range import STEPS_IN_RANGE, Range, check_resolution
from crowdveil.randomness import Randomness, Streams
from crowdveil.randomness.samplers import INTEGER_LIMIT
from crowdveil.releases.expected_error import WITHOUT, Expectation, ExpectedError
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.neighbours import Neighbours
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release, Status


@dataclass(frozen=True)
class Basic(ReleaseMethod):
    """Parameters of Basic: Laplace noise on each claim.

    >>> from crowdveil import Claims, Range, release
    >>> claims = Claims.from_columns(["a", "a", "b"], ["ann", "bob", "ann"], [3.0, 1.0, 2.0])
    >>> noisy = release(claims, Basic(epsilon=1.0, range=Range(0, 10)))
    >>> len(noisy), noisy.promise.epsilon
    (3, 1.0)

    Parameters
    ----------
    epsilon:
        The privacy loss for each claim.
    range:
        The public range of values; claims outside are clamped to it.
    resolution:
        The step of the public grid; by default a fixed fraction of the range.

    """

    epsilon: float
    range: Range
    resolution: float | None = None

    name: ClassVar[str] = "basic"
    synthetic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_resolution(self.resolution)
        if not (self.step > 0 and self.range.length / self.step < INTEGER_LIMIT):
            raise ParameterError("the resolution is too fine for this range and epsilon: use a coarser one")
        scale = self.steps / rational(self.epsilon, what="epsilon")
        if max(scale.numerator, scale.denominator) >= INTEGER_LIMIT:
            raise ParameterError("the resolution is too fine for this range and epsilon: use a coarser one")

    @property
    def step(self) -> float:
        """The step of the grid."""
        return self.resolution or self.range.length / STEPS_IN_RANGE

    @property
    def steps(self) -> int:
        """The sensitivity of one claim, in steps of the grid."""
        return max(1, ceil(self.range.length / self.step))

    @property
    def realised(self) -> Fraction:
        """The epsilon of the noise: `epsilon` rounded down to a fraction."""
        return rational(self.epsilon, what="epsilon")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps of the grid."""
        return self.steps / self.realised

    def events(self, _pattern: Pattern) -> tuple[Event, ...]:
        """One event: discrete Laplace noise on a claim of sensitivity `steps`."""
        return (NoiseEvent("discrete_laplace", self.scale, self.steps),)

    def promise(self, _pattern: Pattern) -> Guarantee:
        """The guarantee of a release: pure epsilon for each claim."""
        return Guarantee(
            epsilon=float(self.realised),
            delta=0.0,
            unit="claim",
            adjacency="replace-one",
            trust="central",
            assumptions=(
                "the range and the resolution were declared, not read off the data",
                "who made claims about which objects, and so how many there are, is public",
                "whatever else is published from the same claims is added to the ledger",
            ),
        )

    def expectation(
        self,
        claims: Claims,
        spread: float | None = None,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Expectation | None:
        """The error of the median of normal claims with this noise, whose density at its centre is known."""
        length = self.range.length
        width = ExpectedError(self.epsilon, Neighbours("claim"), length, spread).stated
        scale = float(self.scale) * self.step
        height = erfcx(width / (sqrt(2) * scale)) / (2 * scale)
        errors = 1 / (sqrt(2 * pi) * height * np.sqrt(np.maximum(claims.counts(), 1)))
        return Expectation(float(errors.mean()), WITHOUT * length, width)

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as the certificate prints them."""
        return {
            "epsilon": self.epsilon,
            "range": [self.range.low, self.range.high],
            "resolution": self.step,
        }

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        """All claims with exact noise, as many as were collected."""
        streams = rng.all_streams(purpose=self.name)
        (values,) = engine.map("noisy claims", claims, _with_noise, (self, streams), per=("claim",))
        pattern = Pattern.of(claims)
        return Release(
            objects=claims.objects,
            offsets=np.concatenate([[0], np.cumsum(claims.counts())]),
            values=values,
            statuses=np.full(claims.object_count, Status.released, dtype=np.int8),
            method=self.name,
            parameters=self.to_dict(),
            promise=self.promise(pattern),
            user_promise=self.user_promise(pattern),
            public=self.public(pattern),
            seeded=not rng.private,
            synthetic=self.synthetic,
        )


def _with_noise(block: Block, shared: tuple[Basic, Streams]) -> tuple[Floats]:
    parameters, streams = shared
    low, step, scale = parameters.range.low, parameters.step, parameters.scale
    grid = np.clip(np.rint((block.values - low) / step), 0, parameters.steps).astype(np.int64)
    noisy = np.empty_like(grid)
    candidates.add_grid_noise(
        *(block.offsets, grid, scale.numerator, scale.denominator),
        *(streams.key, streams.nonces(block.names, block.first), 0, block.size, noisy),
    )
    return (low + step * noisy.astype(np.float64),)
