"""The law of an answer: sums to 1, clamps at the ends, and broadcasts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from crowdveil.answer_law import answer_law
from crowdveil.answers import Domain


def test_each_answer_has_the_chance_of_what_rounds_to_it() -> None:
    law = answer_law(2.3, 1.7, Domain(0, 4))
    inner = [norm.cdf(x + 0.5, 2.3, 1.7) - norm.cdf(x - 0.5, 2.3, 1.7) for x in (1, 2, 3)]
    expected = [norm.cdf(0.5, 2.3, 1.7), *inner, norm.sf(3.5, 2.3, 1.7)]
    assert law == pytest.approx(expected, abs=1e-12)


def test_truths_and_sigmas_broadcast() -> None:
    truths, sigmas, domain = np.linspace(-3, 12, 7), np.array([0.25, 1.0, 5.0]), Domain(0, 9)
    laws = answer_law(truths[:, None], sigmas, domain)
    assert laws.shape == (7, 3, 10)
    assert laws.sum(axis=2) == pytest.approx(1.0)
    assert (laws[:, 1] == answer_law(truths, 1.0, domain)).all()
    assert laws[0, 0, 0] == laws[-1, 0, -1] == 1.0
