"""PrisCrowd and its baselines, and the simulated experiment: Table 2 of the extended paper.

Reference: Huai, Wang, Miao, Xu, Zhang, *Privacy-aware Synthesizing for Crowdsourced Data*, IJCAI 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.evaluation.release_measures import (
    error_to_normal,
    integrated_squared_error,
    ise,
    silverman,
    sise,
    sise_as_printed,
    theorem1_bound,
)
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.public_range import Range
from crowdveil.randomness import Randomness, seeded
from crowdveil.releases.basic import Basic
from crowdveil.releases.method import release
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.releases.result import Release, Status
from crowdveil.releases.weights import Weights
from crowdveil.report import plots
from crowdveil.simulation.claims import SimulatedClaims

METHODS = ("PrisCrowd", "Uniform", "Basic(weak)", "Basic(normal)", "Basic(strong)")
EPSILONS = {"Basic(weak)": 10.0, "Basic(normal)": 1.0, "Basic(strong)": 0.1}

# Table 2 of the extended paper, (ISE, SISE) in the order of METHODS.
PAPER_SIMULATED = {
    0.1: ((4.758, 14.991), (11.302, 23.576), (20.268, 31.834), (20.282, 31.845), (20.297, 31.857)),
    0.2: ((4.842, 15.327), (12.393, 24.668), (20.594, 32.137), (20.669, 32.155), (20.679, 32.155)),
    0.3: ((4.860, 15.325), (14.613, 26.929), (21.298, 32.633), (21.342, 32.666), (21.348, 32.671)),
    0.4: ((4.866, 15.380), (16.703, 28.742), (21.571, 32.817), (21.615, 32.850), (21.650, 32.901)),
    0.5: ((7.475, 18.203), (18.833, 30.579), (22.205, 33.236), (22.226, 33.243), (22.236, 33.320)),
}


class Methods:
    """All methods on the same claims; weights are estimated once and used for many releases."""

    def __init__(self, claims: Claims, settings: Settings, limits: Range, *, tested: PrisCrowd) -> None:
        self._claims, self._engine, self._limits = tested.used(claims), settings.engine, limits
        shared = {name: getattr(tested, name) for name in Uniform.options()}
        self._tested = {"PrisCrowd": tested, "Uniform": Uniform(**shared)}
        self.weights = {
            name: parameters.estimate(self._claims, engine=settings.engine)
            for name, parameters in self._tested.items()
        }

    def release(self, name: str, rng: Randomness) -> Release:
        """A release by the method `name`."""
        if name in self._tested:
            tested, weights = self._tested[name], self.weights[name]
            return tested.draw_weighted(self._claims, weights, rng=rng, engine=self._engine)
        noise = Basic(EPSILONS[name], self._limits)
        return release(self._claims, noise, rng=rng, engine=self._engine)


def simulated(settings: Settings) -> Outcome:
    """Table 2 of the extended paper: 30 users, 50 objects, a share p of users unreliable."""
    rows: list[dict[str, Any]] = []
    for share, printed in PAPER_SIMULATED.items():
        simulation = SimulatedClaims(unreliable=share)
        limits = Range(simulation.low, simulation.high)
        scores: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
        theorem: list[tuple[float, float]] = []
        for seed in settings.each_seed():
            rng = seeded(seed)
            claims = simulation.claims(rng=rng)
            methods = Methods(claims, settings, limits, tested=PrisCrowd())
            for name in METHODS:
                release, weights = methods.release(name, rng), methods.weights.get(name)
                errors = _simulated_errors(release, weights, simulation)
                scores[name].append((ise(errors), sise(errors), sise_as_printed(errors)))
                if name == "PrisCrowd" and weights is not None:
                    theorem.append(_theorem1(claims, release, weights))
        for name, (paper_ise, paper_sise) in zip(METHODS, printed, strict=True):
            array = np.array(scores[name])
            row = {
                "unreliable": share,
                "method": name,
                "ise": float(array[:, 0].mean()),
                "ise_sd": float(array[:, 0].std(ddof=1)) if len(array) > 1 else 0.0,
                "sise": float(array[:, 1].mean()),
                "sise_as_printed": float(array[:, 2].mean()),
                "paper_ise": paper_ise,
                "paper_sise": paper_sise,
            }
            if name == "PrisCrowd":
                measured, bound = np.array(theorem).mean(axis=0)
                row |= {"error_to_own_density": float(measured), "theorem1_bound": float(bound)}
            rows.append(row)
        settings.engine.progress(f"simulated, p = {share}", 1.0)
    return Outcome(
        {"experiment": "priscrowd-simulated", "seeds": settings.seeds, "rows": rows},
        ["p, method", "ISE", "paper", "SISE", "paper"],
        [
            [f"{r['unreliable']} {r['method']}"]
            + [f"{r[key]:.3f}" for key in ("ise", "paper_ise", "sise", "paper_sise")]
            for r in rows
        ],
        _simulated_picture(rows),
    )


def _simulated_errors(release: Release, weights: Weights | None, simulation: SimulatedClaims) -> Floats:
    errors = np.empty(len(release.objects))
    for i in range(len(release.objects)):
        x = release.of(i)
        h = silverman(x, 1e-9) if weights is None else float(weights.bandwidth[i])
        errors[i] = error_to_normal(x, h, simulation.centre, simulation.spread)
    return errors


def _theorem1(claims: Claims, release: Release, weights: Weights) -> tuple[float, float]:
    """Sums over objects of the ISE of the released density to its source density, and of the bound."""
    measured = bound = 0.0
    for i in np.flatnonzero(release.statuses == Status.released).tolist():
        x, y = claims.of(i), release.of(i)
        c = weights.combined[claims.offsets[i] : claims.offsets[i + 1]]
        h = float(weights.bandwidth[i])
        measured += integrated_squared_error(x, c, h, y, None, h)
        bound += theorem1_bound(x, c, h, y.size)
    return measured, bound


def _simulated_picture(rows: list[dict[str, Any]]) -> Any:
    picture, axes = plots.figure(8.5, 3.4, 1, 2)
    shares = sorted({row["unreliable"] for row in rows})
    groups = [f"{share}" for share in shares]
    for panel, key in zip(axes, ("ise", "sise"), strict=True):
        series = {name: [row[key] for row in rows if row["method"] == name] for name in METHODS}
        plots.draw_bars(panel, groups, series, key.upper())
        printed = [row[f"paper_{key}"] for row in rows if row["method"] == "PrisCrowd"]
        plots.draw_marks(
            panel, np.arange(len(shares), dtype=np.float64) - 0.32, np.array(printed), "PrisCrowd, paper"
        )
        panel.set_xlabel("share of unreliable users")
    return picture
