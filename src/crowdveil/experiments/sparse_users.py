"""The cost of user-level privacy for sparse answers, where the paper protects single cells.

`local.slot_response` asks each device about a few objects. It is compared with the simple alternative, a
report about every cell with an equal part of the user's epsilon.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from crowdveil.engines import Engine
from crowdveil.evaluation.constants import mae
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sparse import SPARSITIES
from crowdveil.experiments.sparse_trials import RECOMMENDED, mechanisms, received, seeds_of, share_legend
from crowdveil.experiments.user_level_sparse import trial
from crowdveil.local.recommended_slots import recommended_slots
from crowdveil.randomness import seeded
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.simulation.sparse import SimulatedAnswers
from crowdveil.truth import randomized

USER_EPSILONS = (1.0, 4.0, 8.0)
CROWDS = (2_000, 20_000)
SCORES = {
    "mae": "asked about a few",
    "every_cell": "every cell",
    "constant": "constant from reports",
    "best_constant": "best constant",
    "middle": "middle",
    "original": "original answers",
}


def users(settings: Settings) -> Outcome:
    """One epsilon for all that a user answered: error to the truth, beside constants; not in the paper."""
    rows: list[dict[str, Any]] = []
    for truths in ("paper", "wide"):
        for crowd in CROWDS:
            for sparsity in SPARSITIES:
                simulation = SimulatedAnswers(users=crowd, sparsity=sparsity, truths=truths)
                rows += rows_of(simulation, settings)
                settings.engine.progress(f"users {crowd}, {truths}, sparsity {sparsity:g}", 1.0)
    return Outcome(
        {"experiment": "sparse-users", "seeds": settings.seeds, "rows": rows},
        ["truths", "users", "sparsity", "user's epsilon", *SCORES.values()],
        [
            [row["truths"], f"{row['users']:,}", f"{row['sparsity']:g}", f"{row['epsilon']:g}"]
            + [f"{row[key]:.3f}" for key in SCORES]
            for row in rows
        ],
        _picture(rows),
        "Error to the truth; the epsilon is for all that a user answered. Every cell: the recommended "
        "randomized response at epsilon over the number of objects. Original answers: inverse deviation.",
    )


def rows_of(simulation: SimulatedAnswers, settings: Settings) -> list[dict[str, Any]]:
    """One row for each epsilon of a user: mean errors over the seeds."""
    public = (simulation.domain, simulation.users, simulation.objects, simulation.sparsity)
    mechanisms_tried = [recommended_slots(epsilon, *public) for epsilon in USER_EPSILONS]
    by_seed = []
    for seed in seeds_of(settings, simulation.users * simulation.objects):
        trial_rows = trial(
            simulation, [replace(mechanism, seed=seed) for mechanism in mechanisms_tried], seed
        )
        for row in trial_rows:
            row["every_cell"] = error_of_every_cell(simulation, row["epsilon"], seed, settings.engine)
        by_seed.append(trial_rows)
    setting = ("truths", "users", "objects", "sparsity", "epsilon", "slots", "listed", "levels", "unnamed")
    return [
        {key: seed_rows[0][key] for key in setting}
        | {"seeds": len(seed_rows)}
        | {key: float(np.mean([row[key] for row in seed_rows])) for key in SCORES}
        for seed_rows in zip(*by_seed, strict=True)
    ]


def error_of_every_cell(simulation: SimulatedAnswers, epsilon: float, seed: int, engine: Engine) -> float:
    """The error of reports about every cell, each with an equal part of the user's epsilon."""
    rng = seeded(seed)
    answers, truths = simulation.answers(rng=rng), simulation.truth_values(rng=rng)
    mechanism = mechanisms(answers, epsilon / simulation.objects)[RECOMMENDED]
    discovered = randomized.discover(received(answers, mechanism, rng=rng), engine=engine)
    return mae(discovered.estimates, truths)


def _picture(rows: list[dict[str, Any]]) -> Figure:
    """One panel for each kind of truths and each crowd, at the largest sparsity."""
    shown = [row for row in rows if row["sparsity"] == max(other["sparsity"] for other in rows)]
    panels = list(dict.fromkeys((row["truths"], row["users"]) for row in shown))
    figure, axes = plots.figure(9.0, 3.2 * ceil(len(panels) / 2), ceil(len(panels) / 2), min(2, len(panels)))
    for panel, (truths, crowd) in zip(axes, panels, strict=True):
        own = [row for row in shown if (row["truths"], row["users"]) == (truths, crowd)]
        epsilons = [row["epsilon"] for row in own]
        lines = {name: (epsilons, [row[key] for row in own]) for key, name in SCORES.items()}
        plots.draw_lines(panel, lines, "error to the truth", dashed=SCORES["best_constant"])
        kind = "the paper's" if truths == "paper" else "wide"
        panel.set_xlabel(f"user's epsilon; {crowd:,} users, {kind} truths")
        panel.set_ylim(bottom=0)
    share_legend(figure)
    return figure
