"""The mechanism that sparse answers need and the expected errors of its truths, before data are collected.

A plan (people, objects, domain, epsilon, expected sparsity) is turned into the parameters of each mechanism.
The expected answers are simulated, reported by these mechanisms and combined as by `discover`. Nothing is
charged, because no private data are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nextafter
from typing import Any, Literal

import numpy as np

from crowdveil.accounting.parameters import check_positive, check_whole
from crowdveil.answers import CellReports, Domain
from crowdveil.arrays import Floats
from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.evaluation.constants import mae, middle_of
from crowdveil.guarantee import Guarantee
from crowdveil.local.cell_response import CellResponse
from crowdveil.local.inverse_deviation import on_answers
from crowdveil.local.laplace_cells import LaplaceCells, LaplaceReports
from crowdveil.local.recommended import recommended_levels
from crowdveil.local.recommended_slots import recommended_slots
from crowdveil.local.reports import Reports, SparseMechanism, report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers
from crowdveil.truth import randomized
from crowdveil.truths import Truths

SEEDS = (1, 2, 3)
MOST_OBJECTS = 200  # largest number of simulated objects: they hardly depend on each other
MOST_USERS = 20_000
WORTHLESS = 0.9  # no mechanism is recommended above this share of the error of the domain's middle


@dataclass(frozen=True)
class SparsePlan:
    """The expected answers, and the requested privacy."""

    users: int
    objects: int
    domain: Domain
    epsilon: float
    sparsity: float
    spread: float | None = None  # of people's errors; default: a tenth of the domain's length
    unit: Literal["cell", "user"] = "cell"

    def __post_init__(self) -> None:
        check_whole(self.users, "the number of users")
        check_whole(self.objects, "the number of objects")
        check_positive(self.epsilon, "epsilon")
        check_positive(self.width, "the spread")
        if not 0 <= self.sparsity < 1:
            raise ParameterError(f"the share of empty cells must be in [0, 1), not {self.sparsity:g}")
        if self.unit not in ("cell", "user"):
            raise ParameterError(f"sparse answers are protected by cell or by user, not {self.unit!r}")

    @property
    def width(self) -> float:
        """The expected spread of people's errors."""
        return (self.domain.size - 1) / 10 if self.spread is None else self.spread

    @property
    def cell_epsilon(self) -> float:
        """The epsilon per cell of a mechanism that reports every cell."""
        return nextafter(self.epsilon / self.objects, 0.0) if self.unit == "user" else self.epsilon

    def simulation(self, *, per_user: bool) -> SimulatedAnswers:
        """The simulation, of at most MOST_OBJECTS objects and, if `per_user`, of users in proportion."""
        objects = min(self.objects, MOST_OBJECTS)
        users = self.users if not per_user else max(1, round(self.users * objects / self.objects))
        spread = {"good_sigma": self.width, "poor_sigma": self.width}
        return SimulatedAnswers(min(users, MOST_USERS), objects, self.sparsity, "wide", self.domain, **spread)


def plan_sparse(plan: SparsePlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Guarantees and expected errors of every mechanism, and the recommended one."""
    engine = engine or LocalEngine()
    middle = _mean_error(plan, None, lambda _: middle_of(plan.domain))
    rows = [_row(name, make, plan, engine) for name, make in CHOICES.items()]
    possible = [row for row in rows if row["possible"]]
    best = min(possible, key=lambda row: row["error"], default=None)
    useful = best is not None and best["error"] < WORTHLESS * middle
    return {
        "advice": best["mechanism"] if best is not None and useful else "none",
        "error": best["error"] if best is not None and useful else None,
        "command": _command(best["mechanism"], plan) if best is not None and useful else None,
        "then": _then(best["mechanism"], plan) if best is not None and useful else None,
        "unit": plan.unit,
        "spread": plan.width,
        "answers_per_object": plan.users * (1 - plan.sparsity),
        "fewer_users_simulated": plan.users > MOST_USERS,
        "without_noise": {"error": _mean_error(plan, None, lambda a: on_answers(a).estimates)},
        "range_only": {"error": middle},
        "mechanisms": rows,
    }


CHOICES: dict[str, Callable[[SparsePlan], SparseMechanism]] = {
    "auto": lambda plan: CellResponse(
        plan.cell_epsilon, plan.domain, recommended_levels(plan.cell_epsilon, plan.domain, plan.sparsity)
    ),
    "rr": lambda plan: CellResponse(plan.cell_epsilon, plan.domain),
    "three-symbols": lambda plan: CellResponse(plan.cell_epsilon, plan.domain, 2),
    "lp": lambda plan: LaplaceCells(plan.cell_epsilon, plan.domain),
    "two-layer": lambda plan: TwoLayer(plan.cell_epsilon / 2, plan.domain),
    "mf-sound": lambda plan: SoundFactorization(plan.cell_epsilon, plan.domain),
    "slots": lambda plan: recommended_slots(
        plan.epsilon, plan.domain, plan.users, plan.objects, plan.sparsity
    ),
}
"""Each mechanism for a plan; the paper's factorization is left out, because it does not protect NULL."""


def _row(
    name: str, make: Callable[[SparsePlan], SparseMechanism], plan: SparsePlan, engine: LocalEngine
) -> dict[str, Any]:
    try:
        mechanism = make(plan)
    except ParameterError as error:
        return {"mechanism": name, "possible": False, "why": str(error)}
    cell, user = mechanism.cell_level(), mechanism.user_level(plan.objects)
    assert isinstance(cell, Guarantee)
    assert isinstance(user, Guarantee)
    return {
        "mechanism": name,
        "possible": True,
        "cell_epsilon": cell.epsilon,
        "user_epsilon": user.epsilon,
        "bytes": _bytes(mechanism, plan.objects),
        "error": _mean_error(plan, mechanism, lambda sent: _truths(sent, plan.sparsity, engine)),
    }


def _bytes(mechanism: SparseMechanism, objects: int) -> int:
    """Number of bytes that a device sends."""
    length, kind = mechanism.row(objects)
    return length * np.dtype(kind).itemsize


def _truths(reports: Reports, sparsity: float, engine: LocalEngine) -> Floats:
    """Estimates from reports as by `discover`, with the expected sparsity where it has to be stated."""
    sent = reports.read()
    if isinstance(sent, LaplaceReports):
        sent = sent.cells(1.0 - sparsity)
    truths: Truths = (
        randomized.discover(sent, engine=engine) if isinstance(sent, CellReports) else sent.truths()
    )
    return truths.estimates


def _mean_error(
    plan: SparsePlan, mechanism: SparseMechanism | None, estimate: Callable[[Any], Floats | float]
) -> float:
    """Mean absolute error of `estimate` applied to the mechanism's reports, or to answers if it is None."""
    simulation = plan.simulation(per_user=isinstance(mechanism, SlotResponse))
    errors = []
    for seed in SEEDS:
        rng = seeded(seed)
        answers = simulation.answers(rng=rng)
        data = answers if mechanism is None else report(answers, mechanism, rng=rng)
        errors.append(mae(estimate(data), simulation.truth_values(rng=rng)))
    return float(np.mean(errors))


def _then(mechanism: str, plan: SparsePlan) -> str:
    stated = f" --sparsity {plan.sparsity:g}" if mechanism in ("lp", "slots") else ""
    return f"crowdveil discover reports.parquet -o truths.csv{stated}"


def _command(mechanism: str, plan: SparsePlan) -> str:
    epsilon = plan.epsilon if mechanism == "slots" else plan.cell_epsilon
    stated = f" --sparsity {plan.sparsity:g}" if mechanism in ("auto", "slots") else ""
    return (
        f"crowdveil perturb answers.csv -o reports.parquet --mechanism {mechanism}{stated} --epsilon "
        f"{epsilon!r} --range {plan.domain.low}:{plan.domain.high} --objects objects.txt --users users.txt"
    )
