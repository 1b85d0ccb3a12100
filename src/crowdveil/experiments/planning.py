"""Before anybody's data are touched: what a release would be worth, from a simulation of what is expected.

Objects are simulated with normal claims of the expected spread at random places of the range, and released
with the very methods that would be used. Nothing is charged, because nothing private is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.randomness import seeded
from crowdveil.release import basic, certified
from crowdveil.release.measures import error_to_normal, silverman
from crowdveil.release.result import Range, Release

MOST_SIMULATED = 60
REPETITIONS = 3
WORTHLESS = 0.6  # error relative to the density's own energy; 1 is what publishing nothing scores


@dataclass(frozen=True)
class ReleasePlan:
    """What the steward expects, and what she wishes."""

    objects: int
    claims_per_object: int
    range: Range
    epsilon: float
    spread: float | None = None  # of an object's claims; default a tenth of the range
    per_object: int = 30

    def __post_init__(self) -> None:
        if self.objects < 1 or self.claims_per_object < 1:
            raise ParameterError("a plan needs at least one object and one claim for each")
        if not 0 < self.width < self.range.length:
            raise ParameterError(f"a spread of {self.width:g} does not fit the range")

    @property
    def width(self) -> float:
        """The expected spread."""
        return self.range.length / 10 if self.spread is None else self.spread


def plan_release(plan: ReleasePlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Expected errors by method, and which method to use."""
    engine = engine or LocalEngine()
    scores: dict[str, list[tuple[float, float]]] = {}
    for seed in range(REPETITIONS):
        claims, centres = _simulated(plan, seed)
        rng = seeded(seed)
        certain = certified.Certified(plan.epsilon, plan.range, per_object=plan.per_object)
        made = {
            "certified": certified.release(claims, certain, rng=rng, engine=engine),
            "basic": basic.release(claims, basic.Basic(plan.epsilon, plan.range), rng=rng, engine=engine),
        }
        for method, release in made.items():
            scores.setdefault(method, []).append(_errors(release, centres, plan))
    methods: list[dict[str, Any]] = [
        {"method": method, "relative_ise": float(ise), "centre_error": float(centre)}
        for method, (ise, centre) in ((m, np.mean(found, axis=0)) for m, found in scores.items())
    ]
    best = min(methods, key=lambda row: row["relative_ise"])
    useful = plan.claims_per_object * plan.epsilon >= certified.USEFUL
    pooled = plan.objects * plan.claims_per_object * plan.epsilon >= certified.USEFUL
    advice = (
        str(best["method"]) if useful and best["relative_ise"] < WORTHLESS else "pooled" if pooled else "none"
    )
    return {
        "advice": advice,
        "command": _command(plan, advice),
        "claims_times_epsilon": plan.claims_per_object * plan.epsilon,
        "spread": plan.width,
        "methods": methods,
    }


def _simulated(plan: ReleasePlan, seed: int) -> tuple[Claims, Floats]:
    objects, n = min(plan.objects, MOST_SIMULATED), plan.claims_per_object
    rng = seeded(seed)
    room = max(0.0, plan.range.length - 4 * plan.width)
    places = rng.stream("centres", purpose="plan").uniforms(objects)
    centres: Floats = plan.range.low + (plan.range.length - room) / 2 + room * places
    noise = rng.stream("claims", purpose="plan").normals(objects * n).reshape(objects, n)
    values = np.clip(centres[:, None] + plan.width * noise, plan.range.low, plan.range.high)
    names = np.repeat(np.arange(objects), n)
    return Claims.from_columns(names, np.tile(np.arange(n), objects), values.ravel()), centres


def _errors(release: Release, centres: Floats, plan: ReleasePlan) -> tuple[float, float]:
    """Density error of the released claims relative to the density's own energy, and error of the centre."""
    energy = 1.0 / (2.0 * np.sqrt(np.pi) * plan.width)
    ises, gaps = [], []
    for i, centre in enumerate(centres.tolist()):
        x = release.of(i)
        ises.append(error_to_normal(x, silverman(x, 1e-3 * plan.width), centre, plan.width) / energy)
        gaps.append(abs(float(np.median(x)) - centre))
    return float(np.mean(ises)), float(np.mean(gaps))


def _command(plan: ReleasePlan, advice: str) -> str | None:
    if advice == "none":
        return None
    options = {"certified": "", "pooled": " --pooled", "basic": " --method basic"}[advice]
    limits = f"{plan.range.low:g}:{plan.range.high:g}"
    return f"crowdveil release CLAIMS --range {limits} --epsilon {plan.epsilon:g}{options} -o OUT"
