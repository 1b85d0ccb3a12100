"""Descent to the lowest place: known ones are found, and nothing ever climbs."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.arrays import Floats
from crowdveil.synthesis.descent import lowest


def test_the_bottom_of_a_bowl_is_found() -> None:
    """Curvatures from 1 to 10,000."""
    curvature = np.logspace(0, 4, 50)
    bottom = np.linspace(-3, 3, 50)

    def slopes(x: Floats) -> tuple[float, Floats]:
        return float(0.5 * curvature @ np.square(x - bottom)), curvature * (x - bottom)

    np.testing.assert_allclose(lowest(slopes, np.zeros(50), steps=500), bottom, atol=1e-3)


def test_a_curved_valley_is_followed() -> None:
    """Rosenbrock's, in ten dimensions, whose lowest place is (1, ..., 1)."""

    def slopes(x: Floats) -> tuple[float, Floats]:
        bend, off = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        slope = np.zeros_like(x)
        slope[:-1] = -400 * x[:-1] * bend - 2 * off
        slope[1:] += 200 * bend
        return float(100 * bend @ bend + off @ off), slope

    np.testing.assert_allclose(lowest(slopes, np.full(10, -0.5), steps=1000), 1.0, atol=1e-3)


def test_no_step_climbs_and_steps_are_counted() -> None:
    """Heights that are no numbers, as beyond the edge of what can be computed, are stepped back from."""
    tried: list[float] = []

    def slopes(x: Floats) -> tuple[float, Floats]:
        with np.errstate(invalid="ignore", divide="ignore"):
            height = float((x - np.log(x)).sum())
        tried.append(height)
        return height, 1 - 1 / x

    start = np.array([0.01, 50.0])
    heights = [slopes(lowest(slopes, start, steps=steps))[0] for steps in (0, 1, 2, 4, 50)]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] == slopes(start)[0]
    assert heights[-1] == pytest.approx(2.0, abs=1e-6)
    assert not np.isfinite(tried).all()


def test_at_the_bottom_nothing_moves() -> None:
    place = np.array([2.0, -1.0])
    found = lowest(lambda x: (0.0, np.zeros(2)), place, steps=10)
    np.testing.assert_array_equal(found, place)
