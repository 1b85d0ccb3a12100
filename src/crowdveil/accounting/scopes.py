"""What a release costs in another scope than its own: for a person instead of a claim, for a replaced value.

Two datasets that are neighbours in one scope can be joined by a chain of neighbours in another. The length of
the chain is the number of changes that group privacy has to pay for (`units.of_group`): n changes cost
n epsilon. `STEPS` are the single steps; every other pair of scopes takes the cheapest way over them. Where
there is no way, the release promises nothing.

Why each step holds:

- Replacing one claim or one cell of a user replaces the user's data: one change. Under add-remove the user
  goes and comes back with one claim more or less: two changes. (A cap may admit another claim instead, so one
  change is not enough.)
- A user's data change claim by claim, as many changes as the user has claims. They change cell by cell too,
  first those that get an answer, then those that lose one: no list of users or objects changes on the way.
- A replaced unit goes and comes back with another value: two changes. Replacing says nothing about whether a
  unit is there, so no step leads from "replace-one" to "add-remove".
- "replace-or-none" allows all changes of "replace-or-not-last", and that those of "replace-one".
- What was randomized on a device stays so where the collector is trusted: one change, and no way back.
- A record stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from crowdveil.accounting.parameters import check_whole
from crowdveil.accounting.units import of_group
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency, Guarantee, Scope, Unit

Kind = tuple[Unit, Adjacency]


@dataclass(frozen=True)
class Changes:
    """So many changes, maybe for each claim (or cell) of a user."""

    number: int
    of_each_claim: bool = False

    def of(self, claims_of_a_user: int | None) -> int | None:
        """Their number if a user has so many claims; None if it depends on that and nobody knows."""
        if not self.of_each_claim:
            return self.number
        return None if claims_of_a_user is None else self.number * claims_of_a_user


ONE, TWO, EACH_CLAIM = Changes(1), Changes(2), Changes(1, of_each_claim=True)
STEPS: dict[tuple[Kind, Kind], Changes] = {
    (("user", "replace-one"), ("claim", "replace-one")): ONE,
    (("claim", "replace-one"), ("user", "replace-one")): EACH_CLAIM,
    (("user", "add-remove"), ("claim", "add-remove")): TWO,
    (("claim", "add-remove"), ("user", "add-remove")): EACH_CLAIM,
    (("claim", "add-remove"), ("claim", "replace-one")): TWO,
    (("user", "add-remove"), ("user", "replace-one")): TWO,
    (("user", "replace-or-none"), ("cell", "replace-or-none")): ONE,
    (("cell", "replace-or-none"), ("user", "replace-or-none")): EACH_CLAIM,
    (("user", "replace-or-not-last"), ("cell", "replace-or-not-last")): ONE,
    (("cell", "replace-or-not-last"), ("user", "replace-or-not-last")): EACH_CLAIM,
    (("cell", "replace-or-none"), ("cell", "replace-or-not-last")): ONE,
    (("user", "replace-or-none"), ("user", "replace-or-not-last")): ONE,
    (("cell", "replace-or-not-last"), ("claim", "replace-one")): ONE,
    (("user", "replace-or-not-last"), ("user", "replace-one")): ONE,
}


def changes_between(scope: Scope, other: Scope) -> Changes | None:
    """How many changes of `scope` one change of `other` takes; None if no number of them is enough."""
    if scope.trust == "central" and other.trust == "local":
        return None
    return _cheapest((scope.unit, scope.adjacency), (other.unit, other.adjacency), frozenset())


def counted_in(guarantee: Guarantee, scope: Scope, claims_of_a_user: int | None = None) -> Guarantee | None:
    """What a release with this guarantee costs in another scope, by group privacy.

    >>> claims = Guarantee(0.5, 0.0, unit="claim", adjacency="replace-one", trust="central")
    >>> counted_in(claims, Scope("user", "replace-one", "central"), claims_of_a_user=4).epsilon
    2.0

    Parameters
    ----------
    guarantee:
        The guarantee of the release in its own scope.
    scope:
        The scope to count it in.
    claims_of_a_user:
        A public bound on the claims (or cells) of a user that the release used: their largest number if who
        claimed what is public, else a declared one; None if there is none.

    Returns
    -------
    The guarantee in that scope; None where nothing is promised, or where it depends on a bound that is None.

    """
    if claims_of_a_user is not None:
        check_whole(claims_of_a_user, "the number of claims of a user")
    changes = changes_between(guarantee.scope, scope)
    number = None if changes is None else changes.of(claims_of_a_user)
    if changes is None or number is None:
        return None
    if number == 1:
        epsilon, delta = guarantee.epsilon, guarantee.delta
    else:
        try:
            epsilon, delta = of_group(guarantee, number)
        except ParameterError:  # more than a number can hold
            return None
    if delta >= 1:
        return None
    counted = Guarantee(epsilon, delta, scope.unit, scope.adjacency, scope.trust, guarantee.assumptions)
    if not changes.of_each_claim:
        return counted
    bound = f"at most {claims_of_a_user} {guarantee.unit}s of each user were used"
    return replace(counted, assumptions=(*guarantee.assumptions, bound))


def _cheapest(kind: Kind, other: Kind, seen: frozenset[Kind]) -> Changes | None:
    """The cheapest way over the steps; one that depends on the claims of a user is never cheaper."""
    if kind == other:
        return ONE
    ways = []
    for (start, end), step in STEPS.items():
        if start == kind and end not in seen:
            rest = _cheapest(end, other, seen | {kind})
            if rest is not None and not (step.of_each_claim and rest.of_each_claim):
                of_each_claim = step.of_each_claim or rest.of_each_claim
                ways.append(Changes(step.number * rest.number, of_each_claim))
    return min(ways, key=lambda way: (way.of_each_claim, way.number), default=None)
