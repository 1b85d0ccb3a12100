"""PrisCrowd on real claims: Table 1 and Figures 3 to 5 of the paper, with the paper's figures.

The paper states neither the bandwidth nor the "true density" of its real datasets. Here the reference density
of an object with a known truth is normal around that truth; its width is 1.4826 times the median distance of
the object's claims from the truth, at least the dataset's unit. Densities of released claims have the
method's bandwidth, at least that unit. Errors are measured in units of the reference's width, so that objects
of all scales have equal weight. Orderings and ratios can be compared with the paper, absolute values cannot.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import Floats
from crowdveil.claims import Claims
from crowdveil.evaluation.release_measures import error_to_normal, ise, silverman, sise
from crowdveil.experiments.datasets import DATASETS, Dataset, data_folder
from crowdveil.experiments.priscrowd import METHODS, Methods
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.randomness import seeded
from crowdveil.releases import deniability
from crowdveil.releases.density import curve
from crowdveil.releases.priscrowd import PrisCrowd
from crowdveil.releases.result import Release
from crowdveil.releases.weights import Weights
from crowdveil.report import plots
from crowdveil.report.plots import Axes
from crowdveil.report.release_pages import OUTLIER_SHARE, case_curves

# Table 1 of the paper, (ISE, SISE) in the order of METHODS.
PAPER_REAL = {
    "Population": ((0.479, 6.209), (0.628, 8.502), (0.866, 10.149), (1.119, 11.768), (1.183, 12.013)),
    "Stock": ((1.699, 11.430), (17.628, 47.217), (2.125, 15.412), (9.867, 35.391), (12.799, 40.420)),
    "Indoor": ((1.051, 8.405), (1.220, 11.112), (1.882, 14.723), (1.937, 15.046), (1.943, 15.111)),
}


def _on_dataset(dataset: Dataset, claims: Claims, settings: Settings) -> Methods:
    """The methods with the dataset's range, and its unit as the smallest bandwidth."""
    tested = PrisCrowd(range=dataset.range, resolution=dataset.unit)
    return Methods(claims, settings, dataset.range, tested=tested)


def _references(dataset: Dataset, claims: Claims, truths: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Objects that can be scored (known truth, at least k claims, not all equal), and reference widths."""
    k = PrisCrowd().test.k
    scored, widths = [], []
    for i in np.flatnonzero(~np.isnan(truths)).tolist():
        x = claims.of(i)
        if x.size < k or x[0] == x[-1]:
            continue
        scored.append(i)
        deviation = 1.4826 * float(np.median(np.abs(x - truths[i])))
        widths.append(max(deviation, dataset.smallest(truths[i])))
    return np.array(scored, dtype=np.int64), np.array(widths)


def _reference_error(x: Floats, h: float, truth: float, width: float, unit: float) -> float:
    """The ISE against the reference density, in units of its width."""
    return error_to_normal((x - truth) / width, max(h, unit) / width, 0.0, 1.0)


def _centre_error(dataset: Dataset, x: Floats, truth: float) -> float:
    centre = float(np.median(x))
    if dataset.logarithmic:
        return float(abs(np.log10(max(centre, 1.0)) - np.log10(max(truth, 1.0))))
    return abs(centre - truth)


def real(settings: Settings) -> Outcome:
    """Table 1: real claims with known truths; stand-ins where the paper's data cannot be had."""
    folder = data_folder(settings.data)
    rows: list[dict[str, Any]] = []
    for dataset in DATASETS:
        claims, truths = dataset.load(folder)
        scored, widths = _references(dataset, claims, truths)
        methods = _on_dataset(dataset, claims, settings)
        scores: dict[str, list[tuple[float, float, float, int]]] = {name: [] for name in METHODS}
        for seed in settings.each_seed():
            for name in METHODS:
                release, weights = methods.release(name, seeded(seed)), methods.weights.get(name)
                scores[name].append(_real_scores(dataset, release, weights, truths, scored, widths))
        for name, (paper_ise, paper_sise) in zip(METHODS, PAPER_REAL[dataset.stands_for], strict=True):
            means = np.array(scores[name]).mean(axis=0)
            rows.append(
                {
                    "dataset": dataset.name,
                    "stands_for": dataset.stands_for,
                    "method": name,
                    "objects_scored": int(scored.size),
                    "objects_released": float(means[3]),
                    "centre_error": float(means[2]),
                    "centre_error_unit": "log10" if dataset.logarithmic else "as claimed",
                    "centre_error_before_sampling": _weighted_centre_error(
                        dataset, claims, methods.weights.get(name), truths, scored
                    ),
                    "ise": float(means[0]),
                    "sise": float(means[1]),
                    "paper_ise": paper_ise,
                    "paper_sise": paper_sise,
                }
            )
        settings.engine.progress(f"real, {dataset.name}", 1.0)
    return Outcome(
        {"experiment": "priscrowd-real", "seeds": settings.seeds, "rows": rows},
        ["dataset, method", "objects", "centre error", "before sampling", "ISE", "SISE", "paper ISE"],
        [
            [f"{r['dataset']} {r['method']}", f"{r['objects_released']:.0f}/{r['objects_scored']}"]
            + [
                "-" if r[key] is None else f"{r[key]:.4g}"
                for key in ("centre_error", "centre_error_before_sampling", "ise", "sise", "paper_ise")
            ]
            for r in rows
        ],
        _real_picture(rows),
        "Centre errors are means over the objects that a method released, in the unit of the claims "
        "(population: log10); before sampling: of the weighted median of the raw claims. ISE and SISE "
        "count an unreleased object as an empty density.",
    )


def _weighted_centre_error(
    dataset: Dataset, claims: Claims, weights: Weights | None, truths: Floats, scored: NDArray[np.int64]
) -> float | None:
    """The mean error of the weighted medians of raw claims, which shows the effect of weights alone."""
    if weights is None:
        return None
    errors = []
    for i in scored.tolist():
        x = claims.of(i)
        cumulative = np.cumsum(weights.combined[claims.offsets[i] : claims.offsets[i + 1]])
        middle = x[np.searchsorted(cumulative, 0.5 * cumulative[-1])]
        errors.append(_centre_error(dataset, np.array([middle]), truths[i]))
    return float(np.mean(errors))


def _real_scores(
    dataset: Dataset,
    release: Release,
    weights: Weights | None,
    truths: Floats,
    scored: NDArray[np.int64],
    widths: Floats,
) -> tuple[float, float, float, int]:
    errors, centres = [], []
    for i, width in zip(scored, widths, strict=True):
        x = release.of(i)
        unit = dataset.smallest(truths[i])
        h = silverman(x, unit) if weights is None else float(weights.bandwidth[i])
        errors.append(_reference_error(x, h, truths[i], width, unit))
        if x.size:
            centres.append(_centre_error(dataset, x, truths[i]))
    array = np.array(errors)
    return ise(array), sise(array), float(np.mean(centres)), len(centres)


def _real_picture(rows: list[dict[str, Any]]) -> Any:
    picture, axes = plots.figure(10, 3.2, 1, len(DATASETS))
    for panel, dataset in zip(axes, DATASETS, strict=True):
        own = [row for row in rows if row["dataset"] == dataset.name]
        series = {row["method"]: [row["ise"]] for row in own}
        plots.draw_bars(panel, [dataset.name], series, "ISE")
        panel.set_title(dataset.title, fontsize=9)
    return picture


def cases(settings: Settings) -> Outcome:
    """Figure 3: claims with outliers marked, and the true, uniform, global-only and combined densities."""
    folder = data_folder(settings.data)
    picture, axes = plots.figure(9, 9, len(DATASETS), 2)
    rows: list[dict[str, Any]] = []
    for line, dataset in enumerate(DATASETS):
        claims, truths = dataset.load(folder)
        weights = _on_dataset(dataset, claims, settings).weights["PrisCrowd"]
        scored, widths = _references(dataset, claims, truths)
        outlying = weights.combined * np.repeat(claims.counts(), claims.counts()) < OUTLIER_SHARE
        outliers = np.add.reduceat(outlying.astype(np.int64), claims.offsets[:-1])
        sizes = np.where(outliers > 0, claims.counts(), 0)[scored]
        largest = np.argsort(-sizes, kind="stable")[:2]
        for column, index in enumerate(largest):
            row = _case(axes[2 * line + column], claims, weights, truths, int(scored[index]), widths[index])
            axes[2 * line + column].set_title(f"{dataset.title}, case {column + 1}", fontsize=9)
            rows.append({"dataset": dataset.name, "case": column + 1, **row})
    return Outcome(
        {"experiment": "priscrowd-cases", "rows": rows},
        ["case", "claims", "outliers", "uniform", "global only", "combined"],
        [
            [f"{r['dataset']} {r['case']}", str(r["claims"]), str(r["outliers"])]
            + [f"{r['ise'][name]:.3f}" for name in ("uniform", "global only", "combined")]
            for r in rows
        ],
        picture,
        "ISE of each density against the reference around the known truth, in units of its width.",
    )


def _case(
    axes: Axes, claims: Claims, weights: Weights, truths: Floats, index: int, width: float
) -> dict[str, Any]:
    a, b = claims.offsets[index], claims.offsets[index + 1]
    x, c = claims.of(index), weights.combined[a:b]
    h = max(float(weights.bandwidth[index]), 0.25 * width)
    points, curves = case_curves(x, weights.user[claims.user_codes[a:b]], c, h)
    around_truth = truths[index] + width * np.linspace(-8, 8, 400)
    points, curves = _also_at(points, around_truth, x, weights.user[claims.user_codes[a:b]], c, h)
    true = curve(points, np.array([truths[index]]), None, width)
    errors = {
        name: float(np.trapezoid((heights - true) ** 2, points) * width) for name, heights in curves.items()
    }
    outliers = c * x.size < OUTLIER_SHARE
    plots.draw_density(axes, points, {"true": true, **curves}, x, outliers)
    return {"claims": int(x.size), "outliers": int(outliers.sum()), "ise": errors}


def _also_at(
    points: Floats, more: Floats, x: Floats, g: Floats, c: Floats, h: float
) -> tuple[Floats, dict[str, Floats]]:
    """`points` and `more` merged, and the case's curves at them."""
    merged = np.unique(np.concatenate([points, more]))
    return merged, case_curves(x, g, c, h, points=merged)[1]


def count(settings: Settings) -> Outcome:
    """Figure 4: error against the number of released claims for each object, 1 to 30."""
    folder = data_folder(settings.data)
    counts = list(range(1, 31))
    rows: list[dict[str, Any]] = []
    for dataset in DATASETS:
        claims, truths = dataset.load(folder)
        scored, widths = _references(dataset, claims, truths)
        methods = _on_dataset(dataset, claims, settings)
        weights = methods.weights["PrisCrowd"]
        totals = np.zeros((len(counts), 2))
        for seed in settings.each_seed():
            rng = seeded(seed)
            release = methods.release("PrisCrowd", rng)
            # Released claims ascend, so subsets are taken in a random order.
            order = rng.stream("order", purpose="count").uniforms(len(release))
            errors = np.empty((len(counts), scored.size))
            for place, (i, width) in enumerate(zip(scored, widths, strict=True)):
                part = slice(release.offsets[i], release.offsets[i + 1])
                x = release.values[part][np.argsort(order[part])]
                unit = dataset.smallest(truths[i])
                h = float(weights.bandwidth[i])
                for line, m in enumerate(counts):
                    errors[line, place] = _reference_error(x[:m], h, truths[i], width, unit)
            totals += np.array([(ise(line), sise(line)) for line in errors])
        totals /= settings.seeds
        rows += [
            {"dataset": dataset.name, "released": m, "ise": float(a), "sise": float(b)}
            for m, (a, b) in zip(counts, totals, strict=True)
        ]
        settings.engine.progress(f"count, {dataset.name}", 1.0)
    shown = [row for row in rows if row["released"] in (1, 2, 5, 10, 20, 30)]
    return Outcome(
        {"experiment": "priscrowd-count", "seeds": settings.seeds, "rows": rows},
        ["dataset, released claims", "ISE", "SISE"],
        [[f"{r['dataset']} {r['released']}", f"{r['ise']:.3f}", f"{r['sise']:.3f}"] for r in shown],
        _line_picture(rows, ("ise", "sise"), ("ISE", "SISE")),
    )


def cost(settings: Settings) -> Outcome:
    """Figure 5: time to generate released claims, with and without the privacy test."""
    folder = data_folder(settings.data)
    rows: list[dict[str, Any]] = []
    for dataset in DATASETS:
        claims, _ = dataset.load(folder)
        weights = _on_dataset(dataset, claims, settings).weights["PrisCrowd"]
        for m in (1, 5, 10, 15, 20, 25, 30):
            row: dict[str, Any] = {"dataset": dataset.name, "released": m}
            for key, tested in (("with_test", True), ("without_test", False)):
                times = [_time(claims, weights, m, tested, seed, settings) for seed in range(7)]
                row[key] = 1000 * float(np.median(times))
            rows.append(row)
    return Outcome(
        {"experiment": "priscrowd-time", "unit": "milliseconds, median of 7", "rows": rows},
        ["dataset, released claims", "with test, ms", "without, ms"],
        [
            [f"{r['dataset']} {r['released']}", f"{r['with_test']:.2f}", f"{r['without_test']:.2f}"]
            for r in rows
        ],
        _line_picture(rows, ("with_test", "without_test"), ("with test, ms", "without test, ms")),
    )


def _time(claims: Claims, weights: Weights, m: int, tested: bool, seed: int, settings: Settings) -> float:
    rng = seeded(seed)
    begin = time.perf_counter()
    deniability.draw(
        claims,
        weights,
        PrisCrowd().test,
        m,
        purpose="time",
        rng=rng,
        engine=settings.engine,
        tested=tested,
    )
    return time.perf_counter() - begin


def _line_picture(rows: list[dict[str, Any]], keys: tuple[str, str], labels: tuple[str, str]) -> Any:
    picture, axes = plots.figure(10, 5, 2, len(DATASETS))
    for line, (key, label) in enumerate(zip(keys, labels, strict=True)):
        for column, dataset in enumerate(DATASETS):
            own = [row for row in rows if row["dataset"] == dataset.name]
            panel = axes[line * len(DATASETS) + column]
            plots.draw_line(panel, [row["released"] for row in own], [row[key] for row in own], label)
            panel.set_xlabel("released claims for each object")
            panel.set_title(dataset.title, fontsize=9)
            panel.set_ylim(bottom=0)
    return picture
