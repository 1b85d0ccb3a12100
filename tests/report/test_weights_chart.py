"""Users' weights: the histogram counts everybody, and half of the weight is half of the weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import ParameterError
from crowdveil.report.drawing import BLUE
from crowdveil.report.weights_chart import half_of_weight, sentence, weights_chart
from svg_pictures import marks, parsed, place


@settings(deadline=None, derandomize=True, max_examples=100)
@given(weights=st.lists(st.integers(0, 50), min_size=1, max_size=40))
def test_the_fewest_users_who_carry_half(weights: list[int]) -> None:
    carriers = half_of_weight(np.array(weights, dtype=np.float64))
    heaviest = sorted(weights, reverse=True)
    if sum(weights) == 0:
        assert carriers == 0
        return
    assert 2 * sum(heaviest[:carriers]) >= sum(weights)
    assert 2 * sum(heaviest[: carriers - 1]) < sum(weights)


def test_the_chart_says_how_few_carry_half() -> None:
    weights = np.concatenate([np.full(10, 9.0), np.full(90, 1.0)])
    element = parsed(weights_chart(weights))
    assert sentence(weights) == "Half of the weight: 10 of 100 users (10.0\N{NO-BREAK SPACE}%)."
    assert element.get("aria-label") == sentence(weights)
    bars = [bar for bar in marks(element, "rect") if place(bar, "height") > 0]
    others, all_carriers, carriers = bars
    assert place(others, "height") == pytest.approx(9 * place(carriers, "height"), rel=0.02)
    assert place(all_carriers, "height") == place(carriers, "height")
    assert [bar.get("fill") == BLUE for bar in bars] == [False, False, True]


def test_equal_weights_are_half_blue() -> None:
    bars = [bar for bar in marks(parsed(weights_chart(np.ones(500))), "rect") if place(bar, "height") > 0]
    assert [bar.get("fill") == BLUE for bar in bars] == [False, True]
    assert place(bars[0], "height") == pytest.approx(2 * place(bars[1], "height"), rel=0.02)


@pytest.mark.parametrize("weights", [[], [0.0], [0.0, 0.0], [1.0], [2.0] * 7, [1e-300, 1e300], [5e-324]])
def test_any_weights_give_a_picture(weights: list[float]) -> None:
    parsed(weights_chart(np.array(weights)))


@pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0])
def test_weights_that_cannot_be_are_refused(weight: float) -> None:
    with pytest.raises(ParameterError):
        weights_chart(np.array([1.0, weight]))
