"""The application of the sensing paper and its cost: figures 6 to 8.

Reference: Li et al., *Towards Differentially Private Truth Discovery for Crowd Sensing Systems*, 2018.

The paper's claims (247 phones, 129 hallway segments) are not available. `FLOORPLAN` has their size and is
**simulated**; two public datasets have real claims. The variance of the noise is c times the variance of
claims within objects, measured on raw claims: this is fine for an experiment, but a campaign must choose its
noise in advance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.experiments.datasets import DATASETS, Dataset, data_folder
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sensing import NOISES
from crowdveil.experiments.sensing_trials import (
    AWARE,
    METHODS,
    Score,
    averaged,
    by_setting,
    compare,
    drawn_variances,
    lines_over,
    mechanism,
    rate_of,
)
from crowdveil.local import perturb
from crowdveil.public_range import Range
from crowdveil.randomness import seeded
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.simulation.sensing import SimulatedSensing
from crowdveil.truth import crh
from crowdveil.truth.sweeps import TOLERANCE

FLOORPLAN = SimulatedSensing(users=247, objects=129, low=3.0, high=40.0)  # metres, mean deviation about 1
FLOORPLAN_TITLE = "floorplan (simulated)"
REAL = ("n_emotion", "flight_20111208")
RATIOS = (0.0, 1.0, 4.0)
SHOWN = (*METHODS, AWARE)
ITERATED = ("gtm", "crh", "catd", "inverse-deviation")
SHOWN_USERS = 7
REPEATS = 5


@dataclass(frozen=True)
class Source:
    """Claims with known truths: the same for every seed, or simulated from the seed."""

    name: str
    simulated: bool
    range: Range
    load: Callable[[int], tuple[Claims, Floats]]


def floorplan() -> Source:
    """The simulated floorplan."""

    def load(seed: int) -> tuple[Claims, Floats]:
        rng = seeded(seed)
        return FLOORPLAN.claims(rng=rng), FLOORPLAN.truth_values(rng=rng)

    return Source(FLOORPLAN_TITLE, True, FLOORPLAN.range, load)


def _real_sources(folder: Path) -> list[Source]:
    def source(dataset: Dataset) -> Source:
        loaded = dataset.load(folder)
        return Source(dataset.name, False, dataset.range, lambda _: loaded)

    by_name = {dataset.name: dataset for dataset in DATASETS}
    return [source(by_name[name]) for name in REAL]


# --- Figure 6 -----------------------------------------------------------------------------------------------


def real(settings: Settings) -> Outcome:
    """Figure 6: error to the truth on real claims and on a simulated floorplan, without noise and with."""
    rows: list[dict[str, Any]] = []
    for source in (*_real_sources(data_folder(settings.data)), floorplan()):
        rows += scores_of(source, settings)
        settings.engine.progress(f"real, {source.name}", 1.0)
    for row in rows:
        row["case"] = f"{row['dataset']}, c = {row['noise_ratio']:g}"
    error, change = by_setting(rows, "case", "error"), by_setting(rows, "case", "mae_change")
    return Outcome(
        {"experiment": "sensing-real", "seeds": settings.seeds, "rows": rows},
        ["dataset, noise", *SHOWN, "change: gtm", "crh", "mean"],
        [
            [case, *[f"{errors[name]:.4g}" for name in SHOWN]]
            + [f"{change[case][name]:.4g}" for name in ("gtm", "crh", "mean")]
            for case, errors in error.items()
        ],
        _real_picture(rows),
        "Error to the known truths, in the unit of the claims; change: between the aggregates before and "
        "after noise, over all objects. c: the mean variance of the noise over that of claims within "
        f"objects. {FLOORPLAN_TITLE}: the paper's {FLOORPLAN.users} users and {FLOORPLAN.objects} segments, "
        "but not its claims, which are not public.",
    )


def scores_of(source: Source, settings: Settings) -> list[dict[str, Any]]:
    """Rows of mean scores for each noise ratio; real claims without noise need only one seed."""
    rows = []
    for ratio in RATIOS:
        trials: list[dict[str, Score]] = []
        clamped = 0
        for seed in settings.each_seed():
            claims, truths = source.load(seed)
            noisy, law = claims, None
            if ratio:
                device = mechanism(1.0 / (ratio * variance_within(claims)), source.range)
                reports = perturb(claims, device, rng=seeded(seed))
                noisy, law, clamped = reports.claims, reports.law, reports.clamped
            trials.append(compare(claims, noisy, truths, METHODS, settings.engine, law))
            if not (ratio or source.simulated):
                break
        setting = {"dataset": source.name, "simulated": source.simulated, "noise_ratio": ratio}
        rows += [row | {"clamped": clamped} for row in averaged(trials, **setting)]
    return rows


def variance_within(claims: Claims) -> float:
    """The variance of claims around their objects' means, pooled over objects."""
    counts = claims.counts()
    means = np.add.reduceat(claims.values, claims.offsets[:-1]) / counts
    residuals = claims.values - np.repeat(means, counts)
    return float(residuals @ residuals) / (len(claims) - len(claims.objects))


def _real_picture(rows: Sequence[dict[str, Any]]) -> Figure:
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    picture, axes = plots.figure(11, 3.4, 1, len(names))
    for panel, name in zip(axes, names, strict=True):
        own = [row for row in rows if row["dataset"] == name]
        series = {method: [row["error"] for row in own if row["method"] == method] for method in SHOWN}
        plots.draw_bars(panel, [f"c = {ratio:g}" for ratio in RATIOS], series, "error to the truth")
        panel.set_xlabel(name)
    return picture


# --- Figure 7 -----------------------------------------------------------------------------------------------


def weights(settings: Settings) -> Outcome:
    """Figure 7: users' weights by CRH on original and noisy claims beside true ones (simulated floorplan)."""
    agreement = []
    shown: dict[str, Floats] = {}
    for seed in settings.each_seed():
        of_seed = _weights_under(seed, settings)
        shown = shown or of_seed
        before, noise = of_seed["error_variance"], of_seed["noise_variance"]
        agreement.append(
            {
                "original, true weights": _rank_correlation(of_seed["original"], of_seed["original_true"]),
                "noisy, true weights": _rank_correlation(of_seed["noisy"], of_seed["noisy_true"]),
                "original, precisions": _rank_correlation(of_seed["original"], 1.0 / before),
                "noisy, precisions": _rank_correlation(of_seed["noisy"], 1.0 / (before + noise)),
                "noisy, precisions before noise": _rank_correlation(of_seed["noisy"], 1.0 / before),
            }
        )
    keys = seeded(settings.first_seed).stream("shown", purpose="sensing").uniforms(FLOORPLAN.users)
    chosen = np.sort(np.argsort(keys)[:SHOWN_USERS])
    names = FLOORPLAN.names()[1]
    rows = [
        {"user": names[s], **{key: float(values[s]) for key, values in shown.items()}}
        for s in chosen.tolist()
    ]
    means = {key: float(np.mean([correlations[key] for correlations in agreement])) for key in agreement[0]}
    return Outcome(
        {
            "experiment": "sensing-weights",
            "seeds": settings.seeds,
            "dataset": FLOORPLAN_TITLE,
            "rank_correlation": means,
            "rows": rows,
        },
        ["user (simulated)", "error variance", "noise variance", "original", "true", "noisy", "true"],
        [[row["user"], *[f"{value:.3f}" for key, value in row.items() if key != "user"]] for row in rows],
        _weights_picture(rows),
        f"Weights over their mean, {SHOWN_USERS} users of {FLOORPLAN_TITLE} at random; true weights take "
        "residuals to the known truths. Rank correlations of estimated weights over all users: "
        + "; ".join(f"{name} {value:.3f}" for name, value in means.items())
        + ".",
    )


def _weights_under(seed: int, settings: Settings) -> dict[str, Floats]:
    """The variances and weights of all users, if noise and errors have equal mean variances."""
    rng = seeded(seed)
    claims, truths = FLOORPLAN.claims(rng=rng), FLOORPLAN.truth_values(rng=rng)
    device = mechanism(FLOORPLAN.lambda1, FLOORPLAN.range)
    noisy = perturb(claims, device, rng=rng).claims
    by_name = {
        "error_variance": FLOORPLAN.variances(rng=rng),
        "noise_variance": drawn_variances(device, FLOORPLAN.names()[1], rng),
    }
    for name, observed in (("original", claims), ("noisy", noisy)):
        estimated = crh.discover(observed, engine=settings.engine).weights
        true = true_weights(observed, truths)
        by_name |= {name: estimated / estimated.mean(), f"{name}_true": true / true.mean()}
    return by_name


def true_weights(claims: Claims, truths: Floats) -> Floats:
    """The weights of CRH with known truths."""
    counts = claims.counts()
    spread = np.array([claims.of(i).std() for i in range(len(claims.objects))])
    losses = (claims.values - np.repeat(truths, counts)) ** 2 / np.repeat(spread, counts)
    user_losses = np.bincount(claims.user_codes, losses, len(claims.users)) / claims.claims_per_user()
    return crh.by_share(user_losses)


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's rank correlation of numbers without ties."""
    ranks = np.argsort(np.argsort([first, second], axis=1), axis=1)
    differences = ranks[0] - ranks[1]
    return 1.0 - 6.0 * float(differences @ differences) / (first.size * (first.size**2 - 1.0))


def _weights_picture(rows: Sequence[dict[str, Any]]) -> Figure:
    picture, axes = plots.figure(8.5, 3.4, 1, 2)
    places = list(range(1, len(rows) + 1))
    for panel, key in zip(axes, ("original", "noisy"), strict=True):
        lines = {
            "estimated": (places, [row[key] for row in rows]),
            "true": (places, [row[f"{key}_true"] for row in rows]),
        }
        plots.draw_lines(panel, lines, "weight over the mean weight", dashed="true")
        panel.set_xlabel(f"user, {key} claims (simulated)")
        panel.set_ylim(
            0, 1.1 * max(max(row[k], row[f"{k}_true"]) for row in rows for k in ("original", "noisy"))
        )
    return picture


# --- Figure 8 -----------------------------------------------------------------------------------------------


def cost(settings: Settings) -> Outcome:
    """Figure 8: sweeps and CPU time of truth discovery as the noise grows (simulated floorplan)."""
    runs: dict[tuple[float, str], list[tuple[int, float]]] = {}
    for seed in settings.each_seed():
        # All noises within one seed, so that a slower machine affects all of them.
        for noise in (0.0, *NOISES):
            claims = _floorplan_claims(seed, noise)
            for name in ITERATED:
                runs.setdefault((noise, name), []).append(_timed(name, claims, settings))
        settings.engine.progress(f"seed {seed}", 1.0)
    rows = [_summary(noise, name, repeats) for (noise, name), repeats in runs.items()]
    sweeps, most, spent = (by_setting(rows, "noise", key) for key in ("sweeps", "most_sweeps", "cpu_ms"))
    size = FLOORPLAN.users * FLOORPLAN.objects
    return Outcome(
        {
            "experiment": "sensing-time",
            "seeds": settings.seeds,
            "dataset": FLOORPLAN_TITLE,
            "claims": size,
            "tolerance": TOLERANCE,
            "rows": rows,
        },
        ["average noise", *[f"{name}: sweeps (most)" for name in ITERATED], *[f"{n}, ms" for n in ITERATED]],
        [
            [f"{noise:g}"]
            + [f"{sweeps[noise][name]:.1f} ({most[noise][name]})" for name in ITERATED]
            + [f"{spent[noise][name]:.2f}" for name in ITERATED]
            for noise in sweeps
        ],
        _cost_picture(rows),
        f"{FLOORPLAN_TITLE}: {size:,} claims. Sweeps until truths move by less than {TOLERANCE:g} of an "
        f"object's spread on average; CPU time over all threads: the least of {REPEATS} runs, median "
        "over seeds.",
    )


def _timed(name: str, claims: Claims, settings: Settings) -> tuple[int, float]:
    """The number of sweeps of a method, and its CPU seconds: the minimum over a few runs."""
    sweeps = METHODS[name](claims, engine=settings.engine).sweeps  # also warms up the loops
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        METHODS[name](claims, engine=settings.engine)
        times.append(time.process_time() - begin)
    return sweeps, min(times)


def _summary(noise: float, name: str, runs: Sequence[tuple[int, float]]) -> dict[str, Any]:
    sweeps, seconds = zip(*runs, strict=True)
    return {
        "noise": noise,
        "method": name,
        "sweeps": float(np.mean(sweeps)),
        "most_sweeps": max(sweeps),
        "cpu_ms": 1000 * float(np.median(seconds)),
    }


def _floorplan_claims(seed: int, noise: float) -> Claims:
    rng = seeded(seed)
    claims = FLOORPLAN.claims(rng=rng)
    return perturb(claims, mechanism(rate_of(noise), FLOORPLAN.range), rng=rng).claims if noise else claims


def _cost_picture(rows: Sequence[dict[str, Any]]) -> Figure:
    picture, axes = plots.figure(8.5, 3.4, 1, 2)
    for panel, key, label in zip(axes, ("sweeps", "cpu_ms"), ("sweeps", "CPU time, ms"), strict=True):
        plots.draw_lines(panel, lines_over(rows, "noise", key), label)
        panel.set_xlabel("average noise")
        panel.set_ylim(bottom=0)
    return picture
