"""Errors of estimates from sparse answers under user-level privacy.

The mechanism is `local.slot_response`. Its error is compared with those of three constants: the best one,
which is unknown in practice; one estimated from reports; and the middle of the domain.
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


def trial(
    simulation: SimulatedAnswers, mechanisms: Iterable[SlotResponse], seed: int
) -> list[dict[str, Any]]:
    """The errors of each mechanism, of constants and of original answers, in one simulation."""
    rng = seeded(seed)
    answers, truths = simulation.answers(rng=rng), simulation.truth_values(rng=rng)
    shared = {
        "users": simulation.users,
        "objects": simulation.objects,
        "sparsity": simulation.sparsity,
        "truths": simulation.truths,
        "best_constant": mae(best_constant(truths), truths),
        "middle": mae(middle_of(simulation.domain), truths),
        "original": mae(on_answers(answers).estimates, truths),
    }
    rows = []
    for parameters in mechanisms:
        beliefs = report(answers, parameters, rng=rng).read().beliefs(simulation.sparsity)
        settings = {name: getattr(parameters, name) for name in ("epsilon", "slots", "listed", "unnamed")}
        scores = {"constant": mae(beliefs.constant(), truths), "mae": mae(beliefs.medians(), truths)}
        rows.append(shared | settings | {"levels": parameters.rounded_to} | scores)
    return rows


def at_best(simulation: SimulatedAnswers, epsilons: Iterable[float], seed: int) -> list[dict[str, Any]]:
    """`trial` with the recommended parameters for each epsilon; the seed also assigns the lists."""
    public = (simulation.domain, simulation.users, simulation.objects, simulation.sparsity)
    return trial(simulation, [recommended_slots(epsilon, *public, seed=seed) for epsilon in epsilons], seed)
