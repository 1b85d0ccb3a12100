"""The ranked dot plot: dots where the numbers say, one axis for one unit, nothing hidden silently."""

from __future__ import annotations

from math import inf, nan
from xml.etree.ElementTree import Element

import pytest

from crowdveil.report.dot_plot import Estimate, dot_plot, panels
from svg_pictures import HOSTILE, NAMESPACE, marks, parsed, place, words


def rows(element: Element) -> list[Element]:
    return [group for group in marks(element, "g") if group.get("class") == "row"]


def test_dots_and_lines_lie_where_the_numbers_say() -> None:
    element = parsed(dot_plot([Estimate("low", 0.0, -10.0, 10.0), Estimate("high", 90.0, 80.0, 100.0)]))
    (first, second) = rows(element)
    axis = panels([Estimate("a", 0.0, -10.0, 10.0), Estimate("b", 90.0, 80.0, 100.0)], "x")[0].axis
    assert axis is not None
    assert (axis.start, axis.end) == (0, 100)
    dots = [place(marks(row, "circle")[0], "cx") for row in (first, second)]
    assert dots == pytest.approx([axis.place(90.0), axis.place(0.0)], abs=0.01)  # ranked: the largest first
    assert dots == pytest.approx([100 * 104.4 / 118.8, 100 * 14.4 / 118.8], abs=0.01)
    line = marks(first, "line")[0]
    assert place(line, "x1") == pytest.approx(axis.place(80.0), abs=0.01)
    assert place(line, "x2") == pytest.approx(axis.place(100.0), abs=0.01)
    heights = [place(marks(row, "circle")[0], "cy") for row in (first, second)]
    assert heights[0] < heights[1]


def test_every_mark_tells_its_numbers() -> None:
    element = parsed(dot_plot([Estimate("noise", 61.234, 60.1, 62.4, "dB")]))
    title = rows(element)[0].find(f"{NAMESPACE}title")
    assert title is not None
    assert title.text == "noise: 61.2 dB, 60.1 to 62.4"
    assert "estimate (dB)" in words(element)


def test_an_object_without_an_interval_has_a_hollow_dot() -> None:
    element = parsed(
        dot_plot([Estimate("a", 1.0), Estimate("b", 2.0, 1.0, 3.0), Estimate("c", 1.5, 1.0, inf)])
    )
    filled = [marks(row, "circle")[0].get("fill") != "none" for row in rows(element)]
    assert filled == [True, False, False]
    assert [len(marks(row, "line")) for row in rows(element)] == [1, 0, 0]


@pytest.mark.parametrize("value", [None, nan, inf, -inf])
def test_an_unknown_estimate_comes_last_and_has_no_dot(value: float | None) -> None:
    element = parsed(dot_plot([Estimate("unknown", value, 1.0, 2.0), Estimate("known", 1.0)]))
    assert [len(marks(row, "circle")) for row in rows(element)] == [1, 0]
    assert "no estimate" in words(element)
    parsed(dot_plot([Estimate("unknown", value)]))


def test_objects_of_different_units_do_not_share_an_axis() -> None:
    estimates = [
        Estimate("a", 20.0, unit="°C", range=(0, 40)),
        Estimate("b", 25.0, unit="°C", range=(-10, 50)),
        Estimate("c", 70.0, unit="dB"),
        Estimate("d", 0.5, range=(0, 1)),
        Estimate("e", 500.0, range=(0, 1000)),
    ]
    drawn = panels(estimates, "estimate")
    assert [[row.name for row in panel.rows] for panel in drawn] == [["b", "a"], ["c"], ["d"], ["e"]]
    shown = words(parsed(dot_plot(estimates)))
    assert {"estimate (°C)", "estimate (dB)", "estimate (range 0 to 1,000)"} <= set(shown)


def test_many_rows_are_cut_and_said_to_be() -> None:
    many = [Estimate(f"o{i}", float(i), i - 1.0, i + 1.0) for i in range(412)]
    element = parsed(dot_plot(many))
    assert len(rows(element)) == 60
    assert "The largest 60; 352 more are not drawn." in words(element)
    assert "o411" in words(element)
    assert "o351" not in words(element)


def test_rows_are_shared_fairly_between_panels() -> None:
    estimates = [
        Estimate(f"{unit}{i}", 1.0 * i, unit=unit)
        for unit, size in (("a", 3), ("b", 99))
        for i in range(size)
    ]
    assert [(len(panel.rows), panel.hidden) for panel in panels(estimates, "x", 60)] == [(3, 0), (57, 42)]
    units = [Estimate("o", 1.0, unit=f"u{i}") for i in range(100)]
    assert sum(len(panel.rows) for panel in panels(units, "x", 60)) == 60


@pytest.mark.parametrize(
    "values", [[], [3.0], [2.0, 2.0, 2.0], [0.0, 0.0], [1e16, 1e16 + 2], [-1e300, 1e300]]
)
def test_any_values_give_a_picture(values: list[float]) -> None:
    element = parsed(dot_plot([Estimate(f"o{i}", value, value, value) for i, value in enumerate(values)]))
    assert len(rows(element)) == len(values)
    for row in rows(element):
        assert 0 <= place(marks(row, "circle")[0], "cx") <= 100


def test_an_interval_beyond_the_range_ends_in_an_arrow() -> None:
    estimates = [
        Estimate("a", 5.0, -1e6, 6.0, range=(0.0, 10.0)),
        Estimate("b", 2.0, 1.0, 3.0, range=(0.0, 10.0)),
    ]
    element = parsed(dot_plot(estimates))
    assert [len(marks(row, "path")) for row in rows(element)] == [1, 0]
    assert place(marks(rows(element)[1], "circle")[0], "cx") > 10


def test_hostile_names_and_units_are_escaped_and_cut() -> None:
    svg = dot_plot([Estimate(HOSTILE, 1.0, 0.0, 2.0, HOSTILE)], HOSTILE)
    element = parsed(svg)
    assert "<script" not in svg
    assert any(word.startswith("<script>alert(1)") and word.endswith("…") for word in words(element))
    assert any((title.text or "").count("long") == 30 for title in marks(element, "title"))
