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
from crowdveil.guarantee import Guarantee, Unit
from crowdveil.local.inverse_deviation import on_answers
from crowdveil.local.laplace_cells import LaplaceReports
from crowdveil.local.mechanism import Shortcut
from crowdveil.local.registry import MECHANISMS
from crowdveil.local.reports import CellMechanism, Reports, report
from crowdveil.local.request import MechanismRequest
from crowdveil.public_range import Range
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

    def epsilon_for(self, unit: Unit) -> float:
        """The epsilon of a mechanism whose own epsilon protects that unit."""
        return self.epsilon if unit == "user" else self.cell_epsilon

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
    rows = [row for name in _names() if (row := _row(name, plan, engine)) is not None]
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


def _names() -> list[str]:
    """The mechanisms for cells that `perturb` takes by name, except those that a shortcut leads to."""
    shortcuts = [entry for entry in MECHANISMS.values() if isinstance(entry, Shortcut)]
    chosen = {shortcut.mechanism.name for shortcut in shortcuts}
    return [name for name, entry in MECHANISMS.items() if entry.about == "cells" and name not in chosen]


def _mechanism(name: str, plan: SparsePlan) -> CellMechanism:
    """The mechanism that `perturb` would use for this plan."""
    entry, domain = MECHANISMS[name], plan.domain
    options = {"sparsity": plan.sparsity} if "sparsity" in entry.options else {}
    request = MechanismRequest(
        Range(float(domain.low), float(domain.high)),
        plan.epsilon_for(entry.unit),
        users=plan.users,
        objects=plan.objects,
        options=options,
    )
    mechanism: CellMechanism = entry.describe(request).build()
    return mechanism


def _row(name: str, plan: SparsePlan, engine: LocalEngine) -> dict[str, Any] | None:
    """The figures of a mechanism; None if it does not protect cells without an answer."""
    try:
        mechanism = _mechanism(name, plan)
    except ParameterError as error:
        return {"mechanism": name, "possible": False, "why": str(error)}
    cell, user = mechanism.promise("cell"), mechanism.promise("user", plan.objects)
    if not (isinstance(cell, Guarantee) and isinstance(user, Guarantee)):
        return None
    return {
        "mechanism": name,
        "possible": True,
        "cell_epsilon": cell.epsilon,
        "user_epsilon": user.epsilon,
        "bytes": _bytes(mechanism, plan.objects),
        "error": _mean_error(plan, mechanism, lambda sent: _truths(sent, plan.sparsity, engine)),
    }


def _bytes(mechanism: CellMechanism, objects: int) -> int:
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
    plan: SparsePlan, mechanism: CellMechanism | None, estimate: Callable[[Any], Floats | float]
) -> float:
    """Mean absolute error of `estimate` applied to the mechanism's reports, or to answers if it is None."""
    simulation = plan.simulation(per_user=mechanism is not None and mechanism.unit == "user")
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
    entry = MECHANISMS[mechanism]
    epsilon = plan.epsilon_for(entry.unit)
    stated = f" --sparsity {plan.sparsity:g}" if "sparsity" in entry.options else ""
    return (
        f"crowdveil perturb answers.csv -o reports.parquet --mechanism {mechanism}{stated} --epsilon "
        f"{epsilon!r} --range {plan.domain.low}:{plan.domain.high} --objects objects.txt --users users.txt"
    )
