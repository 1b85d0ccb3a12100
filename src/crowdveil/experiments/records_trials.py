"""Methods side by side on the same records, at every epsilon and over seeds: what experiments share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdveil.engines import LocalEngine
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
    """A method with settings beside epsilon, and the name that it has in tables."""

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def synthesize(
        self, records: Records, epsilon: float, seed: int, *, rows: int | None = None
    ) -> Synthetic:
        """Synthetic records from reports of these."""
        chosen = METHODS[self.method]
        parameters = chosen.parameters(epsilon, **self.settings)
        return chosen.synthesize(records, parameters, rows=rows, rng=seeded(seed))


PAPERS_BATCH = Contestant("samprivsyn, B = 30,000", SAMPLED, {"batch": 30_000})
"""With the paper's batches on Adult and what is made of it; its 2,000 on Bank Marketing are what we have."""


def contestants(*, papers_batch: bool) -> tuple[Contestant, ...]:
    """All methods with their own settings; SamPrivSyn also with the paper's batches, where they differ."""
    found: list[Contestant] = []
    for name in METHODS:
        found.append(Contestant(name, name))
        if name == SAMPLED and papers_batch:
            found.append(PAPERS_BATCH)
    return tuple(found)


Trial = Callable[[Contestant, float, int], Scores]


def rows_over(
    table: str,
    rivals: Sequence[Contestant],
    epsilons: Sequence[float],
    seeds: Sequence[int],
    trial: Trial,
    engine: LocalEngine,
) -> list[dict[str, Any]]:
    """A row for each method and epsilon: mean scores over seeds, with their deviation."""
    rows: list[dict[str, Any]] = []
    for rival in rivals:
        for epsilon in epsilons:
            engine.progress(
                f"{table}, {rival.name}, epsilon {epsilon:g}", len(rows) / len(rivals) / len(epsilons)
            )
            found = [trial(rival, epsilon, seed) for seed in seeds]
            setting = {"table": table, "method": rival.name, "epsilon": epsilon, "seeds": len(found)}
            rows.append(setting | averaged(found))
    engine.progress(table, 1.0)
    return rows


def averaged(found: Sequence[Scores]) -> Scores:
    """The mean of each score over seeds, and under `..._sd` its standard deviation from seed to seed."""
    means: Scores = {}
    for key in found[0]:
        values = np.array([each[key] for each in found])
        means[key] = float(values.mean())
        means[f"{key}_sd"] = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return means


def picture(rows: Sequence[dict[str, Any]], measure: str, label: str) -> Figure:
    """A panel for each table: a measure against epsilon, a line for each method."""
    tables = list(dict.fromkeys(row["table"] for row in rows))
    columns = min(COLUMNS, len(tables))
    down = -(-len(tables) // columns)
    made, axes = plots.figure(max(6.0, 3.8 * columns), 0.6 + 3.2 * down, down, columns)
    for panel, table in zip(axes, tables, strict=False):
        mine = [row for row in rows if row["table"] == table]
        plots.draw_lines(panel, lines_over(mine, "epsilon", measure), label, dashed=INDEPENDENT)
        panel.set_xlabel(f"epsilon; {table}")
    made.set_layout_engine("constrained")  # makes room for the legend
    share_legend(made)
    return made
