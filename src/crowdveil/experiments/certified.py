"""Certified releases compared with non-private densities, plain noisy histograms and a constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.experiments.datasets import DATASETS, data_folder
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.releases import certified
from crowdveil.releases.certified import Certified
from crowdveil.releases.density import curve
from crowdveil.releases.method import release
from crowdveil.releases.plain import plain_densities
from crowdveil.releases.priscrowd import PrisCrowd, Uniform
from crowdveil.report import plots
from crowdveil.simulation.claims import HarderClaims

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SCENARIOS = {
    "papers, p = .1": HarderClaims(unreliable=0.1, same_centre=True),
    "papers, p = .3": HarderClaims(unreliable=0.3, same_centre=True),
    "papers, p = .5": HarderClaims(unreliable=0.5, same_centre=True),
    "harder": HarderClaims(unreliable=0.1),
    "harder, 30 % liars": HarderClaims(unreliable=0.3),
    "harder, 30 % colluding": HarderClaims(unreliable=0.3, lies="colluding"),
    "harder, 30 % low": HarderClaims(unreliable=0.3, lies="low"),
}


def _truth(components: Floats, points: Floats) -> Floats:
    """The true densities at `points`, one row per object."""
    weight, mean, spread = (components[:, :, k, None] for k in range(3))
    z = (points[None, None, :] - mean) / spread
    heights: Floats = (weight * np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * spread)).sum(axis=1)
    return heights


def _mass_error(masses: Any, components: Floats, limits: Range) -> float:
    """The summed ISE of densities that are given as masses of equal parts of the range."""
    width = limits.length / masses.shape[1]
    points = limits.low + width * (np.arange(masses.shape[1], dtype=np.float64) + 0.5)
    return float(np.sum((masses / width - _truth(components, points)) ** 2) * width)


def _kernel_error(claims: Claims, parameters: Uniform, components: Floats, settings: Settings) -> float:
    """The summed ISE of non-private kernel densities."""
    weights = parameters.estimate(claims, engine=settings.engine)
    points = np.linspace(-5.0, 15.0, 2001)
    truth = _truth(components, points)
    error = 0.0
    for i in range(len(claims.objects)):
        c = weights.combined[claims.offsets[i] : claims.offsets[i + 1]]
        error += float(np.sum((curve(points, claims.of(i), c, float(weights.bandwidth[i])) - truth[i]) ** 2))
    return error * float(points[1] - points[0])


def simulated(settings: Settings) -> Outcome:
    """Certified densities in simulations: the papers', a harder one, and liars who are not uniform."""
    limits = Range(0.0, 10.0)
    rows: list[dict[str, Any]] = []
    for name, scenario in SCENARIOS.items():
        scores: dict[str, list[float]] = {}
        for seed in settings.each_seed():
            rng = seeded(seed)
            claims, components = scenario.claims(rng=rng), scenario.components(rng=rng)
            by_method = {
                "PrisCrowd, not private": _kernel_error(claims, PrisCrowd(), components, settings),
                "Uniform, not private": _kernel_error(claims, Uniform(), components, settings),
            }
            for epsilon in EPSILONS:
                fit = certified.fit(
                    claims, Certified(epsilon, limits, unit="claim"), rng=rng, engine=settings.engine
                )
                by_method[f"certified, epsilon {epsilon:g}"] = _mass_error(fit.densities, components, limits)
                by_method[f"plain histogram, epsilon {epsilon:g}"] = _mass_error(
                    plain_densities(fit.noisy), components, limits
                )
            for method, error in by_method.items():
                scores.setdefault(method, []).append(error)
        for method, errors in scores.items():
            spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
            rows.append({"scenario": name, "method": method, "ise": float(np.mean(errors)), "ise_sd": spread})
        settings.engine.progress(f"certified, {name}", 1.0)
    columns = list(dict.fromkeys(row["method"] for row in rows))
    table = {(row["scenario"], row["method"]): row["ise"] for row in rows}
    return Outcome(
        {"experiment": "certified-simulated", "seeds": settings.seeds, "rows": rows},
        ["scenario", *[column.replace("epsilon ", "") for column in columns]],
        [[name, *[f"{table[name, column]:.2f}" for column in columns]] for name in SCENARIOS],
        _picture(table),
        "Density ISE summed over 50 objects of 30 claims each.",
    )


def _picture(table: dict[tuple[str, str], float]) -> Any:
    picture, (axes,) = plots.figure(9, 4)
    names = list(SCENARIOS)
    shown = [
        "PrisCrowd, not private",
        "certified, epsilon 1",
        "certified, epsilon 4",
        "plain histogram, epsilon 1",
    ]
    plots.draw_bars(axes, names, {m: [table[name, m] for name in names] for m in shown}, "ISE")
    axes.tick_params(axis="x", labelsize=7)
    picture.subplots_adjust(top=0.85)
    return picture


def real(settings: Settings) -> Outcome:
    """Certified releases of real claims: error of the released centre, beside paper mode and a constant."""
    folder = data_folder(settings.data)
    rows: list[dict[str, Any]] = []
    for dataset in DATASETS:
        claims, truths = dataset.load(folder)
        scored = np.flatnonzero(~np.isnan(truths))
        scale = _log10 if dataset.logarithmic else np.asarray
        values = scale(claims.values)
        limits = Range(
            float(scale(np.array([dataset.range.low]))[0]), float(scale(np.array([dataset.range.high]))[0])
        )
        scaled = Claims(claims.objects, claims.users, claims.offsets, claims.user_codes, values)
        targets = scale(truths)

        def error(centres: Floats, targets: Floats = targets, scored: Any = scored) -> float:
            return float(np.mean(np.abs(centres[scored] - targets[scored])))

        medians = np.array([np.median(scaled.of(i)) for i in range(len(scaled.objects))])
        constant = float(np.median(scaled.values))
        by_method = {
            "raw median, not private": error(medians),
            "PrisCrowd, not private": float(
                np.mean([_paper_error(scaled, targets, seed, settings) for seed in settings.each_seed()])
            ),
            "a constant": error(np.full(medians.size, constant)),
        }
        for epsilon in (1.0, 2.0, 4.0):
            scores: dict[str, list[float]] = {}
            for seed in settings.each_seed():
                for kind, background in (("certified", False), ("certified, background kept", True)):
                    fit = certified.fit(
                        scaled,
                        Certified(epsilon, limits, unit="claim", background=background),
                        rng=seeded(seed),
                        engine=settings.engine,
                    )
                    centres = np.median(fit.release.values.reshape(medians.size, -1), axis=1)
                    scores.setdefault(kind, []).append(error(centres))
                plain = _medians(plain_densities(fit.noisy), limits)
                scores.setdefault("plain histogram", []).append(error(plain))
            by_method |= {f"{kind}, epsilon {epsilon:g}": float(np.mean(e)) for kind, e in scores.items()}
        typical = float(np.median(scaled.counts()))
        rows += [
            {"dataset": dataset.name, "method": m, "centre_error": e, "claims_times_epsilon_1": typical}
            for m, e in by_method.items()
        ]
        settings.engine.progress(f"certified, {dataset.name}", 1.0)
    columns = list(dict.fromkeys(row["method"] for row in rows))
    table = {(row["dataset"], row["method"]): row["centre_error"] for row in rows}
    names = [dataset.name for dataset in DATASETS]
    return Outcome(
        {"experiment": "certified-real", "seeds": settings.seeds, "rows": rows},
        ["method", *names],
        [[column, *[f"{table[name, column]:.4g}" for name in names]] for column in columns],
        _real_picture(table, names),
        "Error of the released claims' median to known truths, over all of them (population: log10).",
    )


def _paper_error(claims: Claims, targets: Floats, seed: int, settings: Settings) -> float:
    """The error of the medians of PrisCrowd's releases, over the objects with released claims."""
    result = release(claims, PrisCrowd(), rng=seeded(seed), engine=settings.engine)
    released = [result.of(i) for i in range(len(claims.objects))]
    errors = [
        abs(float(np.median(x)) - target)
        for x, target in zip(released, targets, strict=True)
        if x.size and not np.isnan(target)
    ]
    return float(np.mean(errors))


def _real_picture(table: dict[tuple[str, str], float], names: list[str]) -> Any:
    picture, (axes,) = plots.figure(9, 4)
    shown = [f"{kind}, epsilon {e}" for kind in ("certified", "plain histogram") for e in (1, 4)]
    series = {m: [table[name, m] / table[name, "a constant"] for name in names] for m in shown}
    plots.draw_bars(axes, names, series, "error, relative to a constant's")
    picture.subplots_adjust(top=0.85)
    return picture


def _log10(values: Any) -> Any:
    return np.log10(np.maximum(values, 1.0))


def _medians(masses: Floats, limits: Range) -> Floats:
    parts = np.argmax(np.cumsum(masses, axis=1) >= 0.5, axis=1)
    centres: Floats = limits.low + limits.length * (parts + 0.5) / masses.shape[1]
    return centres
