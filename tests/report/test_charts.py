"""The pages' pictures: right places, round ticks, well-formed SVG, nothing that breaks a page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from crowdveil.report.charts import HEIGHT, Chart, density_chart, histogram_chart
from crowdveil.report.drawing import WIDTH

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_a_line_runs_from_corner_to_corner_of_the_frame() -> None:
    chart = Chart((0.0, 0.0), (2.0, 4.0))
    chart.line(np.array([0.0, 2.0]), np.array([0.0, 4.0]), "red")
    found = re.search(r'points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)"', chart.svg("x", "y"))
    assert found is not None
    left, bottom, right, top = map(float, found.groups())
    assert 0 < left < right < WIDTH
    assert 0 < top < bottom < HEIGHT


def test_a_density_shows_curves_claims_and_outliers() -> None:
    points = np.linspace(-3, 3, 50)
    claims, far = np.array([-1.0, 0.0, 2.5]), np.array([False, False, True])
    picture = density_chart(points, {"uniform": np.exp(-(points**2)), "released": points**2}, claims, far)
    assert picture.count("<polyline") == 2
    assert picture.count("<circle") == 2
    assert picture.count("l5 5m0 -5l-5 5") == 1
    assert {"uniform", "released", "density", "value"} <= set(texts(picture))


def test_bars_of_a_histogram_are_as_high_as_their_counts() -> None:
    picture = histogram_chart(np.repeat([0.0, 9.0], [10, 30]), "value")
    heights = [
        float(bar.get("height", "nan")) for bar in ElementTree.fromstring(picture).iter(f"{NAMESPACE}rect")
    ]
    assert heights[-1] == pytest.approx(3 * heights[0], abs=0.2)
    assert max(heights[1:-1]) == 0


@pytest.mark.parametrize(
    "values",
    [
        [3.0],
        [2.0, 2.0, 2.0],
        [0.0, 0.0],
        [1e9, 1e9 + 1],
        [1e-12, 2e-12],
        [-1e300, 1e300],
        [1e16, 1e16 + 2],
        [1e16, 1e16],
        [-146359.3, -146359.3 + 7e-12],
        [1e150, 1e150],
    ],
)
def test_values_of_any_size_give_a_well_formed_picture(values: list[float]) -> None:
    picture = histogram_chart(np.array(values), "value")
    assert "nan" not in picture
    assert "inf" not in picture
    assert "currentColor" in picture
    assert len(set(texts(picture))) >= 3


def test_neighbouring_ticks_have_different_labels() -> None:
    points = np.linspace(1e6 - 0.5, 1e6 + 0.5, 20)
    labels = texts(density_chart(points, {"released": np.ones(20)}))
    numbers = [label for label in labels if label[0].isdigit()]
    assert len(numbers) == len(set(numbers))
