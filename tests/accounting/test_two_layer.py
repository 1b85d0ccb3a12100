"""The 2-Layer mechanism: the stated epsilons, and what the other cells show, enumerated."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest
from scipy.integrate import quad

from crowdveil import accounting


@pytest.mark.parametrize(("cells", "epsilon"), [(1, 1.045), (5, 1.586), (30, 1.921), (100, 1.976)])
def test_two_layer_has_the_stated_epsilons(cells: int, epsilon: float) -> None:
    assert accounting.two_layer_epsilon(1.0, 6, cells) == pytest.approx(epsilon, abs=5e-4)


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_two_layer_equals_enumeration_of_what_the_other_cells_show(cells: int) -> None:
    answers, mean = 6, 1.0

    def chance(kept: int) -> float:
        def density(own: float) -> float:
            total = answers - 1 + exp(own)
            return (exp(own) / total) ** kept * total ** (kept - cells)

        return float(quad(density, 0, 2 * mean, epsabs=1e-14)[0]) / (2 * mean)

    ratios = [log(chance(others + 1) / chance(others)) for others in range(cells)]
    assert accounting.two_layer_epsilon(mean, answers, cells) == pytest.approx(max(ratios), rel=1e-9)
    assert max(ratios) == ratios[-1] < 2 * mean
    assert accounting.two_layer_epsilon(mean, answers, 10**6) == pytest.approx(2 * mean, abs=1e-5)


@pytest.mark.parametrize(
    ("mean", "answers", "cells", "exact"),
    [
        (1e-3, 3, 5, "0.001000944073339531496456"),
        (1.0, 6, 30, "1.921336978320102257885545"),
        (20.0, 2, 700, "10.04228470359022986622802"),
        (50.0, 6, 30, "9.524581000577985088735164"),
        (300.0, 1000, 4, "14.38762277227491738552208"),
        (1000.0, 6, 30, "12.57484676925510901784598"),
    ],
)
def test_two_layer_is_never_below_the_closed_form(mean: float, answers: int, cells: int, exact: str) -> None:
    # The integral of k^N by its recursion, computed once to 9000 digits with mpmath.
    found = accounting.two_layer_epsilon(mean, answers, cells)
    assert 0 <= Fraction(found) - Fraction(exact) <= 1e-12


@pytest.mark.parametrize("cells", [1, 2, 30, 10**6, 10**30])
def test_two_layer_grows_with_the_mean_up_to_twice_of_it(cells: int) -> None:
    means = [1e-100, 1e-9, 0.1, 1.0, 10.0, 100.0, 1e4, 1e15, 1e100]
    found = [accounting.two_layer_epsilon(mean, 6, cells) for mean in means]
    assert found == sorted(found)
    assert all(0 < epsilon <= 2 * mean for epsilon, mean in zip(found, means, strict=True))
    # E[k^N] is at most 1: with much to draw from the epsilon grows like the mean's logarithm only.
    assert found[-1] <= log(2e100 * 5 * cells) + 1e-9
