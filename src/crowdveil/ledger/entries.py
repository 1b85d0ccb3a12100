"""The entries of a ledger: charges, budgets and totals, in decimal numbers without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from decimal import Context, Decimal
from typing import Any

from crowdveil.accounting.events import Event
from crowdveil.guarantee import Scope

LARGE_DELTA = 0.01  # a promise that may fail more often than this is nearly none
EXACT = Context(prec=1000)  # digits enough for the sum of any two doubles, so nothing is rounded


@dataclass(frozen=True)
class Charge:
    """One entry: the cost of a release, and the time at which the release was written, if it was.

    `parameters` and `events` are the basis of the cost, so that a tighter total can be composed later.
    `claims_of_a_user` is a public bound on the claims (or cells) of a user that the release used, by which it
    counts for users; None where no such bound is public. Entries of older ledgers have none of these.
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
    claims_of_a_user: int | None = None

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
    """What all private charges of a dataset cost in one scope."""

    scope: Scope
    fixed: Decimal = Decimal(0)  # the part of epsilon that is a number
    per_claim: Decimal = Decimal(0)  # the part for each claim of a user, where no bound on them is public
    delta: Decimal = Decimal(0)
    charges: int = 0
    not_bounded: int = 0  # charges that promise nothing in this scope

    @property
    def bounded(self) -> bool:
        """Whether anything is promised in this scope after all of them."""
        return not self.not_bounded and self.delta < 1

    @property
    def epsilon(self) -> Decimal | None:
        """The epsilon spent; None if there is no bound, or only one by the number of a user's claims."""
        return self.fixed if self.bounded and not self.per_claim else None

    def in_words(self) -> str:
        """The epsilon spent, where k is the number of claims of a user; "not bounded" if there is none."""
        if not self.bounded:
            return "not bounded"
        if not self.per_claim:
            return plain(self.fixed)
        each = "k" if self.per_claim == 1 else f"{plain(self.per_claim)} k"
        return f"{plain(self.fixed)} + {each}" if self.fixed else each

    def to_dict(self) -> dict[str, Any]:
        """The spending as plain JSON data."""
        return {
            "scope": asdict(self.scope),
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "delta": float(self.delta) if self.bounded else None,
            "epsilon_in_words": self.in_words(),
            "charges": self.charges,
            "not_bounded": self.not_bounded,
        }


@dataclass(frozen=True)
class Total:
    """The total of a dataset."""

    dataset: str
    spent: tuple[Spending, ...]  # one for each scope, those of users first
    budget: Budget | None
    without_guarantee: int  # number of releases without differential privacy
    seeded: int  # number of seeded runs, which add nothing
    not_released: int  # number of charges whose release was not written; they stay charged

    @property
    def unbounded(self) -> bool:
        """Whether no epsilon bounds the releases of this dataset, in any scope."""
        nowhere = bool(self.spent) and not any(spending.bounded for spending in self.spent)
        return self.without_guarantee > 0 or nowhere

    @property
    def left(self) -> Decimal | None:
        """The rest of the budget; None without one."""
        for spending in self.spent:
            if self.budget and spending.scope == self.budget.scope and spending.epsilon is not None:
                return EXACT.subtract(self.budget.epsilon, spending.epsilon)
        return None

    def to_dict(self) -> dict[str, Any]:
        """The total as plain JSON data."""
        return {
            **asdict(self, dict_factory=_floats),
            "spent": [spending.to_dict() for spending in self.spent],
            "left": None if self.left is None else float(self.left),
            "unbounded": self.unbounded,
        }


def decimal(number: float) -> Decimal:
    """The decimal number with the shortest digits of a float: 0.1 becomes exactly one tenth."""
    return Decimal(repr(float(number)))


def plain(number: Decimal) -> str:
    """A decimal number with all its digits and no trailing zeros."""
    short = EXACT.normalize(number)
    return f"{short:f}" if -5 < short.adjusted() < 16 else f"{short:e}"


def _floats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in pairs}
