"""The page of a campaign's result: everything that was promised, estimates in numbers and in charts."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from crowdveil.campaigns.campaign import Campaign
from crowdveil.report.campaign_page import ROWS_SHOWN, campaign_page, estimates

COUNTS: dict[str, Any] = {
    "participants": 1260,
    "reports": 1254,
    "counted": 1250,
    "as_of": "2026-01-01T12:00:00Z",
    "provisional": False,
    "level": 0.9,
}
SCHEMA = {"columns": {"age": {"edges": [0, 30, 60]}, "<b>job": {"values": ["a & b", "<i>"]}}}


def document(**request: Any) -> dict[str, Any]:
    asked = {"title": "How <loud>?", "epsilon": 2.0, "people": 100} | request
    plain: dict[str, Any] = json.loads(json.dumps(Campaign.asked(asked).to_dict()))
    return plain


def sensing(*objects: Any) -> dict[str, Any]:
    return document(kind="sensing", objects=list(objects), range=[0, 100])


def truth(name: str, estimate: float | None, half: float | None = 1.0) -> dict[str, Any]:
    known = estimate is not None and half is not None
    ends = (estimate - half, estimate + half) if known else (None, None)  # type: ignore[operator]
    return {"object": name, "estimate": estimate, "lower": ends[0], "upper": ends[1]}


def test_the_page_shows_estimates_in_a_plot_and_in_numbers() -> None:
    campaign = sensing({"name": "square", "unit": "dB", "range": [0, 100]}, "park")
    page = campaign_page(campaign, COUNTS | {"truths": [truth("square", 61.26), truth("park", 40.0, None)]})
    assert "1,260" in page
    assert "square (dB)" in page
    assert "<td>61.3</td><td>60.3</td><td>62.3</td>" in page
    assert "<td>40</td><td>\N{EN DASH}</td><td>\N{EN DASH}</td>" in page
    assert page.count('class="row"') == 2
    assert "Intervals at level 90%. They tell how sure the crowd is, not whether it is right." in page


def test_the_page_keeps_every_word_of_the_guarantee() -> None:
    campaign = sensing("a")
    page = campaign_page(campaign, COUNTS | {"truths": []})
    told = [campaign["guarantee"]["sentence"], *campaign["guarantee"]["not_promised"]]
    told += [level["sentence"] for level in campaign["guarantee"]["all_waves"]]
    plain = page.replace("&#39;", "'").replace("&#34;", '"').replace("&lt;", "<").replace("&gt;", ">")
    for words in told:
        assert words in plain
    assert "There is no estimate yet." in page


def test_units_and_ranges_come_from_the_campaign() -> None:
    campaign = sensing({"name": "a", "unit": "dB", "range": [0, 90]}, "b")
    found = estimates(campaign, {"truths": [truth("a", 1.0), truth("b", 2.0), truth("elsewhere", 3.0)]})
    assert [(each.unit, each.range) for each in found[:2]] == [("dB", (0.0, 90.0)), ("", (0.0, 100.0))]
    assert estimates(campaign, {}) == []


def test_a_provisional_result_says_so() -> None:
    page = campaign_page(sensing("a"), COUNTS | {"truths": [], "provisional": True, "as_of": None})
    assert "Provisional: the campaign is not closed" in page
    assert "counted in the estimates" not in page


def test_long_results_are_cut_and_say_so() -> None:
    names = [f"o{i}" for i in range(ROWS_SHOWN + 1)]
    page = campaign_page(sensing(*names), COUNTS | {"truths": [truth(name, 1.0) for name in names]})
    assert f"The first {ROWS_SHOWN} of {ROWS_SHOWN + 1}." in page
    assert "441 more are not drawn" in page


@pytest.mark.parametrize("pairs", [True, False])
def test_records_have_bars_and_heat_maps(pairs: bool) -> None:
    campaign = document(kind="records", schema=SCHEMA)
    labels = [["0..30", "30..60"], ["a & b", "<i>"]]
    names = list(SCHEMA["columns"])
    tables: list[dict[str, Any]] = [
        {"columns": [name], "labels": [values], "shares": [0.25, 0.75]}
        for name, values in zip(names, labels, strict=True)
    ]
    if pairs:
        tables.append({"columns": names, "labels": labels, "shares": np.full((2, 2), 0.25).tolist()})
    page = campaign_page(campaign, COUNTS | {"tables": tables})
    assert page.count("<svg") == (4 if pairs else 2)
    assert ("Pairs of questions" in page) == pairs
    assert "<td>75.0\N{NO-BREAK SPACE}%</td>" in page
    assert "<i>" not in page
    assert "<b>" not in page


def test_the_page_brings_no_style_attribute_and_fetches_nothing() -> None:
    page = campaign_page(sensing("<img src=x>"), COUNTS | {"truths": [truth("<img src=x>", 1.0)]})
    assert " style=" not in page
    assert "<script" not in page
    assert "<img" not in page
    assert re.findall(r'(?:src|href)="(?!#)', page) == []
