"""Scores of truths from original answers and from the reports of every mechanism, for sparse experiments.

The paper's score is the *MAE change*: the error of estimates from reports, less the error of the paper's
inference (inverse deviation) on original answers. It is negative if reports give better estimates than that
inference on the answers themselves. A constant can have a good score, so constants are added to all
mechanisms, as well as the correlation of estimates with truths, which is 0 for a constant.

LP, RR, 2-Layer and MF are the paper's, with its inference on raw reports. All have the same epsilon as the
paper counts it, but different guarantees: MF does not protect NULL, and 2-Layer has 2 epsilon.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crowdveil.answers import Answers
from crowdveil.arrays import Floats
from crowdveil.engines import Engine
from crowdveil.evaluation.constants import best_constant, debiased_mean, mae, middle_of
from crowdveil.experiments.result import Settings
from crowdveil.experiments.sensing_trials import lines_over
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.inverse_deviation import on_answers, on_symbols
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.reports import CellMechanism, report
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer
from crowdveil.randomness import Randomness, seeded
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.truth import randomized

LAPLACE, RESPONSE, TWO_LAYER, FACTORIZATION = "LP", "RR", "2-Layer", "MF"
PAPER = (LAPLACE, RESPONSE, TWO_LAYER, FACTORIZATION)
RECOMMENDED, THREE, SOUND = "recommended", "three symbols", "sound MF"
BEST, KNOWABLE, MIDDLE = "best constant", "constant from reports", "middle"
CONSTANTS = (BEST, KNOWABLE, MIDDLE)
METHODS = (RECOMMENDED, *PAPER, THREE, SOUND, *CONSTANTS)

DIMENSIONS = 2  # of profiles in MF; not stated for the paper's figures
RIDGE = 1.0  # without it, users with fewer answers than dimensions have no profile
LARGE = 10**6  # cells; tables with more use fewer seeds
COLUMNS = 3  # of panels
FEWER = 5  # the number of seeds is divided by this for large tables

Loaded = tuple[Answers, Floats]


@dataclass(frozen=True)
class Score:
    """The error of estimates, its change from original answers, and the correlation with truths."""

    mae: float
    mae_change: float
    correlation: float  # over objects; 0 if all estimates are equal


def mechanisms(answers: Answers, epsilon: float) -> dict[str, CellMechanism]:
    """Every mechanism at `epsilon`; levels follow from the public domain and the expected sparsity."""
    domain = answers.domain
    levels = recommended_levels(epsilon, domain, answers.sparsity)
    return {
        LAPLACE: LaplaceCells(epsilon, domain),
        RESPONSE: CellResponse(epsilon, domain),
        TWO_LAYER: TwoLayer(epsilon, domain),
        FACTORIZATION: Factorization(epsilon, domain, DIMENSIONS, ridge=RIDGE),
        SOUND: SoundFactorization(epsilon, domain, DIMENSIONS),
        THREE: CellResponse(epsilon, domain, 2),
        RECOMMENDED: CellResponse(epsilon, domain, levels),
    }


def estimates(
    answers: Answers, truths: Floats, epsilon: float, *, rng: Randomness, engine: Engine
) -> dict[str, Floats]:
    """The estimates of all objects, by method."""

    def same(constant: float) -> Floats:
        return np.full(truths.size, constant)

    by_method: dict[str, Floats] = {}
    for name, mechanism in mechanisms(answers, epsilon).items():
        reports = received(answers, mechanism, rng=rng)
        if name in (THREE, RECOMMENDED):
            by_method[name] = randomized.discover(reports, engine=engine).estimates
        elif name in (RESPONSE, TWO_LAYER):
            by_method[name] = on_symbols(reports).estimates
        else:
            by_method[name] = (reports.predictions() if name == SOUND else reports).truths().estimates
        if name == RECOMMENDED:
            by_method[KNOWABLE] = same(debiased_mean(reports))
    by_method |= {BEST: same(best_constant(truths)), MIDDLE: same(middle_of(answers.domain))}
    return {name: by_method[name] for name in METHODS}


def received(answers: Answers, mechanism: CellMechanism, *, rng: Randomness) -> Any:
    """The reports of all devices, as read by the server."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "some users have too few answers")  # MF: the ridge decides
        return report(answers, mechanism, rng=rng).read()


def scored(estimated: Floats, original: Floats, truths: Floats) -> Score:
    """The score of estimates; `original` are the estimates from original answers."""
    judged = ~np.isnan(truths)
    varies = np.ptp(estimated[judged]) > 0 and np.ptp(truths[judged]) > 0
    correlation = float(np.corrcoef(estimated[judged], truths[judged])[0, 1]) if varies else 0.0
    error = mae(estimated, truths)
    return Score(error, error - mae(original, truths), correlation)


def trials(
    loaded: Loaded, epsilons: Sequence[float], seed: int, engine: Engine
) -> dict[float, dict[str, Score]]:
    """The scores of all methods on the loaded answers, by epsilon."""
    answers, truths = loaded
    original = on_answers(answers).estimates
    scores = {}
    for epsilon in epsilons:
        by_method = estimates(answers, truths, epsilon, rng=seeded(seed), engine=engine)
        scores[epsilon] = {name: scored(estimate, original, truths) for name, estimate in by_method.items()}
    return scores


def seeds_of(settings: Settings, cells: int) -> range:
    """The seeds; fewer for large tables, whose errors vary little between seeds."""
    seeds = settings.each_seed()
    return seeds if cells <= LARGE else seeds[: max(1, len(seeds) // FEWER)]


def rows_over(
    load: Callable[[int], Loaded],
    epsilons: Sequence[float],
    settings: Settings,
    *,
    cells: int,
    **setting: Any,
) -> list[dict[str, Any]]:
    """One row for each epsilon and method: the setting, and mean scores over seeds."""
    by_seed = []
    for seed in seeds_of(settings, cells):
        by_seed.append(trials(load(seed), epsilons, seed, settings.engine))
        settings.engine.progress(", ".join(f"{key} {value}" for key, value in setting.items()), 1.0)
    return [
        {**setting, "epsilon": epsilon, "seeds": len(by_seed), "method": name}
        | averaged([scores[epsilon][name] for scores in by_seed])
        for epsilon in epsilons
        for name in METHODS
    ]


def averaged(scores: Sequence[Score]) -> dict[str, float]:
    """The mean of each score, and the standard deviation of the MAE change over seeds."""
    columns = {key: np.array([asdict(score)[key] for score in scores]) for key in asdict(scores[0])}
    changes = columns["mae_change"]
    spread = float(changes.std(ddof=1)) if changes.size > 1 else 0.0
    return {key: float(values.mean()) for key, values in columns.items()} | {"mae_change_sd": spread}


def table(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[list[str]]:
    """One line for each setting: the values of its keys, then the MAE change of every method."""
    lines: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in keys), []).append(f"{row['mae_change']:.3f}")
    return [[*(f"{value}" for value in at), *cells] for at, cells in lines.items()]


def picture(panels: Mapping[str, Sequence[dict[str, Any]]], key: str) -> Figure:
    """One panel for each name: MAE change against a key, for all methods and constants."""
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plots.figure(11.0, 0.6 + 2.9 * rows, rows, columns)
    for panel, (name, own) in zip(axes, panels.items(), strict=True):
        plots.draw_lines(panel, lines_over(own, key, "mae_change"), "MAE change", dashed=BEST)
        panel.set_xlabel(f"{key}; {name}")
        panel.axhline(0.0, color="#8888", linewidth=0.8)
    share_legend(figure)
    return figure


def share_legend(figure: Figure) -> None:
    """Replace the panels' equal legends by one above all panels."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    for panel in figure.axes:
        panel.legend().remove()
    with plots.styled():
        figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=8)
