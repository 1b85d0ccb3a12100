"""PrisCrowd: synthetic claims from reliability-weighted densities, through the privacy test.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019, and
its extended version. The paper's Theorem 2 does not hold for its algorithm (docs/guarantees/priscrowd.md),
so this "paper mode" says: no differential privacy guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.randomness import Randomness, secure
from crowdveil.release.deniability import PrivacyTest, draw
from crowdveil.release.result import Range, Release
from crowdveil.release.weights import Weights, estimate_weights, smallest_bandwidth, uniform_weights

STEPS_IN_RANGE = 1000


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
        if self.per_object < 1:
            raise ParameterError(f"per-object must be at least 1, not {self.per_object}")
        check_resolution(self.resolution)

    def public(self) -> dict[str, Any]:
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


def check_resolution(resolution: float | None) -> None:
    """Refuse a resolution that is not a positive number."""
    if resolution is not None and not (isfinite(resolution) and resolution > 0):
        raise ParameterError(f"resolution must be a number above 0, not {resolution:g}")


def estimate(claims: Claims, parameters: PrisCrowd, *, engine: LocalEngine | None = None) -> Weights:
    """The weights and bandwidths from which claims are drawn."""
    engine = engine or LocalEngine()
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
    """Synthetic claims for every object that has enough; values outside a declared range are folded back."""
    rng = rng or secure()
    engine = engine or LocalEngine()
    weights = weights or estimate(claims, parameters, engine=engine)
    method = "priscrowd" if parameters.weighting == "reliability" else "uniform"
    offsets, values, statuses = draw(
        claims, weights, parameters.test, parameters.per_object, purpose=method, rng=rng, engine=engine
    )
    if parameters.range is not None:
        values = parameters.range.reflect(values)
        for i in range(len(offsets) - 1):
            values[offsets[i] : offsets[i + 1]].sort()
    ratio = "1, all weights are equal" if method == "uniform" else "at most 9 n + 1 among n claims"
    return Release(
        objects=claims.objects,
        offsets=offsets,
        values=values,
        statuses=statuses,
        method=method,
        parameters=parameters.public(),
        promise=parameters.test.promise(ratio),
        seeded=not rng.private,
    )
