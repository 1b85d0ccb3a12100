"""The page of a campaign's result, for readers: made of what devices sent alone, so it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdveil.report.release_pages import environment

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
    units = {item["name"]: item.get("unit", "") for item in campaign.get("objects", [])}
    singles = [table for table in result.get("tables", []) if len(table["columns"]) == 1]
    return (
        environment()
        .get_template("campaign.html")
        .render(
            campaign=campaign,
            guarantee=campaign["guarantee"],
            result=result,
            rows=result.get("truths", [])[:ROWS_SHOWN],
            objects=len(result.get("truths", [])),
            units=units,
            columns=singles,
        )
    )
