"""What stands in a ledger: charges, budgets, and what they add up to, in decimal numbers without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from decimal import Context, Decimal
from typing import Any

from crowdveil.accounting.events import Event

EXACT = Context(prec=1000)  # enough for the sum of any two doubles: nothing is ever rounded


@dataclass(frozen=True)
class Scope:
    """What an epsilon counts: epsilons of different scopes cannot be added."""

    unit: str
    adjacency: str
    trust: str

    def __str__(self) -> str:
        return f"each {self.unit}, {self.adjacency}, {self.trust}"


@dataclass(frozen=True)
class Charge:
    """One entry: what a release was to cost, and when it was written, if it was.

    `parameters` and `events` are what the cost was computed from, so that a total can be composed again,
    tighter; entries of older ledgers have neither.
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
        """What the entry means for privacy, in two or three words."""
        if self.seeded:
            return "not private (seeded)"
        return "private" if self.scope else "no guarantee"

    @property
    def status(self) -> str:
        """Whether the release was written; a charge is never given back."""
        if self.released:
            return "released"
        return "recorded, not released" if self.seeded else "charged, not released"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        own["scope"] = self.scope and asdict(self.scope)
        own["events"] = [event.to_dict() for event in self.events]
        return {**_floats(list(own.items())), "privacy": self.privacy, "status": self.status}


@dataclass(frozen=True)
class Budget:
    """The most that may be spent on a dataset, in one scope."""

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
    """Where a dataset stands."""

    dataset: str
    spent: tuple[Spending, ...]  # one for each scope, in the order of their first charge
    budget: Budget | None
    without_guarantee: int  # releases that promise no differential privacy
    seeded: int  # runs that are not private; they add nothing
    not_released: int  # charges, still charged, of which no release was written

    @property
    def unbounded(self) -> bool:
        """Whether no epsilon bounds what was released."""
        return self.without_guarantee > 0 or any(spending.delta >= 1 for spending in self.spent)

    @property
    def left(self) -> Decimal | None:
        """What remains of the budget; None without one."""
        if self.budget is None:
            return None
        return EXACT.subtract(self.budget.epsilon, self.of(self.budget.scope).epsilon)

    def of(self, scope: Scope) -> Spending:
        """What was spent in a scope, perhaps nothing."""
        found = [spending for spending in self.spent if spending.scope == scope]
        return found[0] if found else Spending(scope, Decimal(0), Decimal(0), 0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        left = None if self.left is None else float(self.left)
        return {**asdict(self, dict_factory=_floats), "left": left, "unbounded": self.unbounded}


def decimal(number: float) -> Decimal:
    """The number that its decimal digits say: 0.1 is a tenth."""
    return Decimal(repr(float(number)))


def plain(number: Decimal) -> str:
    """A decimal number with all its digits and no trailing zeros."""
    short = EXACT.normalize(number)
    return f"{short:f}" if -5 < short.adjusted() < 16 else f"{short:e}"


def _floats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in pairs}
