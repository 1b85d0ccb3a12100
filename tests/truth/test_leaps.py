"""Leaps end where single steps would, sooner, and never lead to a worse place."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.arrays import Floats
from crowdveil.truth.leaps import Leaps

END = np.array([1.0, -2.0, 3.0])
LEFT = np.array([0.99, 0.9, 0.5])  # of the way, after a step


def creep(place: Floats) -> tuple[Floats, float]:
    return END + LEFT * (place - END), -float(np.abs(place - END).sum())


def test_leaps_end_where_steps_do_and_sooner() -> None:
    leaps, place = Leaps(creep), np.zeros(3)
    for _ in range(20):
        place = leaps.leap(place)
    slow = np.zeros(3)
    for _ in range(60):
        slow, _good = creep(slow)
    assert place == pytest.approx(END, abs=1e-3)
    assert np.abs(slow - END).max() > 0.5


def test_a_leap_to_a_worse_place_is_not_taken() -> None:
    def cliff(place: Floats) -> tuple[Floats, float]:
        return place + 1.0, float(place[0]) if place[0] < 2.5 else -1.0

    leaps = Leaps(cliff)
    assert leaps.leap(np.zeros(1)).tolist() == [2.0]
    assert leaps.longest == 1.0


def test_what_has_settled_stays() -> None:
    assert Leaps(creep).leap(END).tolist() == END.tolist()
