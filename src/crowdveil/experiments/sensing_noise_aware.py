"""The benefit of knowing the noise law: truths from noisy claims, on tuning data and on other data.

The mean of the truths is added as a constant estimate; a method with a larger error is useless.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.experiments.datasets import Dataset, data_folder
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sensing_real import variance_within
from crowdveil.local import ClaimMechanism, Laplace, VariancePerUser, perturb
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.report import plots
from crowdveil.simulation.sensing import SimulatedSensing
from crowdveil.truth import gtm, mean, median, noise_aware

EPSILONS = (1.0, 2.0, 4.0, 10.0)
RATIOS = (1.0, 4.0)  # of one variance per user to the variance within objects
METHODS = ("noise-aware", "gtm", "mean", "median", "constant")


@dataclass(frozen=True)
class Source:
    """Claims with truths, and whether they were used when the method was developed."""

    dataset: Dataset | SimulatedSensing
    seen: bool

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.dataset.name if isinstance(self.dataset, Dataset) else "simulated"


SOURCES = (
    Source(SimulatedSensing(), seen=True),
    Source(Dataset("n_emotion", "Emotion scores", "", Range(-100.0, 100.0), unit=5.0), seen=True),
    Source(Dataset("flight_20111208", "Flight times", "", Range(0.0, 1440.0), unit=5.0), seen=True),
    Source(Dataset("web_relevance", "Relevance, 0 to 4", "", Range(0.0, 4.0), unit=1.0), seen=False),
    Source(Dataset("adult_content", "Ratings, 0 to 3", "", Range(0.0, 3.0), unit=1.0), seen=False),
    Source(Dataset("web_wsd", "Word senses, 0 to 2", "", Range(0.0, 2.0), unit=1.0), seen=False),
)


def gained(settings: Settings) -> Outcome:
    """Knowing the noise: error to the truth from noisy claims, beside methods that do not know it."""
    rows: list[dict[str, Any]] = []
    for source in SOURCES:
        if isinstance(source.dataset, Dataset):
            loaded = source.dataset.load(data_folder(settings.data))
        for noise, level in [("laplace", e) for e in EPSILONS] + [("per-user", c) for c in RATIOS]:
            trials = []
            for seed in settings.each_seed():
                if isinstance(source.dataset, SimulatedSensing):
                    rng = seeded(seed)
                    loaded = source.dataset.claims(rng=rng), source.dataset.truth_values(rng=rng)
                trials.append(_errors(*loaded, source.dataset.range, noise, level, seed, settings.engine))
            means = {name: float(np.mean([trial[name] for trial in trials])) for name in trials[0]}
            rows.append({"dataset": source.name, "seen": source.seen, "noise": noise, "level": level} | means)
        settings.engine.progress(f"noise-aware, {source.name}", 1.0)
    return Outcome(
        {"experiment": "sensing-noise-aware", "seeds": settings.seeds, "rows": rows},
        ["dataset, noise", *METHODS, "covered"],
        [[_case(row), *[f"{row[name]:.4g}" for name in METHODS], f"{row['covered']:.3f}"] for row in rows],
        _picture(rows),
        "Error to the known truths, all estimates kept in the public range. Noise: Laplace at an epsilon for "
        "each claim, or one Gaussian variance per user, c times the variance within objects. *: ratings, on "
        "which a first version with a normal law of truths lost; the Beta law was chosen after it. covered: "
        "how many 90 % intervals hold the truth (real claims share errors, which no interval knows of).",
    )


def _case(row: dict[str, Any]) -> str:
    symbol = "epsilon" if row["noise"] == "laplace" else "per user, c"
    return f"{row['dataset']}{'' if row['seen'] else '*'}, {symbol} {row['level']:g}"


def _mechanism(claims: Claims, limits: Range, noise: str, level: float) -> ClaimMechanism:
    if noise == "laplace":
        return Laplace(level, limits)
    return VariancePerUser(1.0 / (level * variance_within(claims)), limits)


def _errors(
    claims: Claims,
    truths: Floats,
    limits: Range,
    noise: str,
    level: float,
    seed: int,
    engine: Engine,
) -> dict[str, float]:
    """The error of each method, and the coverage of the intervals."""
    device = _mechanism(claims, limits, noise, level)
    noisy = perturb(claims, device, rng=seeded(seed)).claims
    aware = noise_aware.discover(noisy, device.law, engine=engine)
    estimates = {"noise-aware": aware.estimates} | {
        name: method.discover(noisy, engine=engine).estimates
        for name, method in (("gtm", gtm), ("mean", mean), ("median", median))
    }
    estimates["constant"] = np.full(truths.size, np.nanmean(truths))
    low, high = aware.intervals(0.9)
    judged = ~np.isnan(truths)
    inside = (low <= truths) & (truths <= high)
    errors = {
        name: float(np.nanmean(np.abs(np.clip(estimate, limits.low, limits.high) - truths)))
        for name, estimate in estimates.items()
    }
    return errors | {"covered": float(inside[judged].mean())}


def _picture(rows: list[dict[str, Any]]) -> Any:
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    picture, axes = plots.figure(11, 6.2 if len(names) > 3 else 3.2, ceil(len(names) / 3), min(3, len(names)))
    for panel, name in zip(axes, names, strict=True):
        own = [row for row in rows if row["dataset"] == name and row["noise"] == "laplace"]
        series = {method: [row[method] for row in own] for method in METHODS}
        plots.draw_bars(panel, [f"{row['level']:g}" for row in own], series, "error to the truth")
        panel.set_xlabel(f"epsilon, {name}")
    return picture
