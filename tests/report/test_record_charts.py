"""Pictures of records: well-formed, escaped, and with everything in them."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from crowdveil.evaluation.comparison import compare
from crowdveil.records import Column, Records, Schema
from crowdveil.report.record_charts import shade_map, side_by_side
from crowdveil.report.records_page import comparison_page, comparison_picture

ODD = "<b>&\"'$x_1$ \N{GREEK SMALL LETTER EPSILON}" + "long " * 20


def _texts(picture: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter() if text.tag.endswith("text")]


def test_a_map_has_a_shade_and_a_share_for_each_pair() -> None:
    picture = shade_map(["a", ODD], np.array([[0.0, 0.25], [0.25, 1.0]]), ODD)
    texts = _texts(picture)
    assert texts.count("a") == 2
    assert texts.count(".25") == 2
    assert ".00" in texts
    assert "1" in texts
    assert picture.count("<rect") == 4
    assert picture.count('class="heat-7"') == 1
    assert picture.count('class="heat-0"') == 1
    assert 'class="heat-7"' not in shade_map(["a"], np.ones((1, 1)), "x", top=2.0)
    assert shade_map(["a"], np.zeros((1, 1)), "x").count("<rect") == 1


def test_rare_values_stand_together() -> None:
    shares = np.arange(30) / np.arange(30).sum()
    texts = _texts(side_by_side([f"v{place}" for place in range(30)], shares, shares[::-1]))
    assert "19 others" in texts
    assert len([text for text in texts if text.startswith("v")]) == 11
    figures = [float(text.removesuffix("\N{NO-BREAK SPACE}%")) for text in texts if text.endswith("%")]
    assert sum(figures) == pytest.approx(200.0, abs=2.0)


def test_a_page_escapes_what_a_schema_says() -> None:
    schema = Schema((Column(ODD, (ODD, "b")), Column("n", None, (0, 1, 2))))
    rng = np.random.default_rng(1)
    real, made = (Records(schema, rng.integers(0, 2, (200, 2), dtype=np.int32)) for _ in range(2))
    found = compare(real, made, label=ODD)
    page = comparison_page(found)
    assert "<b>" not in page
    assert "Learning" in page
    ElementTree.fromstring(comparison_picture(found))


def test_charts_of_several_columns_share_their_axis() -> None:
    def longest(labels: list[str], share: float) -> float:
        picture = side_by_side(labels, np.array([share]), np.array([share]), top=0.8, letters=12)
        bar = next(part for part in ElementTree.fromstring(picture).iter() if part.tag.endswith("rect"))
        return float(bar.get("width", "nan"))

    assert longest(["a long name"], 0.4) == pytest.approx(2 * longest(["x"], 0.2), abs=0.2)
