"""Trials of all methods on the same records, over epsilons and seeds; shared by the records experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdveil.engines import Engine
from crowdveil.experiments.sensing_trials import lines_over
from crowdveil.experiments.sparse_trials import share_legend
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.synthesis.registry import METHODS
from crowdveil.synthesis.result import Synthetic

EPSILONS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
OURS, SAMPLED, INDEPENDENT = "crowdveil", "samprivsyn", "independent"
COLUMNS = 3  # of panels

Scores = dict[str, float]


@dataclass(frozen=True)
class Contestant:
    """A method with settings besides epsilon, and its name in tables."""

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def synthesize(
        self, records: Records, epsilon: float, seed: int, *, rows: int | None = None
    ) -> Synthetic:
        """Synthetic records from reports about `records`."""
        method = METHODS[self.method]
        parameters = method.parameters(epsilon, **self.settings)
        return method.synthesize(records, parameters, rows=rows, rng=seeded(seed))


PAPERS_BATCH = Contestant("samprivsyn, B = 30,000", SAMPLED, {"batch": 30_000})
"""SamPrivSyn with the paper's batches on Adult and its variants; those on Bank Marketing (2,000) are ours."""


def contestants(*, papers_batch: bool) -> tuple[Contestant, ...]:
    """All methods with default settings, and SamPrivSyn also with the paper's batches if `papers_batch`."""
    entered: list[Contestant] = []
    for name in METHODS:
        entered.append(Contestant(name, name))
        if name == SAMPLED and papers_batch:
            entered.append(PAPERS_BATCH)
    return tuple(entered)


Trial = Callable[[Contestant, float, int], Scores]


def rows_over(
    table: str,
    rivals: Sequence[Contestant],
    epsilons: Sequence[float],
    seeds: Sequence[int],
    trial: Trial,
    engine: Engine,
) -> list[dict[str, Any]]:
    """One row for each method and epsilon: means and standard deviations of scores over seeds."""
    rows: list[dict[str, Any]] = []
    for rival in rivals:
        for epsilon in epsilons:
            engine.progress(
                f"{table}, {rival.name}, epsilon {epsilon:g}", len(rows) / len(rivals) / len(epsilons)
            )
            scores = [trial(rival, epsilon, seed) for seed in seeds]
            setting = {"table": table, "method": rival.name, "epsilon": epsilon, "seeds": len(scores)}
            rows.append(setting | averaged(scores))
    engine.progress(table, 1.0)
    return rows


def averaged(scores: Sequence[Scores]) -> Scores:
    """The mean of each score over seeds, and under `..._sd` its standard deviation."""
    means: Scores = {}
    for key in scores[0]:
        values = np.array([trial[key] for trial in scores])
        means[key] = float(values.mean())
        means[f"{key}_sd"] = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return means


def picture(rows: Sequence[dict[str, Any]], measure: str, label: str) -> Figure:
    """One panel for each table: a measure against epsilon, with one line for each method."""
    tables = list(dict.fromkeys(row["table"] for row in rows))
    columns = min(COLUMNS, len(tables))
    lines = -(-len(tables) // columns)
    figure, axes = plots.figure(max(6.0, 3.8 * columns), 0.6 + 3.2 * lines, lines, columns)
    for panel, table in zip(axes, tables, strict=False):
        own = [row for row in rows if row["table"] == table]
        plots.draw_lines(panel, lines_over(own, "epsilon", measure), label, dashed=INDEPENDENT)
        panel.set_xlabel(f"epsilon; {table}")
    figure.set_layout_engine("constrained")  # leaves room for the legend
    share_legend(figure)
    return figure
