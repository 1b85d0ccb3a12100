"""Communication cost: bits of a report by method, number of columns and epsilon.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
doi:10.1007/s11432-022-3583-x, figure 7. The paper's cost is the number of bits that 30,000 devices send, for
LoPub, kRR and SamPrivSyn. It does not say whether the index of the sampled pair is included. Here it is
counted separately: a device that samples its own question also sends the index of the question; a device with
an assigned question does not, because the assignment is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crowdveil.experiments import records_data
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.records import BANK
from crowdveil.experiments.records_trials import INDEPENDENT, Contestant, contestants
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.experiments.sensing_trials import lines_over
from crowdveil.experiments.sparse_trials import share_legend
from crowdveil.local.record_reports import bits_of_code
from crowdveil.records import Records, Schema
from crowdveil.report import plots
from crowdveil.report.plots import Figure
from crowdveil.synthesis.design import Design
from crowdveil.synthesis.registry import METHODS

COST_EPSILONS = (1.0, 4.0, 10.0)
DEVICES = 30_000  # as in the paper
DIMENSIONS = (4, 6, 9, 12, 15)  # the first columns of SYN3-Adult, of which nine are Adult's
ALL_COLUMNS = ("lopub", "krr")  # methods whose reports have a fixed length
FEW = 100  # records, enough to measure that length


def cost(settings: Settings) -> Outcome:
    """Figure 7: bits that a device sends, by the number of columns and by epsilon; one seed."""
    folder = data_folder(settings.data)
    wide = records_data.syn3(records_data.adult(folder))
    tables = {f"{count} columns of Adult": wide.select(range(count)) for count in DIMENSIONS}
    return priced({**tables, BANK: records_data.bank(folder)}, settings, contestants(papers_batch=False))


def priced(
    tables: Mapping[str, Records],
    settings: Settings,
    rivals: Sequence[Contestant],
    epsilons: Sequence[float] = COST_EPSILONS,
) -> Outcome:
    """The cost of reports about `tables`, by method and epsilon."""
    rows: list[dict[str, Any]] = []
    total = len(tables) * len(rivals) * len(epsilons)
    for table, records in tables.items():
        for rival in rivals:
            for epsilon in epsilons:
                settings.engine.progress(f"{table}, {rival.name}, epsilon {epsilon:g}", len(rows) / total)
                costs = price(records, rival, epsilon, settings.first_seed)
                rows.append({"table": table, "method": rival.name, "epsilon": epsilon} | costs)
    return Outcome(
        {"experiment": "records-cost", "seeds": 1, "devices": DEVICES, "rows": rows},
        ["table", "method", "epsilon", "bits of a report", "to tell the question", "all devices, megabits"],
        [
            [row["table"], row["method"], f"{row['epsilon']:g}", f"{row['bits']:.3g}"]
            + [f"{row[key]:.3g}" for key in ("question_bits", "megabits")]
            for row in rows
        ],
        _picture(rows, epsilons),
        f"All devices: {DEVICES:,} reports without the questions' numbers, as in the paper's figure 7; with "
        "more devices it grows in proportion (7b).",
    )


def price(records: Records, rival: Contestant, epsilon: float, seed: int) -> dict[str, Any]:
    """Mean bits of a report, bits of the index of its question, and megabits of 30,000 reports."""
    reporting = records.take(np.arange(min(len(records), FEW if rival.method in ALL_COLUMNS else DEVICES)))
    bits = rival.synthesize(reporting, epsilon, seed, rows=1).report_bits
    parameters = METHODS[rival.method].parameters(epsilon, **rival.settings)
    return {
        "columns": len(records.schema.columns),
        "bits": bits,
        "question_bits": bits_of_code(questions_of(parameters, records.schema)),
        "megabits": DEVICES * bits / 1e6,
    }


def questions_of(parameters: Any, schema: Schema) -> int:
    """The number of questions of which each device gets one; 1 if all devices get the same."""
    return len(parameters.questions(schema)) if isinstance(parameters, Design) else 1


def _picture(rows: list[dict[str, Any]], epsilons: Sequence[float]) -> Figure:
    """One panel for each epsilon: bits of a report by the number of columns, for Adult only."""
    figure, axes = plots.figure(3.8 * len(epsilons), 3.6, 1, len(epsilons))
    for panel, epsilon in zip(axes, epsilons, strict=True):
        own = [row for row in rows if row["epsilon"] == epsilon and row["table"] != BANK]
        plots.draw_lines(panel, lines_over(own, "columns", "bits"), "bits of a report", dashed=INDEPENDENT)
        plots.scale_by_logarithm(panel, sorted({row["columns"] for row in own}))
        panel.set_xlabel(f"columns; epsilon {epsilon:g}")
    figure.set_layout_engine("constrained")  # leaves room for the legend
    share_legend(figure)
    return figure
