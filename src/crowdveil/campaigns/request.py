"""What an operator asks for: the parts that kinds of campaigns have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdveil.errors import ParameterError
from crowdveil.local.description import Description
from crowdveil.local.registry import MECHANISMS
from crowdveil.local.request import MechanismRequest
from crowdveil.public_range import Range

PEOPLE = 1000  # expected, where the operator does not say
SPARSITY = 0.9  # the same, of cells without an answer
MOST_EXPECTED = 10**7


def epsilon_of(request: Mapping[str, Any]) -> float | None:
    """Epsilon, if there is one."""
    epsilon = request.get("epsilon")
    if epsilon is None:
        return None
    if isinstance(epsilon, bool) or not isinstance(epsilon, float | int):
        raise ParameterError("epsilon is a number above 0")
    try:
        return float(epsilon)
    except OverflowError:
        raise ParameterError("epsilon is a finite number above 0") from None


def people_of(request: Mapping[str, Any]) -> int:
    """How many people are expected to take part."""
    people = request.get("people")
    if people is None:
        return PEOPLE
    if type(people) is not int or not 1 <= people <= MOST_EXPECTED:
        raise ParameterError(f"people is a whole number from 1 to {MOST_EXPECTED:,}")
    return people


def unit_of(request: Mapping[str, Any], own: Any, *others: Any) -> Any:
    """The unit that is protected: the kind's own unless another one is asked for."""
    unit = request.get("unit")
    if unit is None:
        return own
    if unit not in (own, *others):
        raise ParameterError(f"this kind of campaign protects {' or '.join((own, *others))}")
    return unit


def options_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Options of single mechanisms, by name: numbers, texts and flags."""
    options = request.get("options")
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(
        isinstance(name, str) and isinstance(value, float | int | str | bool)
        for name, value in options.items()
    ):
        raise ParameterError("options are numbers, texts or flags by name")
    return dict(options)


def named(request: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The name of the mechanism that is asked for, "auto" without one."""
    mechanism = request.get("mechanism") or "auto"
    if not isinstance(mechanism, str) or mechanism not in names:
        raise ParameterError(f"this kind of campaign takes the mechanism {', '.join(names)}")
    return names[mechanism]


def described(
    request: Mapping[str, Any],
    names: Mapping[str, str],
    limits: Range,
    epsilon: float | None,
    *,
    objects: int,
) -> Description:
    """The mechanism that is asked for and its parameters; `names` are those that it may have."""
    name, options = named(request, names), options_of(request)
    entry = MECHANISMS[name]
    takes = {option for option in entry.options if option != "variance_per_user"}
    options.pop("insist", None)
    if unknown := options.keys() - takes:
        raise ParameterError(f"{name} takes no option {sorted(unknown)[0]!r}")
    if "sparsity" in entry.options:
        options.setdefault("sparsity", SPARSITY)
    asked = MechanismRequest(limits, epsilon, users=people_of(request), objects=objects, options=options)
    description = entry.describe(asked)
    description.build()  # refuses parameters that cannot be
    return description
