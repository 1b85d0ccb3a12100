"""The simulated experiments of the sparse paper, figures 2 to 4, with constants added.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018.

The paper's truths are N(0, 1) and its answers 0 to 9, so a constant is nearly as good as the original
answers. *Wide* truths, uniform in the domain, are not in the paper; there a constant has a large error. The
paper's figures have no numbers; its text has one, that MF never exceeds 0.5.
"""

from __future__ import annotations

from typing import Any

from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sparse_trials import DIMENSIONS, METHODS, RIDGE, Loaded, picture, rows_over, table
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers

EPSILONS = (0.1, 1.0, 2.0, 3.0, 5.0)
SPARSITIES = (0.1, 0.5, 0.9)
ALL_SPARSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
SIZES = {(2_000, 200): ALL_SPARSITIES, (10_000, 1_000): SPARSITIES}
THREE_EPSILONS = (0.1, 1.0, 3.0)
HEADLINE = 0.5  # the paper: MF's MAE change never exceeds this
MEANING = (
    "MAE change: the error to the truth less that of inverse deviation on the original answers. LP, RR, "
    f"2-Layer and MF ({DIMENSIONS} dimensions, ridge {RIDGE:g}) with the paper's inference on raw reports. "
    "MF does not protect who answered what; 2-Layer promises 2 epsilon. Recommended and three symbols: "
    "randomized response undone by its law. The best constant is the median truth, which nobody knows."
)


def _rows(
    simulation: SimulatedAnswers, epsilons: tuple[float, ...], settings: Settings
) -> list[dict[str, Any]]:
    def load(seed: int) -> Loaded:
        rng = seeded(seed)
        return simulation.answers(rng=rng), simulation.truth_values(rng=rng)

    return rows_over(
        load,
        epsilons,
        settings,
        cells=simulation.users * simulation.objects,
        users=simulation.users,
        objects=simulation.objects,
        truths=simulation.truths,
        sparsity=simulation.sparsity,
    )


def budget(settings: Settings) -> Outcome:
    """Figure 2: MAE change against epsilon, for the paper's truths and for wide ones."""
    rows: list[dict[str, Any]] = []
    for sparsity in SPARSITIES:
        rows += _rows(SimulatedAnswers(sparsity=sparsity, truths="paper"), EPSILONS, settings)
    for sparsity in SPARSITIES:
        rows += _rows(SimulatedAnswers(sparsity=sparsity, truths="wide"), EPSILONS, settings)
    panels: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = "the paper's" if row["truths"] == "paper" else "wide"
        panels.setdefault(f"{name} truths, sparsity {row['sparsity']:g}", []).append(row)
    return Outcome(
        {
            "experiment": "sparse-epsilon",
            "seeds": settings.seeds,
            "paper": {"mf_at_most": HEADLINE},
            "rows": rows,
        },
        ["truths", "sparsity", "epsilon", *METHODS],
        table(rows, ("truths", "sparsity", "epsilon")),
        picture(panels, "epsilon"),
        MEANING,
    )


def sparsity(settings: Settings) -> Outcome:
    """Figures 3 and 4: MAE change against sparsity, 2,000 x 200 and 10,000 x 1,000 (with fewer seeds)."""
    rows: list[dict[str, Any]] = []
    for (users, objects), shares in SIZES.items():
        for share in shares:
            rows += _rows(SimulatedAnswers(users, objects, share), THREE_EPSILONS, settings)
    panels: dict[str, list[dict[str, Any]]] = {
        f"{users:,} x {objects:,}, epsilon {epsilon:g}": [
            row for row in rows if (row["users"], row["epsilon"]) == (users, epsilon)
        ]
        for users, objects in SIZES
        for epsilon in THREE_EPSILONS
    }
    return Outcome(
        {
            "experiment": "sparse-sparsity",
            "seeds": settings.seeds,
            "paper": {"mf_at_most": HEADLINE},
            "rows": rows,
        },
        ["users", "epsilon", "sparsity", *METHODS],
        sorted(table(rows, ("users", "epsilon", "sparsity")), key=lambda line: [float(x) for x in line[:3]]),
        picture(panels, "sparsity"),
        MEANING,
    )
