"""Charges as the tests make them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from crowdveil.guarantee import Guarantee, Promise
from crowdveil.ledger import Charge, Ledger, Total

TENTH = Guarantee(0.1, 0.0, "claim", "replace-one", "central")


def spend(
    book: Ledger,
    promise: Promise = TENTH,
    *,
    dataset: str = "d",
    seeded: bool = False,
    budget: float | None = None,
) -> Charge:
    return book.charge(dataset, promise, method="basic", seeded=seeded, budget=budget)


def claim(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", "replace-one", "central")


def only(book: Ledger) -> Total:
    (total,) = book.totals()
    return total


def raw(book: Ledger) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(book.path, isolation_level=None))
