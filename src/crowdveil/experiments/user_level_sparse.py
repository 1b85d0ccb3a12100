"""Sparse answers with one epsilon for all that a user answered: how near do estimates come?

The mechanism is `local.slot_response`. Beside its error stand those of three constants: the best one, which
nobody knows; the one that reports tell; and the middle of the domain.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crowdveil.evaluation.constants import best_constant, mae, middle_of
from crowdveil.local.inverse_deviation import on_answers
from crowdveil.local.recommended_slots import recommended_slots
from crowdveil.local.reports import report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers


def trial(simulation: SimulatedAnswers, tried: Iterable[SlotResponse], seed: int) -> list[dict[str, Any]]:
    """The error of each mechanism on one simulation, with those of constants and of original answers."""
    rng = seeded(seed)
    answers, truths = simulation.answers(rng=rng), simulation.truth_values(rng=rng)
    known = {
        "users": simulation.users,
        "objects": simulation.objects,
        "sparsity": simulation.sparsity,
        "truths": simulation.truths,
        "best_constant": mae(best_constant(truths), truths),
        "middle": mae(middle_of(simulation.domain), truths),
        "original": mae(on_answers(answers).estimates, truths),
    }
    rows = []
    for parameters in tried:
        found = report(answers, parameters, rng=rng).read().beliefs(simulation.sparsity)
        told = {name: getattr(parameters, name) for name in ("epsilon", "slots", "listed", "unnamed")}
        scores = {"constant": mae(found.constant(), truths), "mae": mae(found.medians(), truths)}
        rows.append(known | told | {"levels": parameters.rounded_to} | scores)
    return rows


def at_best(simulation: SimulatedAnswers, epsilons: Iterable[float], seed: int) -> list[dict[str, Any]]:
    """The same with the parameters that are recommended for each epsilon; the seed also deals the lists."""
    known = (simulation.domain, simulation.users, simulation.objects, simulation.sparsity)
    return trial(simulation, [recommended_slots(epsilon, *known, seed=seed) for epsilon in epsilons], seed)
