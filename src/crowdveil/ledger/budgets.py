"""The arithmetic of a ledger: where a dataset stands, and whether one more charge fits its budget."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite

from crowdveil.errors import ParameterError
from crowdveil.ledger.entries import EXACT, Budget, Charge, Scope, Spending, Total, decimal, plain


class BudgetExceeded(ParameterError):  # noqa: N818, it reads as what happened
    """A charge does not fit what is left of a dataset's budget. Nothing was charged."""


def total_of(dataset: str, charges: list[Charge], budget: Budget | None) -> Total:
    """Where a dataset stands: its charges, summed for each scope."""
    spent: dict[Scope, Spending] = {}
    for charge in charges:
        if charge.seeded or charge.scope is None or charge.epsilon is None or charge.delta is None:
            continue
        old = spent.get(charge.scope, Spending(charge.scope, Decimal(0), Decimal(0), 0))
        spent[charge.scope] = Spending(
            charge.scope,
            EXACT.add(old.epsilon, charge.epsilon),
            EXACT.add(old.delta, charge.delta),
            old.charges + 1,
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
    """The budget that holds for a new charge: the one declared already, or the one given now."""
    if budget is None:
        return before.budget
    if not (isfinite(budget) and budget > 0):
        raise ParameterError(f"the budget must be a number above 0, not {budget}")
    if new.scope is None:
        raise ParameterError("a budget counts epsilon, and this release promises none: leave --budget out")
    wanted = Budget(decimal(budget), new.scope)
    if before.budget is None:
        for spending in before.spent:
            if spending.scope != new.scope:
                raise ParameterError(
                    f"{before.dataset!r} was charged for {spending.scope} before, which a budget for "
                    f"{new.scope} would not count: declare it under another --dataset"
                )
        return wanted
    if before.budget != wanted:
        raise ParameterError(
            f"the budget of {before.dataset!r} stands at epsilon {plain(before.budget.epsilon)} for "
            f"{before.budget.scope}; it cannot be changed to {plain(wanted.epsilon)} for {wanted.scope}"
        )
    return wanted


def admit(before: Total, new: Charge, budget: Budget) -> None:
    """Refuse a charge that a budget cannot hold."""
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
