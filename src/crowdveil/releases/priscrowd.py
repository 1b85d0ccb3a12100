"""PrisCrowd: synthetic claims from reliability-weighted densities, through the privacy test.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019, and
its extended version. The paper's Theorem 2 does not hold for its algorithm (docs/guarantees/priscrowd.md),
so releases of this method carry no differential privacy guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
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
    """Parameters of Uniform, PrisCrowd's baseline: all claims of an object have equal weights.

    Parameters
    ----------
    per_object:
        The number of claims released for each object that has enough claims.
    k, gamma, epsilon0, require_k:
        The privacy test: see `PrivacyTest`.
    range, resolution:
        The public range of values, if there is one, and the smallest bandwidth of a density.

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
        """Plausible deniability if `require_k`, otherwise no guarantee; nothing is charged."""
        return self.test.promise("1, all weights are equal")

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as the certificate prints them."""
        return {
            "per_object": self.per_object,
            "k": self.k,
            "gamma": self.gamma,
            "epsilon0": self.epsilon0,
            "require_k": self.require_k,
            "range": [self.range.low, self.range.high] if self.range else None,
            "resolution": self.resolution,
        }

    def estimate(self, claims: Claims, *, engine: Engine | None = None) -> Weights:
        """The weights and bandwidths of the densities."""
        engine = engine or LocalEngine()
        return uniform_weights(claims, floor=self._floor(claims, engine), engine=engine)

    def _floor(self, claims: Claims, engine: Engine) -> float:
        """The smallest bandwidth."""
        if self.resolution is not None:
            return self.resolution
        if self.range is not None:
            return self.range.length / STEPS_IN_RANGE
        return smallest_bandwidth(claims, engine)

    def draw(self, claims: Claims, *, rng: Randomness, engine: Engine) -> Release:
        """Synthetic claims for every object with enough claims; they lie in the range, if one is declared."""
        return self.draw_weighted(claims, self.estimate(claims, engine=engine), rng=rng, engine=engine)

    def draw_weighted(self, claims: Claims, weights: Weights, *, rng: Randomness, engine: Engine) -> Release:
        """`draw` with given weights."""
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
    """Parameters of PrisCrowd: those of Uniform, and how users' reliability is estimated.

    >>> from crowdveil import Claims, release
    >>> claims = Claims.from_columns(["a"] * 6, list(range(6)), [1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
    >>> synthetic = release(claims, PrisCrowd(per_object=10, k=3))
    >>> synthetic.method, synthetic.promise.to_dict()["kind"]
    ('priscrowd', 'none')

    Parameters
    ----------
    loss:
        A user's loss: the mean of the losses of their claims or, as in the paper, the sum.
    normaliser:
        The divisor of users' losses: their sum, as in the paper, or their maximum (CRH).

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
        """Plausible deniability if `require_k`, otherwise no guarantee; nothing is charged."""
        return self.test.promise("at most 9 n + 1 among n claims")

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as the certificate prints them."""
        return super().to_dict() | {"loss": self.loss, "normaliser": self.normaliser}

    def estimate(self, claims: Claims, *, engine: Engine | None = None) -> Weights:
        """Users' reliability weights, robust local weights and the bandwidths of the densities."""
        engine = engine or LocalEngine()
        return estimate_weights(
            claims,
            floor=self._floor(claims, engine),
            loss=self.loss,
            normaliser=self.normaliser,
            engine=engine,
        )
