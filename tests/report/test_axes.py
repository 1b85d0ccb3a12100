"""Axes: round numbers inside, places between both ends, labels that fit and differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import ParameterError
from crowdveil.report.axes import Axis, logarithmic_ticks, padded, ticks

modest = settings(deadline=None, derandomize=True, max_examples=100)


@modest
@given(low=st.floats(-1e9, 1e9), width=st.floats(1e-6, 1e9), most=st.integers(2, 9))
def test_ticks_are_round_inside_and_few(low: float, width: float, most: int) -> None:
    high = low + width
    if high <= low:
        return
    chosen = ticks(low, high, most)
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert chosen.size <= most
    assert (chosen >= low - slack).all()
    assert (chosen <= high + slack).all()
    if chosen.size > 1:
        step = float(np.diff(chosen).mean())
        assert f"{step:.0e}"[0] in "125"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 10.0, [0, 2, 4, 6, 8, 10]), (-0.3, 0.31, [-0.2, 0.0, 0.2]), (5.0, 5.0, [5.0])],
)
def test_ticks_of_known_ranges(low: float, high: float, expected: list[float]) -> None:
    np.testing.assert_allclose(ticks(low, high), expected, atol=1e-12)


@modest
@given(low=st.floats(1e-9, 1e6), factor=st.floats(1.01, 1e9), most=st.integers(2, 9))
def test_logarithmic_ticks_are_inside_few_and_never_none(low: float, factor: float, most: int) -> None:
    chosen = logarithmic_ticks(low, low * factor, most)
    assert 1 <= chosen.size <= most
    assert (chosen >= low * (1 - 1e-6)).all()
    assert (chosen <= low * factor * (1 + 1e-6)).all()


def test_places_on_both_kinds_of_axis() -> None:
    assert Axis(0, 10, 100, 200).place(2.5) == pytest.approx(125)
    assert Axis(1, 100, 0, 1, logarithmic=True).place(10) == pytest.approx(0.5)
    assert [label for label, _ in Axis(0.1, 10, 0, 1, logarithmic=True).labels()] == [
        "0.1",
        "0.3",
        "1",
        "3",
        "10",
    ]


def test_fewer_labels_where_they_are_long() -> None:
    axis = Axis(0, 1e7, 0, 300)
    assert len(axis.labels(6)) == 6
    fitting = [label for label, _ in axis.labels(6, 40)]
    assert fitting == ["0", "5,000,000", "10,000,000"]


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)])
def test_an_axis_needs_two_ends(ends: tuple[float, float]) -> None:
    with pytest.raises(ParameterError):
        Axis(*ends, 0, 1)
    with pytest.raises(ParameterError):
        Axis(0.0, 1.0, 0, 1, logarithmic=True)


@modest
@given(values=st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=5))
def test_padding_always_leaves_an_axis(values: list[float]) -> None:
    low, high = padded(np.array(values))
    assert low < min(values)
    assert high > max(values)
