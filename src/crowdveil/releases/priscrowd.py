"""PrisCrowd: synthetic claims from reliability-weighted densities, through the privacy test.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019, and
its extended version. The paper's Theorem 2 does not hold for its algorithm (docs/guarantees/priscrowd.md),
so this "paper mode" says: no differential privacy guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Deniability, NoGuarantee
from crowdveil.public_range import STEPS_IN_RANGE, Range, check_resolution
from crowdveil.randomness import Randomness
from crowdveil.releases.deniability import PrivacyTest, draw
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release, check_per_object
from crowdveil.releases.weights import Weights, estimate_weights, smallest_bandwidth, uniform_weights


@dataclass(frozen=True)
class Uniform(ReleaseMethod):
    """Parameters of Uniform, PrisCrowd's baseline: all claims of an object weigh the same.

    Parameters
    ----------
    per_object:
        How many claims are released for each object that has enough.
    k, gamma, epsilon0, require_k:
        The privacy test: see `PrivacyTest`.
    range, resolution:
        The public range of values, if there is one, and the smallest bandwidth.

    """

    per_object: int = 30
    k: int = 5
    gamma: float = 4.0
    epsilon0: float = 1.0
    require_k: bool = False
    range: Range | None = None
    resolution: float | None = None

    name: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        check_per_object(self.per_object)
        check_resolution(self.resolution)
        _ = self.test

    @property
    def test(self) -> PrivacyTest:
        """The privacy test that every released value passes."""
        return PrivacyTest(self.k, self.gamma, self.epsilon0, self.require_k)

    def promise(self, _pattern: Pattern) -> Deniability | NoGuarantee:
        """What a release with these parameters promises: nothing that could be charged."""
        return self.test.promise("1, all weights are equal")

    def to_dict(self) -> dict[str, Any]:
        """What was asked for, as the certificate prints it."""
        return {
            "per_object": self.per_object,
            "k": self.k,
            "gamma": self.gamma,
            "epsilon0": self.epsilon0,
            "require_k": self.require_k,
            "range": [self.range.low, self.range.high] if self.range else None,
            "resolution": self.resolution,
        }

    def estimate(self, claims: Claims, *, engine: LocalEngine | None = None) -> Weights:
        """The weights and bandwidths from which claims are drawn."""
        engine = engine or LocalEngine()
        return uniform_weights(claims, floor=self._floor(claims, engine), engine=engine)

    def _floor(self, claims: Claims, engine: LocalEngine) -> float:
        """The smallest bandwidth."""
        if self.resolution is not None:
            return self.resolution
        if self.range is not None:
            return self.range.length / STEPS_IN_RANGE
        return smallest_bandwidth(claims, engine)

    def draw(self, claims: Claims, *, rng: Randomness, engine: LocalEngine) -> Release:
        """Synthetic claims for every object that has enough; all lie in the range, if one is declared."""
        return self.draw_weighted(claims, self.estimate(claims, engine=engine), rng=rng, engine=engine)

    def draw_weighted(
        self, claims: Claims, weights: Weights, *, rng: Randomness, engine: LocalEngine
    ) -> Release:
        """The same with weights that were estimated before."""
        offsets, values, statuses = draw(
            claims,
            weights,
            self.test,
            self.per_object,
            self.range,
            purpose=self.name,
            rng=rng,
            engine=engine,
        )
        return Release(
            objects=claims.objects,
            offsets=offsets,
            values=values,
            statuses=statuses,
            method=self.name,
            parameters=self.to_dict(),
            promise=self.promise(Pattern.of(claims)),
            seeded=not rng.private,
            weights=weights,
        )


@dataclass(frozen=True)
class PrisCrowd(Uniform):
    """Parameters of PrisCrowd: those of Uniform, and how a user's reliability is estimated.

    Parameters
    ----------
    loss:
        Whether a user's loss is the mean over its claims or, as in the paper, their sum.
    normaliser:
        What losses are divided by: their sum as in the paper, or their maximum (CRH).

    """

    loss: Literal["mean", "sum"] = "mean"
    normaliser: Literal["sum", "max"] = "sum"

    name: ClassVar[str] = "priscrowd"

    def __post_init__(self) -> None:
        super().__post_init__()
        for choice, allowed in (("loss", ("mean", "sum")), ("normaliser", ("sum", "max"))):
            if getattr(self, choice) not in allowed:
                raise ParameterError(f"{choice} must be one of {', '.join(allowed)}")

    def promise(self, _pattern: Pattern) -> Deniability | NoGuarantee:
        """What a release with these parameters promises: nothing that could be charged."""
        return self.test.promise("at most 9 n + 1 among n claims")

    def to_dict(self) -> dict[str, Any]:
        """What was asked for, as the certificate prints it."""
        return super().to_dict() | {"loss": self.loss, "normaliser": self.normaliser}

    def estimate(self, claims: Claims, *, engine: LocalEngine | None = None) -> Weights:
        """Users' reliability, robust local weights and the bandwidths from which claims are drawn."""
        engine = engine or LocalEngine()
        return estimate_weights(
            claims,
            floor=self._floor(claims, engine),
            loss=self.loss,
            normaliser=self.normaliser,
            engine=engine,
        )
