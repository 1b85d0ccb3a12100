"""Table 2 of the records paper: the sizes of its data sets, counted here and as printed.

Reference: Chen et al., *Locally differentially private high-dimensional data synthesis*, 2023,
doi:10.1007/s11432-022-3583-x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2, prod
from typing import Any

import numpy as np

from crowdveil.experiments import records_data
from crowdveil.experiments.datasets import data_folder
from crowdveil.experiments.records import ADULT, BANK, VARIANTS
from crowdveil.experiments.result import Outcome, Settings
from crowdveil.records import Records
from crowdveil.report import plots
from crowdveil.report.plots import Figure

FACTS = ("rows", "columns", "domain")


@dataclass(frozen=True)
class Printed:
    """The row of a data set in Table 2, with a remark on errors in it."""

    rows: int
    columns: int
    domain: int  # the logarithm of the number of possible records, to base 2
    remark: str = ""


PRINTED = {
    ADULT: Printed(
        *(30_128, 9, 29),
        "30,162 rows are complete; the same nine columns have 2^29 here and 2^26 in the next two lines",
    ),
    "SYN1-Adult": Printed(60_256, 9, 26, "every row twice"),
    "SYN2-Adult": Printed(
        120_512, 9, 26, 'every row four times, as the figure says; the text says "tripling"'
    ),
    "SYN3-Adult": Printed(
        30_128, 15, 44, "the six columns that are there twice are not named; these give its domain"
    ),
    BANK: Printed(
        *(45_210, 17, 29),
        "bins of numbers are not told; 2^29 leaves about three for each of seven columns, ours are finer",
    ),
}


def data(settings: Settings) -> Outcome:
    """Table 2: rows, columns and possible records of the data sets, beside the paper's."""
    folder = data_folder(settings.data)
    adult = records_data.adult(folder)
    variants = {name: make(adult) for name, make in VARIANTS.items()}
    return described({ADULT: adult, **variants, BANK: records_data.bank(folder)})


def described(tables: Mapping[str, Records]) -> Outcome:
    """The sizes of `tables`, with the paper's."""
    rows = [facts(name, records) for name, records in tables.items()]
    return Outcome(
        {"experiment": "records-data", "rows": rows},
        ["table", "rows", "columns", "domain", "different records", "remark"],
        [line for row in rows for line in _lines(row)],
        _picture(rows),
        "Domain: the number of possible records. Different records: cells of the table of all columns that "
        "hold somebody, over which the paper's relative error is a mean; most of them hold one person.",
    )


def facts(name: str, records: Records) -> dict[str, Any]:
    """The row of Table 2, the number of distinct records, and the number of records that occur once."""
    distinct, times = np.unique(records.codes, axis=0, return_counts=True)
    printed = PRINTED.get(name)
    return {
        "table": name,
        "rows": len(records),
        "columns": len(records.schema.columns),
        "domain": log2(prod(records.schema.sizes)),
        "different": len(distinct),
        "only_once": int((times == 1).sum()),
        "printed": {key: getattr(printed, key) for key in FACTS} if printed else None,
        "remark": printed.remark if printed else "",
    }


def _lines(row: dict[str, Any]) -> list[list[str]]:
    """One line of counted and one of printed figures."""
    counted = [
        row["table"],
        f"{row['rows']:,}",
        str(row["columns"]),
        f"2^{row['domain']:.1f}",
        f"{row['different']:,}",
        "",
    ]
    paper = row["printed"]
    if paper is None:
        return [counted]
    printed = ["  in the paper", f"{paper['rows']:,}", str(paper["columns"]), f"2^{paper['domain']}", "-"]
    return [counted, [*printed, row["remark"]]]


def _picture(rows: list[dict[str, Any]]) -> Figure:
    """Rows and the logarithm of the domain, counted and as printed."""
    figure, axes = plots.figure(11.0, 3.0, 1, 2)
    for panel, key, label in zip(axes, ("rows", "domain"), ("rows", "log2 of the domain"), strict=True):
        series = {
            "counted": [row[key] for row in rows],
            "in the paper": [row["printed"][key] if row["printed"] else 0 for row in rows],
        }
        plots.draw_bars(panel, [row["table"] for row in rows], series, label)
        panel.tick_params(axis="x", labelsize=7)
    return figure
