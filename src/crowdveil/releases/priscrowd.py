"""PrisCrowd: synthetic claims from reliability-weighted densities, through the privacy test.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019, and
its extended version. The paper's Theorem 2 does not hold for its algorithm (docs/guarantees/priscrowd.md),
so this "paper mode" says: no differential privacy guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Deniability, NoGuarantee
from crowdveil.public_range import STEPS_IN_RANGE, Range, check_resolution
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.deniability import PrivacyTest, draw
from crowdveil.releases.result import Release, check_per_object
from crowdveil.releases.weights import Weights, estimate_weights, smallest_bandwidth, uniform_weights


@dataclass(frozen=True)
class PrisCrowd:
    """Parameters of PrisCrowd and, with `weighting="uniform"`, of its Uniform baseline."""

    per_object: int = 30
    test: PrivacyTest = field(default_factory=PrivacyTest)
    range: Range | None = None
    resolution: float | None = None
    weighting: Literal["reliability", "uniform"] = "reliability"
    loss: Literal["mean", "sum"] = "mean"
    normaliser: Literal["sum", "max"] = "sum"

    def __post_init__(self) -> None:
        check_per_object(self.per_object)
        check_resolution(self.resolution)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ParameterError(f"{name} must be one of {', '.join(allowed)}")

    def to_dict(self) -> dict[str, Any]:
        """What was asked for, as the certificate prints it."""
        stated: dict[str, Any] = {
            "per_object": self.per_object,
            "k": self.test.k,
            "gamma": self.test.gamma,
            "epsilon0": self.test.epsilon0,
            "require_k": self.test.require_k,
            "range": [self.range.low, self.range.high] if self.range else None,
            "resolution": self.resolution,
        }
        if self.weighting == "reliability":
            stated |= {"loss": self.loss, "normaliser": self.normaliser}
        return stated

    @property
    def method(self) -> str:
        """The method's name."""
        return "priscrowd" if self.weighting == "reliability" else "uniform"

    def cost(self) -> Deniability | NoGuarantee:
        """What a release with these parameters promises: nothing that could be charged."""
        even = self.weighting == "uniform"
        return self.test.promise("1, all weights are equal" if even else "at most 9 n + 1 among n claims")


_CHOICES = {
    "weighting": ("reliability", "uniform"),
    "loss": ("mean", "sum"),
    "normaliser": ("sum", "max"),
}


def _inside(claims: Claims, parameters: PrisCrowd) -> Claims:
    if parameters.range is None:
        return claims
    return claims.clamped(parameters.range.low, parameters.range.high)[0]


def estimate(claims: Claims, parameters: PrisCrowd, *, engine: LocalEngine | None = None) -> Weights:
    """The weights and bandwidths from which claims are drawn."""
    engine = engine or LocalEngine()
    claims = _inside(claims, parameters)
    if parameters.resolution is not None:
        floor = parameters.resolution
    elif parameters.range is not None:
        floor = parameters.range.length / STEPS_IN_RANGE
    else:
        floor = smallest_bandwidth(claims, engine)
    if parameters.weighting == "uniform":
        return uniform_weights(claims, floor=floor, engine=engine)
    return estimate_weights(
        claims, floor=floor, loss=parameters.loss, normaliser=parameters.normaliser, engine=engine
    )


def release(
    claims: Claims,
    parameters: PrisCrowd,
    *,
    weights: Weights | None = None,
    rng: Randomness | None = None,
    engine: LocalEngine | None = None,
) -> Release:
    """Synthetic claims for every object that has enough; all lie in the range, if one is declared."""
    rng = rng or secure()
    engine = engine or LocalEngine()
    claims = _inside(claims, parameters)
    weights = weights or estimate(claims, parameters, engine=engine)
    offsets, values, statuses = draw(
        claims,
        weights,
        parameters.test,
        parameters.per_object,
        parameters.range,
        purpose=parameters.method,
        rng=rng,
        engine=engine,
    )
    return Release(
        objects=claims.objects,
        offsets=offsets,
        values=values,
        statuses=statuses,
        method=parameters.method,
        parameters=parameters.to_dict(),
        promise=parameters.cost(),
        seeded=not rng.private,
    )
