"""Charges as the tests make them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal

from crowdveil.guarantee import Guarantee, Promise, Scope
from crowdveil.ledger import Charge, Ledger, Spending, Total

TENTH = Guarantee(0.1, 0.0, "claim", "replace-one", "central")


def spend(
    book: Ledger,
    promise: Promise = TENTH,
    *,
    dataset: str = "d",
    seeded: bool = False,
    claims_of_a_user: int | None = None,
    budget: float | None = None,
) -> Charge:
    return book.charge(
        dataset,
        promise,
        method="basic",
        seeded=seeded,
        claims_of_a_user=claims_of_a_user,
        budget=budget,
    )


def claim(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", "replace-one", "central")


def only(book: Ledger) -> Total:
    (total,) = book.totals()
    return total


def in_scope(total: Total, scope: Scope = TENTH.scope) -> Spending:
    (spending,) = [spending for spending in total.spent if spending.scope == scope]
    return spending


def spent(book: Ledger, scope: Scope = TENTH.scope) -> Decimal:
    """The epsilon of the only dataset in a scope, which must be known."""
    epsilon = in_scope(only(book), scope).epsilon
    assert epsilon is not None
    return epsilon


def raw(book: Ledger) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(book.path, isolation_level=None))
