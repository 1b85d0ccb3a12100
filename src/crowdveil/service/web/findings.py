"""The last result of a campaign in pictures and numbers, as operators see it."""

from __future__ import annotations

import io
from typing import Any

import polars as pl

from crowdveil.campaigns.results import LEVEL
from crowdveil.files.exact_paths import scan_parquet
from crowdveil.report.campaign_page import estimates
from crowdveil.report.dot_plot import Estimate, dot_plot
from crowdveil.report.marginal_charts import MOST_VALUES, marginals
from crowdveil.report.numbers import interval
from crowdveil.report.weights_chart import sentence, weights_chart
from crowdveil.service.api.results import current, opened
from crowdveil.service.state import State
from crowdveil.service.store import results
from crowdveil.service.store.campaigns import Kept

ROWS_SHOWN = 200
RECORDS_SHOWN = 10
FEW = 20  # reports: estimates are mostly what was assumed before, and a chart of weights says nothing


def shown(service: State, campaign: Kept, wave: int | None) -> dict[str, Any]:
    """The last result of a wave in pictures and numbers."""
    wave = opened(campaign, wave)
    found = current(service, campaign, wave)
    document = campaign.to_dict()
    values: dict[str, Any] = {"result": found, "wave": wave, "level": LEVEL, "few": FEW}
    if document["kind"] == "records":
        tables = found["tables"]
        table = _table(service, campaign, wave, "records")
        return {
            **values,
            "charts": marginals(tables),
            "large": [
                (table["columns"][0], len(table["labels"][0]))
                for table in tables
                if len(table["columns"]) == 1 and len(table["labels"][0]) > MOST_VALUES
            ],
            "synthetic": None if table is None else table.head(RECORDS_SHOWN).collect(),
        }
    listed = estimates(document, found)
    weights = _table(service, campaign, wave, "weights")
    users = None if weights is None else weights.select("weight").collect()["weight"].to_numpy()
    return {
        **values,
        "plot": dot_plot(listed) if listed else None,
        "rows": [
            (each, interval(each.value, *(each.ends or (each.lower, each.upper))))
            for each in sorted(listed, key=Estimate.rank)[:ROWS_SHOWN]
        ],
        "objects": len(listed),
        "unheard": len(document.get("objects", [])) - len(listed),
        "weights": None if users is None or users.size < FEW else weights_chart(users),
        "half": None if users is None else sentence(users),
    }


def _table(service: State, campaign: Kept, wave: int, name: str) -> pl.LazyFrame | None:
    """A table of the last result, as far as it is read."""
    with service.database.reading() as connection:
        content = results.read_file(connection, campaign.number, wave, f"{name}.parquet")
    return None if content is None else scan_parquet(io.BytesIO(content))
