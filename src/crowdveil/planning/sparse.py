"""Before anybody is asked anything: which mechanism sparse answers need, and what their truths will be worth.

A wish (people, objects, domain, epsilon, expected sparsity) becomes the parameters of each mechanism. Answers
are simulated as expected, reported by these very mechanisms and combined as `discover` would. Nothing is
charged, because nothing private is looked at.
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
from crowdveil.local.reports import CellMechanism, Reports, report
from crowdveil.local.slot_response import SlotResponse
from crowdveil.local.sound_factorization import SoundFactorization
from crowdveil.local.two_layer import TwoLayer
from crowdveil.randomness import seeded
from crowdveil.simulation.sparse import SimulatedAnswers
from crowdveil.truth import randomized
from crowdveil.truths import Truths

SEEDS = (1, 2, 3)
MOST_OBJECTS = 200  # that are simulated: they hardly depend on each other
MOST_USERS = 20_000
WORTHLESS = 0.9  # of the error of the middle of the domain: not worth asking


@dataclass(frozen=True)
class SparsePlan:
    """What the operator expects, and what she wishes."""

    users: int
    objects: int
    domain: Domain
    epsilon: float
    sparsity: float
    spread: float | None = None  # of people's errors; default a tenth of the domain's length
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
        """What a mechanism may spend on a cell that spends on every one."""
        return nextafter(self.epsilon / self.objects, 0.0) if self.unit == "user" else self.epsilon

    def simulation(self, *, per_user: bool) -> SimulatedAnswers:
        """Fewer objects than expected, where there are many; then also fewer users if each is asked once."""
        objects = min(self.objects, MOST_OBJECTS)
        users = self.users if not per_user else max(1, round(self.users * objects / self.objects))
        spread = {"good_sigma": self.width, "poor_sigma": self.width}
        return SimulatedAnswers(min(users, MOST_USERS), objects, self.sparsity, "wide", self.domain, **spread)


def plan_sparse(wish: SparsePlan, *, engine: LocalEngine | None = None) -> dict[str, Any]:
    """Promises and expected errors of every mechanism, and which one to use."""
    engine = engine or LocalEngine()
    middle = _mean_error(wish, None, lambda _: middle_of(wish.domain))
    rows = [_row(name, make, wish, engine) for name, make in CHOICES.items()]
    possible = [row for row in rows if row["possible"]]
    best = min(possible, key=lambda row: row["error"], default=None)
    useful = best is not None and best["error"] < WORTHLESS * middle
    return {
        "advice": best["mechanism"] if best is not None and useful else "none",
        "error": best["error"] if best is not None and useful else None,
        "command": _command(best["mechanism"], wish) if best is not None and useful else None,
        "then": _then(best["mechanism"], wish) if best is not None and useful else None,
        "unit": wish.unit,
        "spread": wish.width,
        "answers_per_object": wish.users * (1 - wish.sparsity),
        "fewer_users_simulated": wish.users > MOST_USERS,
        "without_noise": {"error": _mean_error(wish, None, lambda a: on_answers(a).estimates)},
        "range_only": {"error": middle},
        "mechanisms": rows,
    }


CHOICES: dict[str, Callable[[SparsePlan], CellMechanism]] = {
    "auto": lambda wish: CellResponse(
        wish.cell_epsilon, wish.domain, recommended_levels(wish.cell_epsilon, wish.domain, wish.sparsity)
    ),
    "rr": lambda wish: CellResponse(wish.cell_epsilon, wish.domain),
    "three-symbols": lambda wish: CellResponse(wish.cell_epsilon, wish.domain, 2),
    "lp": lambda wish: LaplaceCells(wish.cell_epsilon, wish.domain),
    "two-layer": lambda wish: TwoLayer(wish.cell_epsilon / 2, wish.domain),
    "mf-sound": lambda wish: SoundFactorization(wish.cell_epsilon, wish.domain),
    "slots": lambda wish: recommended_slots(
        wish.epsilon, wish.domain, wish.users, wish.objects, wish.sparsity
    ),
}
"""Each mechanism for a wish; the paper's factorization is not among them, as it hides no NULL."""


def _row(
    name: str, make: Callable[[SparsePlan], CellMechanism], wish: SparsePlan, engine: LocalEngine
) -> dict[str, Any]:
    try:
        mechanism = make(wish)
    except ParameterError as error:
        return {"mechanism": name, "possible": False, "why": str(error)}
    cell, user = mechanism.promise("cell"), mechanism.promise("user", wish.objects)
    assert isinstance(cell, Guarantee)
    assert isinstance(user, Guarantee)
    return {
        "mechanism": name,
        "possible": True,
        "cell_epsilon": cell.epsilon,
        "user_epsilon": user.epsilon,
        "bytes": _bytes(mechanism, wish.objects),
        "error": _mean_error(wish, mechanism, lambda sent: _truths(sent, wish.sparsity, engine)),
    }


def _bytes(mechanism: CellMechanism, objects: int) -> int:
    """What a device sends."""
    many, kind = mechanism.row(objects)
    return many * np.dtype(kind).itemsize


def _truths(reports: Reports, sparsity: float, engine: LocalEngine) -> Floats:
    """What `discover` finds in reports, told what was expected."""
    sent = reports.read()
    if isinstance(sent, LaplaceReports):
        sent = sent.cells(1.0 - sparsity)
    found: Truths = (
        randomized.discover(sent, engine=engine) if isinstance(sent, CellReports) else sent.truths()
    )
    return found.estimates


def _mean_error(
    wish: SparsePlan, mechanism: CellMechanism | None, found: Callable[[Any], Floats | float]
) -> float:
    """The mean absolute error of what is found in reports, or in answers themselves."""
    simulation = wish.simulation(per_user=isinstance(mechanism, SlotResponse))
    errors = []
    for seed in SEEDS:
        rng = seeded(seed)
        answers = simulation.answers(rng=rng)
        seen = answers if mechanism is None else report(answers, mechanism, rng=rng)
        errors.append(mae(found(seen), simulation.truth_values(rng=rng)))
    return float(np.mean(errors))


def _then(mechanism: str, wish: SparsePlan) -> str:
    stated = f" --sparsity {wish.sparsity:g}" if mechanism in ("lp", "slots") else ""
    return f"crowdveil discover reports.parquet -o truths.csv{stated}"


def _command(mechanism: str, wish: SparsePlan) -> str:
    epsilon = wish.epsilon if mechanism == "slots" else wish.cell_epsilon
    stated = f" --sparsity {wish.sparsity:g}" if mechanism in ("auto", "slots") else ""
    return (
        f"crowdveil perturb answers.csv -o reports.parquet --mechanism {mechanism}{stated} --epsilon "
        f"{epsilon!r} --range {wish.domain.low}:{wish.domain.high} --objects objects.txt --users users.txt"
    )
