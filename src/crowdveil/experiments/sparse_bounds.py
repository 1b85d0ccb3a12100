"""Theorems 2, 3 and 5 of the sparse paper: printed bounds, corrected bounds and measured errors.

Reference: Sun et al., *Truth Inference on Sparse Crowdsourcing Data with Local Differential Privacy*, 2018.

The theorems assume given weights; here they are those of the paper's inference from the same reports. The
bounds use the paper's noise of LP, |Gamma| / epsilon; devices add slightly less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from crowdveil.answers import Domain
from crowdveil.evaluation.constants import mae
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sparse import SPARSITIES, THREE_EPSILONS
from crowdveil.experiments.sparse_theory import (
    Crowd,
    factorization_error,
    laplace_bound,
    laplace_error,
    paper_factorization_bound,
    paper_laplace_bound,
    paper_response_bound,
    response_bound,
    response_error,
)
from crowdveil.experiments.sparse_trials import (
    DIMENSIONS,
    FACTORIZATION,
    LAPLACE,
    RESPONSE,
    received,
    share_legend,
)
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.factorization import Factorization
from crowdveil.local.inverse_deviation import on_symbols
from crowdveil.local.laplace_cells import LaplaceCells
from crowdveil.local.predictions import STEPS
from crowdveil.randomness import seeded
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.simulation.sparse import SimulatedAnswers
from crowdveil.truths import Truths

THEOREMS = {LAPLACE: 2, RESPONSE: 3, FACTORIZATION: 5}
BOUNDS = {
    LAPLACE: (paper_laplace_bound, laplace_bound, laplace_error),
    RESPONSE: (paper_response_bound, response_bound, response_error),
}
MEASURES = ("printed", "mended", "expected", "measured")
EXAMPLES = {LAPLACE: 14.13, RESPONSE: 3.551, FACTORIZATION: 1.8}  # as printed
EXAMPLE_USERS, EXAMPLE_OBJECTS, EXAMPLE_DIMENSIONS = 2000, 1000, 100
EXAMPLE_SHARE = 0.1  # of objects that a user answers about; not stated for MF's example
DENSER_SHARE = 0.5  # with answers about a tenth of 1,000 objects MF's example has no solution


def bounds(settings: Settings) -> Outcome:
    """Theorems 2, 3 and 5: bounds on the error as printed and mended, beside the error."""
    rows: list[dict[str, Any]] = []
    for truths in ("paper", "wide"):
        for sparsity in SPARSITIES:
            simulation = SimulatedAnswers(sparsity=sparsity, truths=truths)
            for epsilon in THREE_EPSILONS:
                rows += rows_at(simulation, epsilon, settings)
            settings.engine.progress(f"bounds, {truths}, sparsity {sparsity:g}", 1.0)
    broken = [row for row in rows if row["measured"] > row["printed"]]
    return Outcome(
        {"experiment": "sparse-bounds", "seeds": settings.seeds, "examples": examples(), "rows": rows},
        ["theorem", "truths", "sparsity", "epsilon", *MEASURES],
        [
            [f"{row['theorem']} ({row['method']})", row["truths"]]
            + [f"{row[key]:g}" for key in ("sparsity", "epsilon")]
            + [f"{row[key]:.3f}" for key in MEASURES]
            for row in sorted(rows, key=lambda row: int(row["theorem"]))
        ],
        _picture(rows),
        "Mean absolute errors. printed: the paper's bound; mended: one that holds for given weights; "
        f"expected: what the weighted mean comes to (its root mean square). Printed bounds are broken in "
        f"{len(broken)} of {len(rows)} cases. Examples: "
        + "; ".join(
            f"{example['method']} printed {example['printed']:g}, by its formula {example['formula']:.4g}, "
            f"expected {example['expected']:.3g}"
            for example in examples()
        )
        + ".",
    )


def rows_at(simulation: SimulatedAnswers, epsilon: float, settings: Settings) -> list[dict[str, Any]]:
    """One row for each theorem: means over the seeds."""
    trials = [trial(simulation, epsilon, seed) for seed in settings.each_seed()]
    setting = {"truths": simulation.truths, "sparsity": simulation.sparsity, "epsilon": epsilon}
    return [
        {"theorem": number, "method": name, **setting}
        | {key: float(np.mean([by_method[name][key] for by_method in trials])) for key in MEASURES}
        for name, number in THEOREMS.items()
    ]


def trial(simulation: SimulatedAnswers, epsilon: float, seed: int) -> dict[str, dict[str, float]]:
    """For each mechanism the bounds, at the weights of the paper's inference, and the measured error."""
    rng, domain = seeded(seed), simulation.domain
    answers, truths, sigmas = (
        *(simulation.answers(rng=rng), simulation.truth_values(rng=rng)),
        simulation.sigmas(rng=rng),
    )
    factors = Factorization(epsilon, domain, DIMENSIONS)
    inferred: dict[str, Truths] = {
        LAPLACE: received(answers, LaplaceCells(epsilon, domain), rng=rng).truths(),
        RESPONSE: on_symbols(received(answers, CellResponse(epsilon, domain), rng=rng)),
        FACTORIZATION: received(answers, factors, rng=rng).truths(),
    }
    shares = np.full(sigmas.size, 1.0 - simulation.sparsity)
    by_method = {}
    for name, discovered in inferred.items():
        crowd = Crowd(domain, truths, sigmas, shares, discovered.weights)
        if name == FACTORIZATION:
            figures = _factorization_bounds(crowd, factors, answers.objects)
        else:
            figures = tuple(bound(crowd, epsilon) for bound in BOUNDS[name])
        by_method[name] = dict(zip(MEASURES, (*figures, mae(discovered.estimates, truths)), strict=True))
    return by_method


def _factorization_bounds(crowd: Crowd, factors: Factorization, objects: pl.Series) -> tuple[float, ...]:
    """Theorem 5 at these weights, and the expected error, also in place of a corrected bound."""
    weights = crowd.normal_weights()
    printed = paper_factorization_bound(
        *(crowd.domain, len(objects), factors.dimensions, factors.epsilon),
        largest_weight=float(weights.max() * weights.size),
    )
    profiles = factors.profiles(objects).T / float(STEPS)
    expected = factorization_error(crowd, profiles, factors.epsilon)
    return printed, expected, expected


def examples() -> list[dict[str, Any]]:
    """The paper's worked examples: printed value, value of the printed formula, and expected error."""
    domain = Domain(0, 9)

    def alike(objects: int, share: float) -> Crowd:
        return Crowd(domain, np.zeros(objects), np.ones(EXAMPLE_USERS), np.full(EXAMPLE_USERS, share))

    names = pl.Series(SimulatedAnswers(objects=EXAMPLE_OBJECTS).names()[0])
    factors = Factorization(1.0, domain, EXAMPLE_DIMENSIONS)
    figures = {name: tuple(bound(alike(1, EXAMPLE_SHARE), 1.0) for bound in BOUNDS[name]) for name in BOUNDS}
    figures[FACTORIZATION] = _factorization_bounds(alike(EXAMPLE_OBJECTS, DENSER_SHARE), factors, names)
    return [
        {"method": name, "printed": EXAMPLES[name]}
        | dict(zip(("formula", "mended", "expected"), values, strict=True))
        for name, values in figures.items()
    ]


def _picture(rows: list[dict[str, Any]]) -> Figure:
    """One panel for each theorem: lines over epsilon, at the largest sparsity and the paper's truths."""
    figure, axes = plots.figure(10.5, 3.2, 1, len(THEOREMS))
    sparsity = max(row["sparsity"] for row in rows)
    for panel, (name, number) in zip(axes, THEOREMS.items(), strict=True):
        setting = (name, "paper", sparsity)
        shown = [row for row in rows if (row["method"], row["truths"], row["sparsity"]) == setting]
        epsilons = [row["epsilon"] for row in shown]
        lines = {key: (epsilons, [row[key] for row in shown]) for key in MEASURES}
        plots.draw_lines(panel, lines, "error to the truth", dashed="measured")
        plots.scale_by_logarithm(panel, epsilons)
        panel.set_xlabel(f"epsilon; theorem {number} ({name}), sparsity {sparsity:g}")
    share_legend(figure)
    return figure
