"""Truths from original answers and from what every mechanism reports, scored: what sparse experiments share.

The paper's score is the *MAE change*: the error to the truth of what reports tell, less that of what its own
inference (inverse deviation) finds in the original answers. Below zero reports tell more than that inference
makes of the answers themselves. Who says the same about every object can score well: constants stand beside
all mechanisms, and so does how estimates go along with truths over objects, which a constant does not.

LP, RR, 2-Layer and MF are the paper's, with its inference on raw reports. All have the same epsilon as
the paper counts it; what that promises differs: nothing about NULL for MF, and 2 epsilon for 2-Layer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crowdveil.answers import Answers
from crowdveil.arrays import Floats
from crowdveil.engines import LocalEngine
from crowdveil.evaluation.constants import best_constant, debiased_mean, mae, middle_of
from crowdveil.experiments.result import Settings
from crowdveil.experiments.sensing_trials import lines_over
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.inverse_deviation import on_answers, on_symbols
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.reports import SparseMechanism, report
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

DIMENSIONS = 2  # of profiles in MF; the paper does not say how many it has in its figures
RIDGE = 1.0  # without one there is no profile of who answered less than that many objects
LARGE = 10**6  # cells, above which ...
COLUMNS = 3  # of panels
FEWER = 5  # ... there is one seed for so many

Loaded = tuple[Answers, Floats]


@dataclass(frozen=True)
class Score:
    """How far estimates lie from truths, how much farther than before, and if they go along with them."""

    mae: float
    mae_change: float
    correlation: float  # over objects; 0 where all estimates are one


def mechanisms(answers: Answers, epsilon: float) -> dict[str, SparseMechanism]:
    """Every mechanism at that epsilon; levels are chosen by the public domain and the expected sparsity."""
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
    answers: Answers, truths: Floats, epsilon: float, *, rng: Randomness, engine: LocalEngine
) -> dict[str, Floats]:
    """What each method says about every object."""

    def same(constant: float) -> Floats:
        return np.full(truths.size, constant)

    found: dict[str, Floats] = {}
    for name, mechanism in mechanisms(answers, epsilon).items():
        read = received(answers, mechanism, rng=rng)
        if name in (THREE, RECOMMENDED):
            found[name] = randomized.discover(read, engine=engine).estimates
        elif name in (RESPONSE, TWO_LAYER):
            found[name] = on_symbols(read).estimates
        else:
            found[name] = (read.predictions() if name == SOUND else read).truths().estimates
        if name == RECOMMENDED:
            found[KNOWABLE] = same(debiased_mean(read))
    found |= {BEST: same(best_constant(truths)), MIDDLE: same(middle_of(answers.domain))}
    return {name: found[name] for name in METHODS}


def received(answers: Answers, mechanism: SparseMechanism, *, rng: Randomness) -> Any:
    """What the server holds after all devices reported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "some users have too few answers")  # MF: the ridge decides
        return report(answers, mechanism, rng=rng).read()


def scored(found: Floats, before: Floats, truths: Floats) -> Score:
    """The score of estimates, where `before` is what original answers tell."""
    known = ~np.isnan(truths)
    varies = np.ptp(found[known]) > 0 and np.ptp(truths[known]) > 0
    along = float(np.corrcoef(found[known], truths[known])[0, 1]) if varies else 0.0
    error = mae(found, truths)
    return Score(error, error - mae(before, truths), along)


def trials(
    loaded: Loaded, epsilons: Sequence[float], seed: int, engine: LocalEngine
) -> dict[float, dict[str, Score]]:
    """The scores of all methods on some answers, at each epsilon."""
    answers, truths = loaded
    before = on_answers(answers).estimates
    found = {}
    for epsilon in epsilons:
        told = estimates(answers, truths, epsilon, rng=seeded(seed), engine=engine)
        found[epsilon] = {name: scored(estimate, before, truths) for name, estimate in told.items()}
    return found


def seeds_of(settings: Settings, cells: int) -> range:
    """The seeds; fewer of them for large tables, whose errors differ little from seed to seed."""
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
    """A row for each epsilon and method: the setting, and mean scores over seeds with their spread."""
    found = []
    for seed in seeds_of(settings, cells):
        found.append(trials(load(seed), epsilons, seed, settings.engine))
        settings.engine.progress(", ".join(f"{key} {value}" for key, value in setting.items()), 1.0)
    return [
        {**setting, "epsilon": epsilon, "seeds": len(found), "method": name}
        | averaged([each[epsilon][name] for each in found])
        for epsilon in epsilons
        for name in METHODS
    ]


def averaged(scores: Sequence[Score]) -> dict[str, float]:
    """The mean of each score, and the spread of the MAE change from seed to seed."""
    columns = {key: np.array([asdict(score)[key] for score in scores]) for key in asdict(scores[0])}
    changes = columns["mae_change"]
    spread = float(changes.std(ddof=1)) if changes.size > 1 else 0.0
    return {key: float(values.mean()) for key, values in columns.items()} | {"mae_change_sd": spread}


def table(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[list[str]]:
    """A line for each setting: the values of its keys, then the MAE change of every method."""
    lines: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in keys), []).append(f"{row['mae_change']:.3f}")
    return [[*(f"{value}" for value in at), *cells] for at, cells in lines.items()]


def picture(panels: Mapping[str, Sequence[dict[str, Any]]], key: str) -> Figure:
    """A panel of lines for each name: MAE change against a key, all methods and constants."""
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    made, axes = plots.figure(11.0, 0.6 + 2.9 * rows, rows, columns)
    for panel, (name, mine) in zip(axes, panels.items(), strict=True):
        plots.draw_lines(panel, lines_over(mine, key, "mae_change"), "MAE change", dashed=BEST)
        panel.set_xlabel(f"{key}; {name}")
        panel.axhline(0.0, color="#8888", linewidth=0.8)
    share_legend(made)
    return made


def share_legend(made: Figure) -> None:
    """One legend above all panels, for lines that are the same in each."""
    handles, labels = made.axes[0].get_legend_handles_labels()
    for panel in made.axes:
        panel.legend().remove()
    with plots.styled():
        made.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=8)
