"""Example reports: a dot for each, the true value marked, the public range shaded."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.errors import ParameterError
from crowdveil.report.drawing import ORANGE
from crowdveil.report.noise_picture import MOST_DRAWN, noise_picture
from svg_pictures import HOSTILE, marks, parsed, place, words


def test_dots_value_and_range_lie_where_the_numbers_say() -> None:
    element = parsed(noise_picture(5.0, np.array([0.0, 5.0, 10.0]), 0.0, 10.0, "dB"))
    (shaded,) = marks(element, "rect")
    left, right = place(shaded, "x"), place(shaded, "x") + place(shaded, "width")
    places = [place(dot, "cx") for dot in marks(element, "circle")]
    assert places == pytest.approx([left, (left + right) / 2, right], abs=0.2)
    line = next(path for path in marks(element, "path") if path.get("stroke") == ORANGE)
    assert float(line.get("d", "")[1:].split()[0]) == pytest.approx((left + right) / 2, abs=0.2)
    assert {"true value 5 dB", "value (dB)", "3 example reports; the range is shaded"} <= set(words(element))


def test_equal_reports_stand_on_each_other() -> None:
    element = parsed(noise_picture(1.0, np.ones(30), 0.0, 2.0))
    dots = marks(element, "circle")
    assert len({place(dot, "cx") for dot in dots}) == 1
    assert len({place(dot, "cy") for dot in dots}) == 30
    assert min(place(dot, "cy") for dot in dots) > 30


def test_reports_far_away_are_counted_not_drawn() -> None:
    reports = np.append(np.linspace(0, 1, 400), [1e6, -1e6])
    element = parsed(noise_picture(0.5, reports, 0.0, 1.0))
    assert len(marks(element, "circle")) == 400
    assert any("402 example reports, 2 beyond the axis" in word for word in words(element))


@pytest.mark.parametrize("number_of", [0, 1, MOST_DRAWN + 100])
def test_any_number_of_reports_gives_a_picture(number_of: int) -> None:
    element = parsed(noise_picture(0.5, np.full(number_of, 0.25), 0.0, 1.0))
    assert len(marks(element, "circle")) == min(number_of, MOST_DRAWN)


@pytest.mark.parametrize(
    ("value", "reports", "low", "high"),
    [(np.nan, [1.0], 0, 1), (0.5, [np.inf], 0, 1), (0.5, [0.5], 1, 0), (0.5, [0.5], 0, np.inf)],
)
def test_numbers_that_cannot_be_drawn_are_refused(
    value: float, reports: list[float], low: float, high: float
) -> None:
    with pytest.raises(ParameterError):
        noise_picture(value, np.array(reports), low, high)


def test_hostile_units_are_escaped() -> None:
    svg = noise_picture(0.5, np.array([0.5]), 0.0, 1.0, HOSTILE, HOSTILE)
    parsed(svg)
    assert "<script" not in svg
