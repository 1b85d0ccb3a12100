"""Release claims that are in memory: from `Claims` to a `Release`, charged to a ledger if there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from crowdveil.claims import Claims
from crowdveil.engines import Engine, LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.ledger import Ledger
from crowdveil.operations.spending import Account, Cost, spend
from crowdveil.randomness import Randomness, secure
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.result import Release

NO_ACCOUNT = (
    "no ledger kept account of this release: whoever publishes more from the same claims has to add up what "
    "was spent"
)


def release(
    claims: Claims,
    parameters: ReleaseMethod,
    *,
    ledger: Ledger | Path | str | None = None,
    dataset: str | None = None,
    budget: float | None = None,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Release:
    """Publish claims by a method; the result is synthetic or noisy claims with their promise.

    >>> from tempfile import TemporaryDirectory
    >>> from crowdveil import Basic, Claims, Ledger, Range
    >>> claims = Claims.from_columns(["a", "a", "b"], ["ann", "bob", "ann"], [4.0, 5.0, 7.0])
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/ledger.sqlite3")
    ...     noisy = release(claims, Basic(0.5, Range(0, 10)), ledger=ledger, dataset="tastes", budget=2)
    ...     ledger.totals("tastes")[0].left
    Decimal('1.5')

    Parameters
    ----------
    claims:
        The raw claims; they are not part of the result. Where claims come and go there may be none, and a
        range clamps every number: `Claims.from_columns(..., if_any=True, saturate=True)` takes all of that.
    parameters:
        The method with its parameters, such as `Certified(epsilon=1, range=Range(0, 10))`.
    ledger:
        The ledger, or its path, that is charged before anything is drawn. Without one nobody keeps account of
        what was spent, and the promise says so.
    dataset:
        What the ledger calls the data; a ledger needs it.
    budget:
        The most epsilon to spend on this dataset; the first one that is declared stands. A release that does
        not fit raises `BudgetExceeded`, and nothing is drawn.
    rng:
        The source of randomness; by default a secure one, which cannot be repeated.
    engine:
        Where the loops run; by default on all cores of this machine.

    """
    if ledger is None and (dataset is not None or budget is not None):
        raise ParameterError("a dataset and a budget belong to a ledger: name one with ledger=")
    if ledger is not None and dataset is None:
        raise ParameterError("a ledger keeps account by name: name the data with dataset=")
    if len(claims) == 0 and not parameters.may_lack_claims:
        raise ParameterError("there are no claims: only a release under add-remove hides that")
    rng, engine = rng or secure(), engine or LocalEngine()
    parameters = parameters.settled(claims, engine)
    used = parameters.used(claims)

    def draw() -> Release:
        return parameters.draw(used, rng=rng, engine=engine)

    if ledger is None or dataset is None:
        return _without_account(draw())
    account = Account(ledger if isinstance(ledger, Ledger) else Ledger(ledger), dataset, budget)
    return spend(account, cost_of(parameters, Pattern.of(used), rng), draw=draw, write=lambda _: None)


def cost_of(parameters: ReleaseMethod, pattern: Pattern, rng: Randomness) -> Cost:
    """What a release costs; how many claims a user has is told where that is public."""
    promise = parameters.promise(pattern)
    public = isinstance(promise, Guarantee) and promise.adjacency == "replace-one"
    return Cost(
        promise,
        parameters.name,
        parameters.to_dict(),
        parameters.events(pattern),
        seeded=not rng.private,
        claims_of_a_user=max(1, pattern.most) if public else None,
    )


def _without_account(drawn: Release) -> Release:
    """The release with a promise that says that nobody kept account."""
    if not isinstance(drawn.promise, Guarantee):
        return drawn
    assumptions = (*drawn.promise.assumptions, NO_ACCOUNT)
    return replace(drawn, promise=replace(drawn.promise, assumptions=assumptions))
