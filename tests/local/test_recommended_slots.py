"""Which slots, lists and levels: the least error that is foreseen, and what it is worth."""

from __future__ import annotations

from math import exp, expm1, sqrt
from typing import Any

import numpy as np
import pytest

from crowdveil.answers import Domain
from crowdveil.errors import ParameterError
from crowdveil.evaluation.constants import mae
from crowdveil.local.recommended_slots import candidates, expected_error, recommended_slots
from crowdveil.local.reports import report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers

TEN = Domain(0, 9)


def best(epsilon: float, sparsity: float) -> SlotResponse:
    return recommended_slots(epsilon, TEN, 2000, 200, sparsity, seed=3)


def test_lists_grow_with_sparsity_and_epsilon_and_slots_with_epsilon_alone() -> None:
    few, many, low, high = best(4.0, 0.1), best(4.0, 0.9), best(1.0, 0.1), best(8.0, 0.1)
    assert few.slots == many.slots == low.slots == 1
    assert few.listed == low.listed == 1 < many.listed < best(8.0, 0.9).listed
    assert low.rounded_to < few.rounded_to == 10
    assert high.slots == 2
    assert few.seed == 3
    least = min(expected_error(one, 2000, 200, 0.1) for one in candidates(4.0, TEN, 200))
    assert expected_error(few, 2000, 200, 0.1) == least


def test_some_devices_name_no_object_where_single_objects_tell_nothing() -> None:
    assert best(1.0, 0.9).unnamed
    assert best(0.5, 0.99).unnamed
    assert best(8.0, 0.5).unnamed is None


def test_errors_fall_with_users_and_epsilon_and_little_is_known_without() -> None:
    tried = [expected_error(SlotResponse(epsilon, TEN), 2000, 200, 0.5) for epsilon in (0.01, 1.0, 4.0)]
    assert tried == sorted(tried, reverse=True)
    unknown = np.mean([sqrt((spread * 9) ** 2 + 81 / 12) for spread in (0.1, 0.3)])
    assert tried[0] == pytest.approx(unknown, rel=0.01)
    assert expected_error(SlotResponse(4.0, TEN), 20_000, 200, 0.5) < tried[2]


@pytest.mark.parametrize(("sparsity", "epsilon"), [(0.9, 4.0), (0.5, 8.0), (0.1, 4.0)])
def test_no_neighbour_of_what_is_recommended_is_much_better(sparsity: float, epsilon: float) -> None:
    simulation, chosen = SimulatedAnswers(2000, 200, sparsity, "wide"), best(epsilon, sparsity)
    others = [(1, 1, 2), (1, 1, 10), (2, 1, 5), (1, 8, 4), (1, 32, 10), (2, 4, 4)]
    tried = [chosen, *(SlotResponse(epsilon, TEN, *sizes, seed=3) for sizes in others)]
    errors = np.empty((3, len(tried)))
    for seed in range(3):
        answers = simulation.answers(rng=seeded(seed))
        truths = simulation.truth_values(rng=seeded(seed))
        for place, parameters in enumerate(tried):
            found = report(answers, parameters, rng=seeded(seed)).read().truths(sparsity)
            errors[seed, place] = mae(found.estimates, truths)
    assert errors.mean(axis=0)[0] < 1.1 * errors.mean(axis=0)[1:].min()


def test_to_split_epsilon_over_slots_is_never_better_than_all_slots_at_once() -> None:
    """Information of k reports of S symbols that are true with chance a, about a symbol of chance c."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0):
        for symbols in (3, 5, 11, 41, 101):
            for chance in (0.01, 0.1 / (symbols - 1), 1.0 / (symbols - 1), 1.0):

                def information(signal: float, slots: int, c: float = chance, s: int = symbols) -> float:
                    return slots * (signal * c) ** 2 / ((1 - signal) / s + signal * c)

                together = [
                    information(expm1(epsilon) / (exp(epsilon) + float(symbols) ** k - 1), k)
                    for k in range(1, 8)
                ]
                split = [
                    information(expm1(epsilon / k) / (exp(epsilon / k) + symbols - 1), k) for k in range(1, 8)
                ]
                assert max(split) <= max(together) * (1 + 1e-12)


@pytest.mark.parametrize("wrong", [{"sparsity": 1.5}, {"sparsity": -0.1}, {"users": 0}, {"objects": 0}])
def test_impossible_figures_are_refused(wrong: dict[str, Any]) -> None:
    asked = {"users": 10, "objects": 10, "sparsity": 0.5, **wrong}
    with pytest.raises(ParameterError):
        expected_error(SlotResponse(1.0, TEN), **asked)


@pytest.mark.parametrize("objects", [1, 2, 7])
def test_a_few_objects_and_answers_are_enough(objects: int) -> None:
    for domain in (Domain(0, 1), Domain(-3, 2)):
        chosen = recommended_slots(2.0, domain, 5, objects, 0.5)
        assert chosen.slots * chosen.listed <= objects
        assert 2 <= chosen.rounded_to <= domain.size
