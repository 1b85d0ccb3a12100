"""Marginals: bars as long and cells as dark as shares, one scale for all, names escaped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdveil.errors import ParameterError
from crowdveil.report.heat import SHADES, legend, shade
from crowdveil.report.marginal_charts import MOST_PAIRS, MOST_VALUES, bars, heat_map, marginals
from svg_pictures import HOSTILE, marks, parsed, place, words


def lengths(svg: str) -> list[float]:
    return [place(bar, "width") for bar in marks(parsed(svg), "rect")]


def table(*columns: str, size: int = 2) -> dict[str, Any]:
    shape = [size] * len(columns)
    shares = np.full(shape, 1 / size ** len(columns))
    labels = [[f"{name}{value}" for value in range(size)] for name in columns]
    return {"columns": list(columns), "labels": labels, "shares": shares.tolist()}


def test_bars_are_as_long_as_their_shares() -> None:
    found = lengths(bars("smokes", ["never", "daily", "none"], np.array([0.75, 0.25, 0.0])))
    assert found[0] == pytest.approx(3 * found[1], abs=0.2)
    assert found[2] == 0
    shown = words(parsed(bars("smokes", ["never"], np.array([0.123]))))
    assert shown == ["never", "12.3\N{NO-BREAK SPACE}%"]


def test_bars_of_several_columns_share_their_axis() -> None:
    first = lengths(bars("a", ["x"], np.array([0.2]), top=0.8, letters=9))
    second = lengths(bars("b", ["a longer"], np.array([0.4]), top=0.8, letters=9))
    assert second[0] == pytest.approx(2 * first[0], abs=0.2)


def test_bars_outside_the_axis_stay_in_the_chart() -> None:
    found = lengths(bars("a", ["x", "y", "z"], np.array([-0.1, 2.0, np.nan]), top=0.5))
    assert found[0] == 0
    assert 0 < found[1] < 360
    assert found[2] == 0


def test_a_heat_map_has_a_cell_for_each_pair_of_values() -> None:
    shares = np.array([[0.0, 0.1, 0.2], [0.3, 0.39, 0.01]])
    element = parsed(heat_map(("down", "across"), (["r", "s"], ["x", "y", "z"]), shares))
    cells = marks(element, "rect")
    assert [cell.get("class") for cell in cells] == [f"heat-{shade(value, 0.39)}" for value in shares.ravel()]
    assert cells[0].get("class") == "heat-0"
    assert cells[4].get("class") == f"heat-{SHADES - 1}"
    assert len({place(cell, "x") for cell in cells}) == 3
    assert len({place(cell, "y") for cell in cells}) == 2
    assert place(cells[0], "x") < place(cells[1], "x")
    assert place(cells[0], "y") < place(cells[3], "y")
    assert {"down", "across", "r", "s", "x", "y", "z", "0.0", "10", "39", "1.0"} <= set(words(element))


def test_narrow_cells_tell_their_shares_when_pointed_at_only() -> None:
    shares = np.full((2, 40), 1 / 80)
    element = parsed(heat_map(("a", "b"), (["r", "s"], [str(i) for i in range(40)]), shares))
    assert "1.2" not in words(element)
    titles = [title.text or "" for title in marks(element, "title")]
    assert any(title.startswith("r, 0: 1.") for title in titles)
    widest = max(place(cell, "x") + place(cell, "width") for cell in marks(element, "rect"))
    assert widest <= 360


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, np.nan, np.inf])
def test_odd_shares_have_a_shade(value: float) -> None:
    assert 0 <= shade(value, 1.0) < SHADES
    assert shade(value, 0.0) == 0
    parsed(heat_map(("a", "b"), (["r"], ["x"]), np.array([[value]])))


def test_shades_rise_with_shares() -> None:
    levels = [shade(value, 0.5) for value in np.linspace(0, 0.5, 100).tolist()]
    assert levels == sorted(levels)
    assert set(levels) == set(range(SHADES))
    assert len(marks(parsed(legend(0.5)), "rect")) == SHADES


def test_shares_that_do_not_fit_their_labels_are_refused() -> None:
    with pytest.raises(ParameterError):
        bars("a", ["x"], np.array([0.5, 0.5]))
    with pytest.raises(ParameterError):
        heat_map(("a", "b"), (["x"], ["y"]), np.zeros((2, 1)))


def test_many_tables_share_one_scale_and_say_what_is_left_out() -> None:
    names = [f"c{i}" for i in range(7)]
    pairs = [table(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    strong = table("p", "q") | {"shares": [[0.9, 0.0], [0.0, 0.1]]}
    found = marginals([*(table(name) for name in names), strong, *pairs])
    assert len(found.columns) == 7
    assert len(found.pairs) == MOST_PAIRS
    assert found.left_out == len(pairs) + 1 - MOST_PAIRS
    assert found.pairs[0].caption == "p and q"
    assert 'class="heat-7"' in found.pairs[0].svg
    assert 'class="heat-2"' in found.pairs[1].svg  # 0.25 of at most 0.9
    assert "90.0" in found.legend
    wide = marginals([table("a", "b", size=MOST_VALUES + 1), table("a", size=MOST_VALUES + 1)])
    assert (wide.pairs, wide.columns, wide.left_out) == ((), (), 1)
    assert marginals([]).columns == ()


def test_hostile_names_are_escaped_and_cut() -> None:
    for svg in (
        bars(HOSTILE, [HOSTILE], np.array([1.0])),
        heat_map((HOSTILE, HOSTILE), ([HOSTILE], [HOSTILE, "b"]), np.array([[0.5, 0.5]])),
    ):
        assert "<script" not in svg
        assert all(len(word) <= 40 for word in words(parsed(svg)))
