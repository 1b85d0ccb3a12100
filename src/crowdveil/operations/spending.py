"""The order in which privacy is spent: charge, draw, write, complete.

Noise is drawn only after its cost is on record, so that no crash, full disk or Ctrl-C gives anything away
that the ledger does not know of. A charge is completed only when its output is in place: one that stays open
says that noise may have been drawn for nothing. Whatever can refuse must refuse before `spend` is called: a
charge is never taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from crowdveil.accounting.events import Event, PrivateEvent
from crowdveil.guarantee import Guarantee, Promise
from crowdveil.ledger import Ledger
from crowdveil.signing import SigningKey

Result = TypeVar("Result")


@dataclass(frozen=True)
class Account:
    """Where an operation is charged.

    Parameters
    ----------
    ledger:
        The ledger that keeps the charge.
    dataset:
        What the ledger calls the data: `ledger.dataset_key(name, path)` gives it.
    budget:
        The most epsilon to spend on this dataset. The first budget that is declared stands.

    """

    ledger: Ledger
    dataset: str
    budget: float | None = None

    def key(self, *, seeded: bool) -> SigningKey | None:
        """The key that signs what is published; None for what is seeded, which is never signed.

        Ask for it before `spend`: a key that cannot be used is refused.
        """
        return None if seeded else self.ledger.key()


@dataclass(frozen=True)
class Cost:
    """What an operation costs.

    Parameters
    ----------
    promise:
        The guarantee that is charged, or the explicit statement that there is none.
    method:
        Name of the method, as the ledger shows it.
    parameters:
        What the method was asked for, as plain JSON data: public, and enough to compute the promise again.
    events:
        The noisy events of the operation, of which the promise is the composition; by default the one event
        of which nothing but the promise is known.
    seeded:
        Whether the draws can be repeated from a seed; then the operation is recorded as not private.
    claims_of_a_user:
        The largest number of claims (or cells) of a user that the operation uses, where that is public or
        declared; the ledger counts by it what users lose.

    """

    promise: Promise
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    seeded: bool = False
    claims_of_a_user: int | None = None

    def __post_init__(self) -> None:
        if not self.events and isinstance(self.promise, Guarantee):
            event = PrivateEvent(self.promise.epsilon, self.promise.delta)
            object.__setattr__(self, "events", (event,))


def spend(
    account: Account,
    cost: Cost,
    *,
    draw: Callable[[], Result],
    write: Callable[[Result], None],
) -> Result:
    """Charge the cost, then draw, then write what was drawn, then complete the charge.

    Parameters
    ----------
    account:
        The ledger, the dataset and its budget.
    cost:
        What is charged. A charge that does not fit the budget raises `BudgetExceeded`, and nothing is drawn.
    draw:
        Draws all noise and returns the result. It must not write anything.
    write:
        Puts the result where it was asked for, whole or not at all.

    """
    charge = account.ledger.charge(
        account.dataset,
        cost.promise,
        method=cost.method,
        parameters=cost.parameters,
        events=cost.events,
        seeded=cost.seeded,
        claims_of_a_user=cost.claims_of_a_user,
        budget=account.budget,
    )
    result = draw()
    write(result)
    account.ledger.completed(charge)
    return result
