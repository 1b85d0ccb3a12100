"""Errors over epsilon: a logarithmic axis, a curve for each number of people, the choice marked."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.arrays import Floats
from crowdveil.errors import ParameterError
from crowdveil.report.drawing import BLUE
from crowdveil.report.error_curve import error_curve
from svg_pictures import HOSTILE, marks, parsed, place, words

EPSILONS = np.geomspace(0.1, 10.0, 21)


def points(line: str) -> Floats:
    return np.array([[float(part) for part in pair.split(",")] for pair in line.split()])


def test_a_power_law_is_a_straight_line() -> None:
    element = parsed(error_curve(EPSILONS, {100: 1 / EPSILONS, 10_000: 0.1 / EPSILONS}, label="error (dB)"))
    lines = [points(line.get("points", "")) for line in marks(element, "polyline")]
    assert len(lines) == 2
    for line in lines:
        steps = np.diff(line, axis=0)
        np.testing.assert_allclose(steps, np.broadcast_to(steps.mean(axis=0), steps.shape), atol=0.2)
    assert (lines[1][:, 1] > lines[0][:, 1]).all()  # more people, a smaller error, farther down
    assert {"100 people", "10,000 people", "0.1", "1", "10"} <= set(words(element))
    assert element.get("aria-label") == "error (dB) over epsilon"


def test_the_choice_is_marked_on_its_curve() -> None:
    element = parsed(
        error_curve(EPSILONS, {100: 1 / EPSILONS, 1000: 0.3 / EPSILONS}, epsilon=1.0, people=1000)
    )
    (dot,) = marks(element, "circle")
    chosen = [line for line in marks(element, "polyline") if line.get("stroke") == BLUE]
    assert len(chosen) == 1
    middle = points(chosen[0].get("points", ""))[10]
    assert [place(dot, "cx"), place(dot, "cy")] == pytest.approx(middle.tolist(), abs=0.11)
    assert "0.3 at epsilon 1" in "".join(dot.itertext())


def test_one_person_is_a_person() -> None:
    epsilons = np.array([0.5, 1.0, 2.0])
    element = parsed(error_curve(epsilons, {1: 3 / epsilons, 10: 1 / epsilons}))
    assert {"1 person", "10 people"} <= set(words(element))


def test_a_choice_outside_the_axis_or_without_a_curve_has_no_dot() -> None:
    for epsilon, people in ((50.0, 100), (1.0, 7), (1.0, None)):
        element = parsed(error_curve(EPSILONS, {100: 1 / EPSILONS}, epsilon=epsilon, people=people))
        assert not marks(element, "circle")


def test_errors_that_are_close_have_an_axis_from_zero() -> None:
    element = parsed(error_curve(EPSILONS, {10: 1 / (10 + EPSILONS)}))
    assert {"0.00", "0.05", "0.10"} & set(words(element)) or "0.0" in words(element)


def test_unknown_errors_leave_a_gap() -> None:
    curve = 1 / EPSILONS
    curve[5:8] = np.nan, np.inf, 0.0
    element = parsed(error_curve(EPSILONS, {10: curve}, epsilon=1.0, people=10))
    assert [len(points(line.get("points", ""))) for line in marks(element, "polyline")] == [5, 13]
    assert not marks(parsed(error_curve(EPSILONS, {10: curve * np.nan})), "polyline")
    parsed(error_curve(EPSILONS, {}))


def test_names_of_close_curves_are_apart() -> None:
    element = parsed(error_curve(EPSILONS, dict.fromkeys((10, 11, 12), 1 / EPSILONS)))
    heights = [place(text, "y") for text in marks(element, "text") if (text.text or "").endswith("people")]
    assert np.diff(sorted(heights)).min() >= 12


@pytest.mark.parametrize("epsilons", [[1.0], [2.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
def test_epsilons_that_make_no_axis_are_refused(epsilons: list[float]) -> None:
    with pytest.raises(ParameterError):
        error_curve(np.array(epsilons), {10: np.ones(len(epsilons))})


def test_a_curve_of_another_length_is_refused() -> None:
    with pytest.raises(ParameterError):
        error_curve(EPSILONS, {10: np.ones(3)})


def test_hostile_labels_are_escaped() -> None:
    svg = error_curve(EPSILONS, {10: 1 / EPSILONS}, label=HOSTILE)
    parsed(svg)
    assert "<script" not in svg
