"""The entries of a ledger: charges, budgets and totals, in decimal numbers without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from decimal import Context, Decimal
from typing import Any

from crowdveil.accounting.events import Event
from crowdveil.guarantee import Scope

EXACT = Context(prec=1000)  # digits enough for the sum of any two doubles, so nothing is rounded


@dataclass(frozen=True)
class Charge:
    """One entry: the cost of a release, and the time at which the release was written, if it was.

    `parameters` and `events` are the basis of the cost, so that a tighter total can be composed later;
    entries of older ledgers have neither.
    """

    id: int
    time: str  # UTC
    dataset: str
    method: str
    kind: str  # of promise: "differential privacy", "plausible deniability" or "none"
    epsilon: Decimal | None  # None unless the promise is differential privacy
    delta: Decimal | None
    scope: Scope | None
    seeded: bool
    released: str | None = None  # UTC
    parameters: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    @property
    def privacy(self) -> str:
        """Whether the release is private, in a few words."""
        if self.seeded:
            return "not private (seeded)"
        return "private" if self.scope else "no guarantee"

    @property
    def status(self) -> str:
        """Whether the release was written; a charge is never refunded."""
        if self.released:
            return "released"
        return "recorded, not released" if self.seeded else "charged, not released"

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain JSON data."""
        row = {column.name: getattr(self, column.name) for column in fields(self)}
        row["scope"] = self.scope and asdict(self.scope)
        row["events"] = [event.to_dict() for event in self.events]
        return {**_floats(list(row.items())), "privacy": self.privacy, "status": self.status}


@dataclass(frozen=True)
class Budget:
    """The largest epsilon that may be spent on a dataset, in one scope."""

    epsilon: Decimal
    scope: Scope


@dataclass(frozen=True)
class Spending:
    """The sum of a dataset's private charges in one scope."""

    scope: Scope
    epsilon: Decimal
    delta: Decimal
    charges: int


@dataclass(frozen=True)
class Total:
    """The total of a dataset."""

    dataset: str
    spent: tuple[Spending, ...]  # one for each scope, in the order of their first charge
    budget: Budget | None
    without_guarantee: int  # number of releases without differential privacy
    seeded: int  # number of seeded runs, which add nothing
    not_released: int  # number of charges whose release was not written; they stay charged

    @property
    def unbounded(self) -> bool:
        """Whether no epsilon bounds the releases of this dataset."""
        return self.without_guarantee > 0 or any(spending.delta >= 1 for spending in self.spent)

    @property
    def left(self) -> Decimal | None:
        """The rest of the budget; None without one."""
        if self.budget is None:
            return None
        return EXACT.subtract(self.budget.epsilon, self.of(self.budget.scope).epsilon)

    def of(self, scope: Scope) -> Spending:
        """The spending in a scope, possibly zero."""
        matching = [spending for spending in self.spent if spending.scope == scope]
        return matching[0] if matching else Spending(scope, Decimal(0), Decimal(0), 0)

    def to_dict(self) -> dict[str, Any]:
        """The total as plain JSON data."""
        left = None if self.left is None else float(self.left)
        return {**asdict(self, dict_factory=_floats), "left": left, "unbounded": self.unbounded}


def decimal(number: float) -> Decimal:
    """The decimal number with the shortest digits of a float: 0.1 becomes exactly one tenth."""
    return Decimal(repr(float(number)))


def plain(number: Decimal) -> str:
    """A decimal number with all its digits and no trailing zeros."""
    short = EXACT.normalize(number)
    return f"{short:f}" if -5 < short.adjusted() < 16 else f"{short:e}"


def _floats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in pairs}
