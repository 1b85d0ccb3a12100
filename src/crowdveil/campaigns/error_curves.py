"""The expected error of a campaign's estimates over epsilon and people, for the request of an operator.

No data are used, and nothing is charged. It is fast enough to be computed anew while she types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdveil.arrays import Floats
from crowdveil.campaigns.kind import Kind
from crowdveil.campaigns.records import RecordsKind
from crowdveil.campaigns.registry import KINDS
from crowdveil.campaigns.request import MOST_EXPECTED, SPARSITY, described, epsilon_of, options_of, people_of
from crowdveil.campaigns.sensing import Sensing
from crowdveil.campaigns.sparse import Sparse
from crowdveil.errors import ParameterError
from crowdveil.local.slot_response import SlotResponse
from crowdveil.local.split_epsilon import share_of
from crowdveil.planning import sensing_curve, sparse_curve
from crowdveil.planning.records_curve import records_errors
from crowdveil.public_range import Range
from crowdveil.report.language import say
from crowdveil.report.numbers import share

POINTS = 7
LEAST, MOST = 0.1, 20.0  # epsilons of a curve, unless the chosen one lies outside
AROUND = 8.0  # a curve goes from a chosen epsilon over this to that times this

Errors = Callable[[float, tuple[int, ...]], list[float]]
"""Expected errors at an epsilon, for each number of people."""


@dataclass(frozen=True, eq=False)
class ErrorCurves:
    """Expected errors, as `report.error_curve` draws them.

    Parameters
    ----------
    epsilons:
        Ascending; the chosen one is among them.
    errors:
        For each number of people an error at each epsilon; NaN where there is no such campaign.
    epsilon, people:
        The current choice.
    label:
        What is measured, with its unit.
    assumptions:
        One sentence for people to read.

    """

    epsilons: Floats
    errors: Mapping[int, Floats]
    epsilon: float
    people: int
    label: str
    assumptions: str


def error_curves(request: Mapping[str, Any]) -> ErrorCurves | None:
    """The curves of a requested campaign; None if its mechanism takes no epsilon.

    Raises `ParameterError` for what no campaign can be.
    """
    kind, epsilon, people = (
        KINDS[str(request.get("kind"))].asked(request),
        epsilon_of(request),
        people_of(request),
    )
    if epsilon is None:
        return None
    errors_at, label, assumptions = _expected(kind, request)
    epsilons, numbers = epsilons_around(epsilon), people_around(people)
    table = np.array([_or_none(errors_at, each, numbers) for each in epsilons.tolist()])
    curves = {number: table[:, place] for place, number in enumerate(numbers)}
    return ErrorCurves(epsilons, curves, epsilon, people, label, assumptions)


def epsilons_around(epsilon: float) -> Floats:
    """Log-spaced epsilons around one of them, from LEAST to MOST or to that one if it lies outside."""
    low = min(max(LEAST, epsilon / AROUND), epsilon)
    high = max(min(MOST, epsilon * AROUND), epsilon)
    below = 0 if low == epsilon else POINTS - 1 if high == epsilon else (POINTS - 1) // 2
    left = np.geomspace(low, epsilon, below + 1)
    right = np.geomspace(epsilon, high, POINTS - below)
    around: Floats = np.concatenate([left[:-1], [epsilon], right[1:]])
    return around


def people_around(people: int) -> tuple[int, ...]:
    """A tenth of the expected people, as many as expected and ten times as many, as far as there can be."""
    return tuple(sorted({max(1, people // 10), people, min(10 * people, MOST_EXPECTED)}))


def _or_none(errors_at: Errors, epsilon: float, people: tuple[int, ...]) -> list[float]:
    """The errors at an epsilon; NaN if no mechanism has it."""
    try:
        return errors_at(epsilon, people)
    except ParameterError:
        return [float("nan")] * len(people)


def _expected(kind: Kind, request: Mapping[str, Any]) -> tuple[Errors, str, str]:
    """The errors, what they measure and what they assume."""
    if isinstance(kind, Sensing):
        return _sensing(kind)
    if isinstance(kind, Sparse):
        return _sparse(kind, request)
    assert isinstance(kind, RecordsKind)
    return _records(kind)


def _sensing(kind: Sensing) -> tuple[Errors, str, str]:
    parts = len(kind.items.listed) if kind.unit == "person" else 1
    length = 1.0 if kind.scaled else next(iter(kind.ranges.values())).length
    units = {item.unit for item in kind.items.listed}
    unit = units.pop() if len(units) == 1 else None

    def errors_at(epsilon: float, people: tuple[int, ...]) -> list[float]:
        own = share_of(epsilon, parts)
        return [length * sensing_curve.sensing_error(own, number) for number in people]

    label = say("mean absolute error, in units of the values")
    if kind.scaled:
        label = say("mean absolute error, as a share of the range")
    elif unit:
        label = say("mean absolute error, in {unit}", unit=unit)
    assumptions = say(
        "Expected if each person reports once about every object, and people's errors spread by a tenth of "
        "the range."
    )
    return (
        errors_at,
        label,
        assumptions + (" " + say("Epsilon is split over all objects.") if parts > 1 else ""),
    )


def _sparse(kind: Sparse, request: Mapping[str, Any]) -> tuple[Errors, str, str]:
    """With the mechanism that would be chosen at each epsilon for the expected number of people."""
    objects, domain = len(kind.items.listed), kind.cell_mechanism.domain
    sparsity = float(options_of(request).get("sparsity", request.get("sparsity", SPARSITY)))
    limits = Range(float(domain.low), float(domain.high))
    slots = kind.description.mechanism == "slots"
    asked = {**request, "mechanism": "slots"} if slots else request
    names = {name: name for name in ("auto", "rr", "three-symbols", "slots")}

    def errors_at(epsilon: float, people: tuple[int, ...]) -> list[float]:
        mechanism = described(asked, names, limits, epsilon, objects=objects).build()
        error = sparse_curve.slot_error if isinstance(mechanism, SlotResponse) else sparse_curve.cell_error
        return [error(mechanism, number, objects, sparsity) for number in people]

    assumptions = say(
        "Expected if people answer about {share} of the objects, truths lie all over the scale, and people's "
        "errors spread by a tenth of it. With only a few dozen people errors can be two or three times as "
        "large.",
        share=share(1 - sparsity),
    )
    return errors_at, say("mean absolute error, in steps of the scale"), assumptions


def _records(kind: RecordsKind) -> tuple[Errors, str, str]:
    def errors_at(epsilon: float, people: tuple[int, ...]) -> list[float]:
        design: Any = kind.design
        return records_errors(kind.schema, replace(design, epsilon=epsilon), people)

    assumptions = say(
        "Expected for single columns if some values are several times as frequent as others; tables of pairs "
        "of columns are less precise."
    )
    return errors_at, say("mean total variation distance of single columns"), assumptions
