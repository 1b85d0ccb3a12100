"""A campaign that would take all memory, or all time, of a server or a device is refused when asked for."""

from __future__ import annotations

import time
from typing import Any

import polars as pl
import pytest

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.kind import Asked, Batch
from crowdveil.errors import InputError, ParameterError


def records(columns: int, values: int, **more: Any) -> dict[str, Any]:
    domain = {"values": [f"v{number}" for number in range(values)]}
    schema = {"columns": {f"c{number}": domain for number in range(columns)}}
    return {"title": "t", "kind": "records", "schema": schema, "epsilon": 2.0, **more}


@pytest.mark.parametrize(
    "asked",
    [
        records(3, 2, options={"rounds": 10**9}),
        records(3, 2, options={"rounds": 101}),
        records(3, 2, mechanism="samprivsyn", people=10**7, options={"batch": 1}),
        records(40, 200),
    ],
    ids=["a billion rounds", "101 rounds", "a batch for each person", "31 million cells"],
)
def test_what_would_take_all_memory_is_refused_at_once(asked: dict[str, Any]) -> None:
    began = time.process_time()
    with pytest.raises(ParameterError):
        Campaign.asked(asked)
    assert time.process_time() - began < 5.0


def test_a_device_refuses_such_a_document() -> None:
    public = Campaign.asked(records(3, 2)).to_dict()
    public["mechanism"]["parameters"]["rounds"] = 3 * 10**7
    with pytest.raises(InputError):
        Campaign.from_dict(public)


def test_large_tables_of_pairs_are_exported_and_not_shown() -> None:
    campaign = Campaign.asked(records(4, 210, people=10, mechanism="independent"))
    gathered = campaign.kind.gather(1)
    rows = []
    for place in range(6):
        asked = Asked(place)
        question = campaign.kind.question(1, asked, {})
        sent = campaign.kind.report_one({f"c{n}": "v1" for n in range(4)}, asked, question)
        rows.append((place, 0, campaign.kind.receive(sent, 1, asked, {})))
    gathered.add(Batch.of(rows), {})
    result = gathered.result()
    assert all(len(table["columns"]) == 1 for table in result.summary["tables"])
    shares = result.tables["marginals"].filter(pl.col("column_2").is_null())
    assert shares.group_by("column").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 4)


def test_several_waves_are_told_in_words_that_are_true() -> None:
    asked = {"title": "t", "kind": "sensing", "objects": ["a", "b", "c"], "range": [0, 1], "epsilon": 1.0}
    campaign = Campaign.asked({**asked, "waves": 12})
    sentences = [level["sentence"] for level in campaign.guarantee["all_waves"]]
    assert sentences == [
        "all that a person claims about one object, over all 12 waves: epsilon 12",
        "a person with 3 claims in each wave, over all 12 waves: epsilon 36",
    ]
