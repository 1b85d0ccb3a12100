"""SamPrivSyn's batches: its estimate of the mutual information of two columns, by the size of a batch.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
doi:10.1007/s11432-022-3583-x, figure 8: mutual information of marital-status and relationship at epsilon 5,
on Adult and SYN3-Adult. The paper mentions no repetitions. The mean over *all* pairs is added, because
SamPrivSyn samples pairs in proportion to their estimates: mutual information estimated from noisy tables is
biased upwards, and more so for pairs with more cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from crowdveil.evaluation.marginals import distances
from crowdveil.experiments import records_data
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.records import ADULT
from crowdveil.experiments.records_trials import Scores, averaged
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sparse_trials import share_legend
from crowdveil.randomness import seeded
from crowdveil.records import Records
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.synthesis.marginals import mutual_information
from crowdveil.synthesis.samprivsyn import SamPrivSyn
from crowdveil.synthesis.simulated import collected

EPSILON = 5.0
PAIR = ("marital-status", "relationship")
BATCHES = (200, 500, 1_000, 2_000, 5_000, 10_000, 30_000)
PRINTED = {"true": 0.71, "best_batches": [1_000, 5_000]}
MEASURES = {
    "estimated": "estimated",
    "synthetic": "of synthetic rows",
    "true": "true",
}


def batches(settings: Settings) -> Outcome:
    """Figure 8: mutual information that SamPrivSyn finds between two columns, by the size of a batch."""
    adult = records_data.adult(data_folder(settings.data))
    return batched({ADULT: adult, "SYN3-Adult": records_data.syn3(adult)}, PAIR, settings)


def batched(
    tables: Mapping[str, Records],
    pair: tuple[str, str],
    settings: Settings,
    sizes: Sequence[int] = BATCHES,
) -> Outcome:
    """Mutual information of a pair of columns in each table, by the size of a batch: means over seeds."""
    rows: list[dict[str, Any]] = []
    for table, records in tables.items():
        for size in sizes:
            settings.engine.progress(f"{table}, batches of {size:,}", len(rows) / len(tables) / len(sizes))
            scores = [believed(records, pair, size, seed) for seed in settings.each_seed()]
            rows.append({"table": table, "batch": size, "seeds": len(scores)} | averaged(scores))
    return Outcome(
        {
            "experiment": "records-batches",
            "seeds": settings.seeds,
            "epsilon": EPSILON,
            "pair": list(pair),
            "paper": PRINTED,
            "tables": [{"table": table} | truth(records) for table, records in tables.items()],
            "rows": rows,
        },
        ["table", "batch", *MEASURES.values(), "error", "asked about it", "mean of all", "true", "2-way TVD"],
        [
            [row["table"], f"{row['batch']:,}", *(f"{row[key]:.3f}" for key in MEASURES)]
            + [f"{row['error']:.3f}", f"{row['asked']:,.0f}"]
            + [f"{row[key]:.3f}" for key in ("mean_of_pairs", "true_mean_of_pairs", "tvd2")]
            for row in rows
        ],
        _picture(rows),
        f"Mutual information of {pair[0]} and {pair[1]} in nats at epsilon {EPSILON:g}, and the mean over "
        "all pairs. Error: how far the estimate is from the truth, on average over seeds.",
    )


def believed(records: Records, pair: tuple[str, str], batch: int, seed: int) -> Scores:
    """SamPrivSyn's estimates for a pair, and for all pairs, after the last batch."""
    parameters, rng = SamPrivSyn(EPSILON, batch), seeded(seed)
    collection = collected(records, parameters, rng=rng)
    synthetic = collection.records(len(records), rng=rng)
    information = parameters.estimates(records.schema, collection.halves).information
    asked = {table.question.columns: table.asked for table in collection.tables}
    a, b = sorted(records.schema.index(name) for name in pair)
    real = information_of(records, pair)
    estimated = information.get((a, b), 0.0)
    return {
        "estimated": estimated,
        "synthetic": information_of(synthetic, pair),
        "true": real,
        "error": abs(estimated - real),
        "asked": float(asked.get((a, b), 0)),
        "mean_of_pairs": sum(information.values()) / len(collection.questions),
        "true_mean_of_pairs": float(np.mean(_all_pairs(records))),
        "tvd2": distances(records, synthetic, 2).mean,
    }


def truth(records: Records) -> dict[str, Any]:
    """The pair with the largest true mutual information, and the mean over all pairs."""
    information, names = _all_pairs(records), records.schema.names
    a, b = list(combinations(range(len(names)), 2))[int(np.argmax(information))]
    return {
        "most": [names[a], names[b]],
        "information": max(information),
        "mean": float(np.mean(information)),
    }


def information_of(records: Records, pair: Sequence[str | int]) -> float:
    """Mutual information of two columns of records, in nats."""
    return mutual_information(records.pair(pair[0], pair[1]) / len(records))


def _all_pairs(records: Records) -> list[float]:
    return [information_of(records, pair) for pair in combinations(range(len(records.schema.columns)), 2)]


def _picture(rows: list[dict[str, Any]]) -> Figure:
    """One panel for each table."""
    tables = list(dict.fromkeys(row["table"] for row in rows))
    figure, axes = plots.figure(4.5 * len(tables), 3.4, 1, len(tables))
    for panel, table in zip(axes, tables, strict=True):
        own = [row for row in rows if row["table"] == table]
        sizes = [row["batch"] for row in own]
        lines = {name: (sizes, [row[key] for row in own]) for key, name in MEASURES.items()}
        lines["mean of all pairs"] = (sizes, [row["mean_of_pairs"] for row in own])
        lines["true mean of all pairs"] = (sizes, [row["true_mean_of_pairs"] for row in own])
        plots.draw_lines(panel, lines, "mutual information, nats", dashed=MEASURES["true"])
        panel.set_xscale("log")
        panel.set_xlabel(f"people of a batch; {table}")
    figure.set_layout_engine("constrained")  # leaves room for the legend
    share_legend(figure)
    return figure
