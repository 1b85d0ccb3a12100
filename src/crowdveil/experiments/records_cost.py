"""What devices send: bits of a report by method, number of columns and epsilon.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023, figure 7. The
paper's cost is all bits that 30,000 devices send, for LoPub, kRR and SamPrivSyn. It does not say if the pair
that a device chose is counted. Here it is told apart: a device that tosses the coin itself sends the number
of its question too; one that was assigned a question does not, as everybody knows it.
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
ALL_COLUMNS = ("lopub", "krr")  # whose reports have the same length whatever is told
FEW = 100  # records that are enough to learn that length


def cost(settings: Settings) -> Outcome:
    """Figure 7: bits that a device sends, by the number of columns and by epsilon; one seed."""
    folder = data_folder(settings.data)
    wide = records_data.syn3(records_data.adult(folder))
    tables = {f"{many} columns of Adult": wide.select(range(many)) for many in DIMENSIONS}
    return priced({**tables, BANK: records_data.bank(folder)}, settings, contestants(papers_batch=False))


def priced(
    tables: Mapping[str, Records],
    settings: Settings,
    rivals: Sequence[Contestant],
    epsilons: Sequence[float] = COST_EPSILONS,
) -> Outcome:
    """What reports about these tables cost, by method and epsilon."""
    rows: list[dict[str, Any]] = []
    many = len(tables) * len(rivals) * len(epsilons)
    for table, records in tables.items():
        for rival in rivals:
            for epsilon in epsilons:
                settings.engine.progress(f"{table}, {rival.name}, epsilon {epsilon:g}", len(rows) / many)
                spent = price(records, rival, epsilon, settings.first_seed)
                rows.append({"table": table, "method": rival.name, "epsilon": epsilon} | spent)
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
    """Bits of a report on average, of its question's number, and of the paper's 30,000 reports."""
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
    """How many questions there are, of which a device is asked one; 1 where all are asked the same."""
    return len(parameters.questions(schema)) if isinstance(parameters, Design) else 1


def _picture(rows: list[dict[str, Any]], epsilons: Sequence[float]) -> Figure:
    """A panel for each epsilon: bits of a report against the number of columns, Adult's only."""
    made, axes = plots.figure(3.8 * len(epsilons), 3.6, 1, len(epsilons))
    for panel, epsilon in zip(axes, epsilons, strict=True):
        mine = [row for row in rows if row["epsilon"] == epsilon and row["table"] != BANK]
        plots.draw_lines(panel, lines_over(mine, "columns", "bits"), "bits of a report", dashed=INDEPENDENT)
        plots.scale_by_logarithm(panel, sorted({row["columns"] for row in mine}))
        panel.set_xlabel(f"columns; epsilon {epsilon:g}")
    made.set_layout_engine("constrained")  # makes room for the legend
    share_legend(made)
    return made
