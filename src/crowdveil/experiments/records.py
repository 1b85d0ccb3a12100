"""Synthetic tables from reports: how far they are from real ones, and what can be learned from them.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023, figures 5
and 6. The paper scores a relative error over all cells of all columns together, in which even independent
columns have .95; here it stands beside distances of tables of one, two and three columns. It learns on
numbered categories; here they are one-hot, and models are tested on real rows that nobody reported about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from crowdveil.evaluation.learning import learned
from crowdveil.evaluation.marginals import distances, relative_error
from crowdveil.experiments import records_data
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.report import plots
from crowdveil.synthesis.methods import METHODS

EPSILONS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
OURS, INDEPENDENT = "crowdveil", "independent"
LABELS = {"adult": "income", "bank": "y"}
ADULT: dict[str, Callable[[Records], Records]] = {
    "SYN1-Adult": records_data.syn1,
    "SYN2-Adult": records_data.syn2,
    "SYN3-Adult": records_data.syn3,
}
WAYS = (1, 2, 3)
SLOW = 1  # seed where tables are large
NO_SKILL = 0.5  # AUC of models that say the same about everybody


def adult(settings: Settings) -> Outcome:
    """Adult: distances of tables of one, two and three columns, for every method (figure 5a)."""
    return _marginals("records-adult", {"adult": records_data.adult(_folder(settings))}, settings)


def bank(settings: Settings) -> Outcome:
    """Bank Marketing, on which nothing was tuned: the same (figure 5e)."""
    return _marginals("records-bank", {"bank": records_data.bank(_folder(settings))}, settings)


def variants(settings: Settings) -> Outcome:
    """Adult with more rows, and with more columns: the same, with one seed (figures 5b to 5d)."""
    base = records_data.adult(_folder(settings))
    tables = {name: make(base) for name, make in ADULT.items()}
    few = Settings(min(settings.seeds, SLOW), settings.engine, settings.data, settings.first_seed)
    return _marginals("records-variants", tables, few)


def _folder(settings: Settings) -> Path:
    return data_folder(settings.data)


def _marginals(name: str, tables: dict[str, Records], settings: Settings) -> Outcome:
    rows: list[dict[str, Any]] = []
    for table, records in tables.items():
        for method in METHODS:
            for epsilon in EPSILONS:
                found = [_distances(records, method, epsilon, seed) for seed in settings.each_seed()]
                rows.append({"table": table, "method": method, "epsilon": epsilon} | _means(found))
                settings.engine.progress(f"{table}, {method}, epsilon {epsilon:g}", 1.0)
    return Outcome(
        {"experiment": name, "seeds": settings.seeds, "rows": rows},
        ["table", "method", "epsilon", *(f"{way}-way TVD" for way in WAYS), "RE", "bits of a report"],
        [
            [row["table"], row["method"], f"{row['epsilon']:g}"]
            + [f"{row[f'tvd{way}']:.4f}" for way in WAYS]
            + [f"{row['relative_error']:.3f}", f"{row['bits']:.3g}"]
            for row in rows
        ],
        _picture(rows, "tvd2", "distance of pairs (TVD)"),
        "Mean total variation distance of all tables of one and two columns and of at most a few hundred of "
        "three, synthetic against real; RE is the paper's relative error.",
    )


def _distances(records: Records, method: str, epsilon: float, seed: int) -> dict[str, float]:
    chosen = METHODS[method]
    made = chosen.synthesize(records, chosen.parameters(epsilon), rng=seeded(seed))
    found = {f"tvd{way}": distances(records, made.records, way).mean for way in WAYS}
    return found | {
        "relative_error": relative_error(records, made.records),
        "bits": made.report_bits,
    }


def learning(settings: Settings) -> Outcome:
    """Accuracy and AUC on held-out real rows of models that learned from synthetic ones (figure 6)."""
    rows: list[dict[str, Any]] = []
    folder = _folder(settings)
    for table, load in (("adult", records_data.adult), ("bank", records_data.bank)):
        records, label = load(folder), LABELS[table]
        for method in METHODS:
            for epsilon in EPSILONS:
                found = [_learned(records, method, epsilon, label, seed) for seed in settings.each_seed()]
                rows.append({"table": table, "method": method, "epsilon": epsilon} | _means(found))
                settings.engine.progress(f"{table}, {method}, epsilon {epsilon:g}", 1.0)
    scores = ("logistic_auc", "logistic_accuracy", "boosting_auc", "boosting_accuracy")
    return Outcome(
        {"experiment": "records-learning", "seeds": settings.seeds, "rows": rows},
        ["table", "method", "epsilon", *(name.replace("_", " ") for name in scores), "AUC of real rows"],
        [
            [row["table"], row["method"], f"{row['epsilon']:g}"]
            + [f"{row[name]:.3f}" for name in (*scores, "real_logistic_auc")]
            for row in rows
        ],
        _picture(rows, "logistic_auc", "AUC on held-out real rows"),
        "Four fifths of the rows report, and models are tested on the others. crowdveil is told the label.",
    )


def _learned(records: Records, method: str, epsilon: float, label: str, seed: int) -> dict[str, float]:
    train, test = records_data.split(records, rng=seeded(seed))
    chosen = METHODS[method]
    given = {"label": label} if method == OURS else {}
    made = chosen.synthesize(train, chosen.parameters(epsilon, **given), rng=seeded(seed))
    found = learned(train, test, made.records, label)
    scores: dict[str, float] = {"majority": found.majority.accuracy}
    for name, key in (("logistic regression", "logistic"), ("boosting", "boosting")):
        made_of, real = found.synthetic[name], found.real[name]
        scores[f"{key}_accuracy"] = made_of.accuracy
        scores[f"{key}_auc"] = NO_SKILL if made_of.auc is None else made_of.auc
        scores[f"real_{key}_auc"] = NO_SKILL if real.auc is None else real.auc
    return scores


def _means(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over seeds."""
    return {key: float(np.mean([each[key] for each in found])) for key in found[0]}


def _picture(rows: list[dict[str, Any]], key: str, label: str) -> Figure:
    """A panel for each table."""
    tables = list(dict.fromkeys(row["table"] for row in rows))
    made, axes = plots.figure(4.5 * len(tables), 3.4, 1, len(tables))
    for panel, table in zip(axes, tables, strict=True):
        lines = {}
        for method in METHODS:
            mine = [row for row in rows if (row["table"], row["method"]) == (table, method)]
            lines[method] = ([row["epsilon"] for row in mine], [row[key] for row in mine])
        plots.draw_lines(panel, lines, label, dashed=INDEPENDENT)
        panel.set_xlabel(f"epsilon; {table}")
    axes[0].legend()
    return made
