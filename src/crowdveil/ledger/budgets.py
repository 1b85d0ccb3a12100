"""Budgets: which one stands, and whether a new charge fits it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite

from crowdveil.errors import ParameterError
from crowdveil.ledger.entries import EXACT, Budget, Charge, decimal, plain
from crowdveil.ledger.totals import spending_in


class BudgetExceeded(ParameterError):  # noqa: N818, the name says what happened
    """A charge exceeds the rest of a dataset's budget. Nothing was charged."""


def standing_budget(declared: Budget | None, new: Charge, budget: float | None) -> Budget | None:
    """The budget that applies to a new charge: the one declared before, or the one given now."""
    if budget is None:
        return declared
    if not (isfinite(budget) and budget > 0):
        raise ParameterError(f"the budget must be a number above 0, not {budget}")
    if new.scope is None:
        raise ParameterError("a budget counts epsilon, and this release promises none: leave --budget out")
    requested = Budget(decimal(budget), new.scope)
    if declared is not None and declared != requested:
        raise ParameterError(
            f"the budget of {new.dataset!r} stands at epsilon {plain(declared.epsilon)} for "
            f"{declared.scope}; it cannot be changed to {plain(requested.epsilon)} for {requested.scope}: "
            "leave --budget out"
        )
    return requested


def admit(before: Sequence[Charge], new: Charge, budget: Budget) -> None:
    """Raise an error if a new charge does not fit the budget; every charge counts in the budget's scope."""
    name = f"the budget of {new.dataset!r}, epsilon {plain(budget.epsilon)} for {budget.scope},"
    if new.scope is None:
        raise BudgetExceeded(f"{name} cannot hold a release without a differential privacy guarantee")
    if any(charge.scope is None and not charge.seeded for charge in before):
        raise BudgetExceeded(f"{name} is void: there was a release without a differential privacy guarantee")
    spent, cost = spending_in(budget.scope, before), spending_in(budget.scope, [new])
    if spent.epsilon is None:
        raise BudgetExceeded(
            f"{name} is void: what was released before costs {spent.in_words()} there"
            + _where_k(spent.per_claim)
        )
    if cost.epsilon is None:
        raise BudgetExceeded(
            f"{name} cannot hold this release: it protects {new.scope}, and costs {cost.in_words()} in the "
            f"budget's scope{_where_k(cost.per_claim)}"
        )
    if EXACT.add(spent.epsilon, cost.epsilon) > budget.epsilon:
        raise BudgetExceeded(
            f"{name} would be exceeded: {plain(spent.epsilon)} is spent and this release costs "
            f"{plain(cost.epsilon)}"
        )
    if EXACT.add(spent.delta, cost.delta) >= 1:
        raise BudgetExceeded(f"{name} would be void: the deltas would add up to 1")


def _where_k(per_claim: Decimal) -> str:
    return (
        ", where k is the number of claims of a user, on which no public bound is on record"
        if per_claim
        else ""
    )
