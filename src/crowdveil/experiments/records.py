"""Distances of synthetic tables from real ones.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
doi:10.1007/s11432-022-3583-x, figure 5. The paper measures a relative error over all cells of the full joint
table, which is .95 even for independent columns. Here one-, two- and three-way marginal distances are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from crowdveil.evaluation.marginals import distances, independent, relative_error
from crowdveil.experiments import records_data
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.records_trials import (
    EPSILONS,
    Contestant,
    Scores,
    contestants,
    picture,
    rows_over,
)
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.records import Records

ADULT, BANK = "Adult", "Bank Marketing"
VARIANTS = {
    "SYN1-Adult": records_data.syn1,
    "SYN2-Adult": records_data.syn2,
    "SYN3-Adult": records_data.syn3,
}
WAYS = (1, 2, 3)
SLOW = 1  # number of seeds for large tables


def adult(settings: Settings) -> Outcome:
    """Figure 5a: Adult, distances of tables of one, two and three columns, for every method."""
    records = records_data.adult(data_folder(settings.data))
    return compared("records-adult", {ADULT: records}, settings, contestants(papers_batch=True))


def bank(settings: Settings) -> Outcome:
    """Figure 5e: Bank Marketing, the same; settings were chosen elsewhere, but it was looked at."""
    records = records_data.bank(data_folder(settings.data))
    return compared("records-bank", {BANK: records}, settings, contestants(papers_batch=False))


def variants(settings: Settings) -> Outcome:
    """Figures 5b to 5d: Adult with more rows, and with more columns, the same with one seed."""
    records = records_data.adult(data_folder(settings.data))
    tables = {name: make(records) for name, make in VARIANTS.items()}
    few = replace(settings, seeds=min(settings.seeds, SLOW))
    return compared("records-variants", tables, few, contestants(papers_batch=True))


def compared(
    name: str,
    tables: Mapping[str, Records],
    settings: Settings,
    rivals: Sequence[Contestant],
    epsilons: Sequence[float] = EPSILONS,
) -> Outcome:
    """Distances of synthetic tables from `tables`, by method and epsilon."""
    rows = [
        row
        for table, records in tables.items()
        for row in rows_over(
            *(table, rivals, epsilons, settings.each_seed(), partial(scored, records), settings.engine)
        )
    ]
    return Outcome(
        {
            "experiment": name,
            "seeds": settings.seeds,
            "tables": [
                {"table": table, "rows": len(records), "columns": len(records.schema.columns)}
                | {f"independent{way}": independent(records, way) for way in WAYS}
                for table, records in tables.items()
            ],
            "rows": rows,
        },
        ["table", "method", "epsilon", *(f"{way}-way TVD" for way in WAYS), "RE", "bits of a report"],
        [
            [row["table"], row["method"], f"{row['epsilon']:g}"]
            + [f"{row[f'tvd{way}']:.4f}" for way in WAYS]
            + [f"{row['relative_error']:.3f}", f"{row['bits']:.3g}"]
            for row in rows
        ],
        picture(rows, "tvd2", "distance of pairs (TVD)"),
        "Mean total variation distance of all tables of one and two columns and of at most 300 of three, "
        "synthetic against real; RE is the paper's relative error.",
    )


def scored(records: Records, rival: Contestant, epsilon: float, seed: int) -> Scores:
    """The distances of one synthetic table from the real one, and the size of a report."""
    synthetic = rival.synthesize(records, epsilon, seed)
    scores = {f"tvd{way}": distances(records, synthetic.records, way).mean for way in WAYS}
    return scores | {
        "relative_error": relative_error(records, synthetic.records),
        "bits": synthetic.report_bits,
    }
