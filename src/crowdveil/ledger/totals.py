"""The total of a dataset: what all its releases cost together, in each scope that matters.

Every release counts in every scope, by what it costs there (`accounting.scopes`); one that promises nothing
there leaves the scope without a bound. Epsilons are multiplied and added without rounding. A delta that
follows from another one is rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal

from crowdveil.accounting.scopes import changes_between, counted_in
from crowdveil.guarantee import Guarantee, Scope
from crowdveil.ledger.entries import EXACT, Budget, Charge, Spending, Total

UPWARD = Context(prec=6, rounding=ROUND_CEILING)  # of deltas that follow from others


def total_of(dataset: str, charges: Sequence[Charge], budget: Budget | None) -> Total:
    """The total of a dataset: in the scopes of its charges and its budget, and in those that belong to them.

    To a scope of claims or cells belongs the one of their users. To one of add-remove, which hides whether a
    unit is there, belongs the replace-one of the same unit, which hides what it says and costs twice as much.
    """
    return Total(
        dataset=dataset,
        spent=tuple(spending_in(scope, charges) for scope in _scopes(charges, budget)),
        budget=budget,
        without_guarantee=sum(charge.scope is None and not charge.seeded for charge in charges),
        seeded=sum(charge.seeded for charge in charges),
        not_released=sum(charge.released is None and not charge.seeded for charge in charges),
    )


def spending_in(scope: Scope, charges: Sequence[Charge]) -> Spending:
    """What all private charges cost in a scope."""
    spending = Spending(scope)
    for charge in charges:
        if not charge.seeded and charge.scope is not None:
            spending = _added(replace(spending, charges=spending.charges + 1), charge, charge.scope)
    return spending


def _scopes(charges: Sequence[Charge], budget: Budget | None) -> list[Scope]:
    """The scopes to show: those of users first, else in the order of the first charges."""
    named = [charge.scope for charge in charges if charge.scope is not None and not charge.seeded]
    if budget is not None:
        named.append(budget.scope)
    users = [replace(scope, unit="user") for scope in named if scope.unit in ("claim", "cell")]
    shown = [belonging for scope in [*named, *users] for belonging in _with_replaced(scope)]
    return sorted(dict.fromkeys(shown), key=lambda scope: scope.unit != "user")


def _with_replaced(scope: Scope) -> list[Scope]:
    """A scope and, for add-remove, the replace-one of the same unit: each is printed with the other."""
    return [scope, replace(scope, adjacency="replace-one")] if scope.adjacency == "add-remove" else [scope]


def _added(spending: Spending, charge: Charge, scope: Scope) -> Spending:
    """The spending with the cost of one more charge, whose own scope is `scope`."""
    epsilon, changes = charge.epsilon or Decimal(0), changes_between(scope, spending.scope)
    number = None if changes is None else changes.of(charge.claims_of_a_user)
    if number is not None:
        delta = _delta_in(spending.scope, charge, scope, number)
        if delta is not None:
            return replace(
                spending,
                fixed=EXACT.add(spending.fixed, EXACT.multiply(epsilon, Decimal(number))),
                delta=EXACT.add(spending.delta, delta),
            )
    elif changes is not None and scope.unit == "claim" and not charge.delta:
        each = EXACT.multiply(epsilon, Decimal(changes.number))
        return replace(spending, per_claim=EXACT.add(spending.per_claim, each))
    return replace(spending, not_bounded=spending.not_bounded + 1)


def _delta_in(other: Scope, charge: Charge, scope: Scope, changes: int) -> Decimal | None:
    """The delta of a charge in another scope, not rounded down; None if it is 1 or more."""
    if changes == 1 or not charge.delta:
        return charge.delta
    own = Guarantee(float(charge.epsilon or 0), float(charge.delta), scope.unit, scope.adjacency, scope.trust)
    counted = counted_in(own, other, charge.claims_of_a_user)
    return None if counted is None else UPWARD.create_decimal(repr(counted.delta))
