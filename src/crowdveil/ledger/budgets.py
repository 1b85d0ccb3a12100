"""The arithmetic of a ledger: the total of a dataset, and whether a new charge fits its budget."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite

from crowdveil.errors import ParameterError
from crowdveil.guarantee import Scope
from crowdveil.ledger.entries import EXACT, Budget, Charge, Spending, Total, decimal, plain


class BudgetExceeded(ParameterError):  # noqa: N818, the name says what happened
    """A charge exceeds the rest of a dataset's budget. Nothing was charged."""


def total_of(dataset: str, charges: list[Charge], budget: Budget | None) -> Total:
    """The total of a dataset: its charges, summed by scope."""
    spent: dict[Scope, Spending] = {}
    for charge in charges:
        if charge.seeded or charge.scope is None or charge.epsilon is None or charge.delta is None:
            continue
        previous = spent.get(charge.scope, Spending(charge.scope, Decimal(0), Decimal(0), 0))
        spent[charge.scope] = Spending(
            charge.scope,
            EXACT.add(previous.epsilon, charge.epsilon),
            EXACT.add(previous.delta, charge.delta),
            previous.charges + 1,
        )
    return Total(
        dataset=dataset,
        spent=tuple(spent.values()),
        budget=budget,
        without_guarantee=sum(charge.scope is None and not charge.seeded for charge in charges),
        seeded=sum(charge.seeded for charge in charges),
        not_released=sum(charge.released is None and not charge.seeded for charge in charges),
    )


def standing_budget(before: Total, new: Charge, budget: float | None) -> Budget | None:
    """The budget that applies to a new charge: the one declared before, or the one given now."""
    if budget is None:
        return before.budget
    if not (isfinite(budget) and budget > 0):
        raise ParameterError(f"the budget must be a number above 0, not {budget}")
    if new.scope is None:
        raise ParameterError("a budget counts epsilon, and this release promises none: leave --budget out")
    requested = Budget(decimal(budget), new.scope)
    if before.budget is None:
        for spending in before.spent:
            if spending.scope != new.scope:
                raise ParameterError(
                    f"{before.dataset!r} was charged for {spending.scope} before, which a budget for "
                    f"{new.scope} would not count: declare it under another --dataset"
                )
        return requested
    if before.budget != requested:
        raise ParameterError(
            f"the budget of {before.dataset!r} stands at epsilon {plain(before.budget.epsilon)} for "
            f"{before.budget.scope}; it cannot be changed to {plain(requested.epsilon)} for {requested.scope}"
        )
    return requested


def admit(before: Total, new: Charge, budget: Budget) -> None:
    """Raise an error if a new charge does not fit the budget."""
    name = f"the budget of {before.dataset!r}, epsilon {plain(budget.epsilon)} for {budget.scope},"
    if new.scope is None or new.epsilon is None or new.delta is None:
        raise BudgetExceeded(f"{name} cannot hold a release without a differential privacy guarantee")
    if before.without_guarantee:
        raise BudgetExceeded(f"{name} is void: there was a release without a differential privacy guarantee")
    if new.scope != budget.scope:
        raise ParameterError(f"{name} does not count a release that protects {new.scope}")
    spent = before.of(budget.scope)
    if EXACT.add(spent.epsilon, new.epsilon) > budget.epsilon:
        raise BudgetExceeded(
            f"{name} would be exceeded: {plain(spent.epsilon)} is spent and this release costs "
            f"{plain(new.epsilon)}"
        )
    if EXACT.add(spent.delta, new.delta) >= 1:
        raise BudgetExceeded(f"{name} would be void: the deltas would add up to 1")
