"""The page of a campaign's result, for readers: made of what devices sent alone, so it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdveil.report.dot_plot import Estimate, dot_plot
from crowdveil.report.marginal_charts import marginals
from crowdveil.report.numbers import interval
from crowdveil.report.page import environment

ROWS_SHOWN = 500


def campaign_page(campaign: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """The question, how many answered, the estimates, what was promised and what was not.

    Parameters
    ----------
    campaign:
        The public document of the campaign.
    result:
        The last result, as plain data.

    """
    found = estimates(campaign, result)
    tables = result.get("tables", [])
    return (
        environment()
        .get_template("campaign.html")
        .render(
            campaign=campaign,
            guarantee=campaign["guarantee"],
            result=result,
            rows=[
                (each, interval(each.value, *(each.ends or (each.lower, each.upper))))
                for each in found[:ROWS_SHOWN]
            ],
            objects=len(found),
            plot=dot_plot(found) if found else None,
            columns=[table for table in tables if len(table["columns"]) == 1],
            charts=marginals(tables),
        )
    )


def estimates(campaign: Mapping[str, Any], result: Mapping[str, Any]) -> list[Estimate]:
    """The truths of a result, with the units and ranges of the campaign's objects."""
    objects = {item["name"]: item for item in campaign.get("objects", [])}
    common = campaign.get("range")
    if common is None and not campaign.get("scaled"):
        common = campaign.get("mechanism", {}).get("parameters", {}).get("range")
    found = []
    for truth in result.get("truths", []):
        item = objects.get(truth["object"], {})
        own = item.get("range", common)
        found.append(
            Estimate(
                truth["object"],
                truth["estimate"],
                truth["lower"],
                truth["upper"],
                item.get("unit") or "",
                None if own is None else (float(own[0]), float(own[1])),
            )
        )
    return found
