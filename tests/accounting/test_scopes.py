"""What a release costs in another scope, against all tiny datasets and exact laws of tiny mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, log

import pytest
from curves import hockey_stick

from crowdveil.accounting.scopes import STEPS, Kind, changes_between, counted_in
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Adjacency, Guarantee, Scope, Trust, Unit

# A dataset is a row of cells for each user; a cell is None or an answer.
Row = tuple[int | None, ...]
Dataset = tuple[Row, ...]
USERS, OBJECTS = 2, 2
DATASETS: list[Dataset] = list(product(product((None, 0, 1), repeat=OBJECTS), repeat=USERS))
KINDS = sorted({kind for step in STEPS for kind in step})


def changed(one: Dataset, other: Dataset) -> list[tuple[int, int]]:
    pairs = product(range(USERS), range(OBJECTS))
    return [(user, thing) for user, thing in pairs if one[user][thing] != other[user][thing]]


def pattern(data: Dataset) -> list[list[bool]]:
    return [[answer is not None for answer in row] for row in data]


def lists(data: Dataset) -> tuple[list[bool], list[bool]]:
    rows = pattern(data)
    return [any(row) for row in rows], [any(column) for column in zip(*rows, strict=True)]


def neighbours(kind: Kind, one: Dataset, other: Dataset) -> bool:
    """The definition of each scope, in words of cells."""
    unit, adjacency = kind
    cells = changed(one, other)
    if not cells or len({user for user, _ in cells}) > 1 or (unit != "user" and len(cells) > 1):
        return False
    user, thing = cells[0]
    if adjacency == "replace-one":
        return pattern(one) == pattern(other)
    if adjacency == "add-remove":
        before, after = (
            (one[user], other[user]) if unit == "user" else ((one[user][thing],), (other[user][thing],))
        )
        return (set(before) == {None}) != (set(after) == {None})
    return adjacency == "replace-or-none" or lists(one) == lists(other)


EDGES = {
    kind: {one: [other for other in DATASETS if neighbours(kind, one, other)] for one in DATASETS}
    for kind in KINDS
}


def distances(kind: Kind, start: Dataset) -> dict[Dataset, int]:
    """How many changes of a kind lead from a dataset to each other one."""
    found, frontier = {start: 0}, [start]
    while frontier:
        following = [(other, one) for one in frontier for other in EDGES[kind][one] if other not in found]
        found |= {other: found[one] + 1 for other, one in following}
        frontier = list({other for other, _ in following})
    return found


def furthest(kind: Kind, other: Kind) -> int | None:
    """The most changes of `kind` between two neighbours of the other kind; None if they are not joined."""
    most = 0
    for start in DATASETS:
        found = distances(kind, start)
        for end in EDGES[other][start]:
            if end not in found:
                return None
            most = max(most, found[end])
    return most


def between(kind: Kind, other: Kind, claims: int | None = OBJECTS) -> int | None:
    changes = changes_between(Scope(*kind, "local"), Scope(*other, "central"))
    return None if changes is None else changes.of(claims)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_a_rule_counts_exactly_the_changes_that_some_neighbours_need(kind: Kind, other: Kind) -> None:
    counted = between(kind, other)
    if counted is not None:
        assert counted == furthest(kind, other)


@pytest.mark.parametrize("unit", ["claim", "user"])
@pytest.mark.parametrize("other", ["claim", "user"])
def test_replacing_says_nothing_about_appearing(unit: Unit, other: Unit) -> None:
    assert furthest((unit, "replace-one"), (other, "add-remove")) is None
    assert between((unit, "replace-one"), (other, "add-remove")) is None


def test_the_rules_by_name() -> None:
    k = 7
    table: dict[tuple[Kind, Kind], int | None] = {
        (("user", "replace-one"), ("claim", "replace-one")): 1,
        (("user", "add-remove"), ("claim", "add-remove")): 2,
        (("user", "add-remove"), ("user", "replace-one")): 2,
        (("user", "add-remove"), ("claim", "replace-one")): 2,
        (("claim", "add-remove"), ("claim", "replace-one")): 2,
        (("claim", "replace-one"), ("user", "replace-one")): k,
        (("claim", "add-remove"), ("user", "add-remove")): k,
        (("claim", "add-remove"), ("user", "replace-one")): 2 * k,
        (("cell", "replace-or-none"), ("claim", "replace-one")): 1,
        (("cell", "replace-or-none"), ("user", "replace-or-none")): k,
        (("cell", "replace-or-none"), ("user", "replace-one")): k,
        (("user", "replace-or-none"), ("user", "replace-one")): 1,
        (("user", "replace-or-none"), ("claim", "replace-one")): 1,
        (("cell", "replace-or-not-last"), ("claim", "replace-one")): 1,
        (("cell", "replace-or-not-last"), ("cell", "replace-or-none")): None,
        (("cell", "replace-or-none"), ("claim", "add-remove")): None,
        (("record", "replace-one"), ("user", "replace-one")): None,
        (("record", "replace-one"), ("record", "replace-one")): 1,
        (("user", "replace-one"), ("record", "replace-one")): None,
    }
    found = {pair: between(*pair, claims=k) for pair in table}
    assert found == table


def scopes() -> list[Scope]:
    trusts: tuple[Trust, ...] = ("central", "local")
    return [
        Scope(unit, adjacency, trust)
        for (unit, adjacency), trust in product([*KINDS, ("record", "replace-one")], trusts)
    ]


def test_every_scope_counts_in_itself_and_what_is_local_counts_centrally() -> None:
    for scope in scopes():
        promise = Guarantee(0.3, 1e-7, scope.unit, scope.adjacency, scope.trust, ("a reason",))
        assert counted_in(promise, scope, None) == promise
        assert promise.scope == scope
        central, local = (Scope(scope.unit, scope.adjacency, trust) for trust in ("central", "local"))
        there = counted_in(promise, central, None)
        assert there is not None
        assert (there.epsilon, there.delta, there.scope) == (0.3, 1e-7, central)
        if scope.trust == "central":
            assert counted_in(promise, local, None) is None


def test_an_unknown_number_of_claims_promises_nothing_to_users() -> None:
    users: list[Scope] = [Scope("user", adjacency, "central") for adjacency in ("replace-one", "add-remove")]
    for promise in (claim("replace-one"), claim("add-remove"), cell()):
        for scope in users:
            assert counted_in(promise, scope, None) is None
    with pytest.raises(ParameterError, match="number of claims"):
        counted_in(claim("replace-one"), users[0], 0)


def test_a_delta_grows_with_the_group_and_ends_at_one() -> None:
    users = Scope("user", "replace-one", "central")
    found = counted_in(claim("replace-one", 0.5, 1e-8), users, 3)
    assert found is not None
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx(1e-8 * (1 + exp(0.5) + exp(1.0)), rel=1e-9)
    assert "at most 3 claims of each user were used" in found.assumptions
    assert counted_in(claim("replace-one", 0.5, 1e-8), users, 100) is None
    assert counted_in(claim("replace-one", 1e308), users, 100) is None
    assert counted_in(claim("add-remove", 1.0, 0.3), Scope("claim", "replace-one", "central"), None) is None


def claim(adjacency: Adjacency, epsilon: float = 1.0, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, delta, "claim", adjacency, "central")


def cell(epsilon: float = 1.0) -> Guarantee:
    return Guarantee(epsilon, 0.0, "cell", "replace-or-none", "local")


# --- exact laws ------------------------------------------------------------------------------------

Counts = tuple[int, ...]


def histogram(data: Dataset, cap: int = OBJECTS) -> Counts:
    """How many users gave each answer about each object, from the first `cap` answers of each user."""
    counts = [0] * (2 * OBJECTS)
    for row in data:
        given = [(thing, answer) for thing, answer in enumerate(row) if answer is not None]
        for thing, answer in given[:cap]:
            counts[2 * thing + answer] += 1
    return tuple(counts)


def largest_ratio(kind: Kind, statistic: Callable[[Dataset], Counts], scale: float) -> float:
    """The largest log ratio between neighbours if each count gets discrete Laplace noise of that scale.

    Its logarithm of probability falls by 1 / scale a step, so beyond both counts the ratio of the outcome's
    probabilities is their distance over the scale, and it is nowhere larger.
    """
    return max(
        sum(abs(a - b) for a, b in zip(statistic(one), statistic(other), strict=True)) / scale
        for one in DATASETS
        for other in EDGES[kind][one]
    )


@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize(
    "kind",
    [("user", "add-remove"), ("user", "replace-one"), ("claim", "add-remove"), ("claim", "replace-one")],
)
def test_noisy_histograms_cost_no_more_than_the_rules_say(kind: Kind, cap: int) -> None:
    scale = 3.0
    own = largest_ratio(kind, lambda data: histogram(data, cap), scale)
    for other in KINDS:
        counted = counted_in(Guarantee(own, 0.0, *kind, "central"), Scope(*other, "central"), OBJECTS)
        if counted is not None:
            true = largest_ratio(other, lambda data: histogram(data, cap), scale)
            assert true <= counted.epsilon + 1e-12


def test_what_a_cap_admits_costs_a_claim_twice_a_persons_epsilon() -> None:
    def first(data: Dataset) -> Counts:
        return histogram(data, cap=1)

    own = largest_ratio(("user", "add-remove"), first, 1.0)
    assert own == 1.0
    assert largest_ratio(("claim", "add-remove"), first, 1.0) == 2.0
    assert largest_ratio(("claim", "replace-one"), first, 1.0) == 2.0
    users = Guarantee(own, 0.0, "user", "add-remove", "central")
    for adjacency in ("add-remove", "replace-one"):
        counted = counted_in(users, Scope("claim", adjacency, "central"), None)
        assert counted is not None
        assert counted.epsilon == 2.0


def test_histograms_of_claims_cost_users_exactly_what_the_rules_say() -> None:
    for adjacency in ("replace-one", "add-remove"):
        own = largest_ratio(("claim", adjacency), histogram, 1.0)
        promise = Guarantee(own, 0.0, "claim", adjacency, "central")
        counted = counted_in(promise, Scope("user", "replace-one", "central"), OBJECTS)
        assert counted is not None
        assert counted.epsilon == largest_ratio(("user", "replace-one"), histogram, 1.0) == 2 * OBJECTS


def responses(row: Row, keep: float, fails: float = 0.0) -> dict[Row, float]:
    """The law of randomized response on every cell of a row, none included; a failure shows the cell."""
    law: dict[Row, float] = {}
    symbols = (None, 0, 1)
    for outcome in product(symbols, (False, True), repeat=len(row)):
        chance = 1.0
        for position, answer in enumerate(row):
            symbol, shown = outcome[2 * position : 2 * position + 2]
            if shown:
                chance *= fails * (symbol == answer)
            else:
                chance *= (1 - fails) * (keep if symbol == answer else (1 - keep) / 2)
        law[outcome] = chance
    return law


def test_randomized_response_on_cells_costs_exactly_what_the_rules_say() -> None:
    epsilon = 0.8
    keep = exp(epsilon) / (2 + exp(epsilon))
    for other in (("claim", "replace-one"), ("user", "replace-one"), ("user", "replace-or-none")):
        true = 0.0
        for one in DATASETS:
            for neighbour in EDGES[other][one]:
                (user,) = {user for user, _ in changed(one, neighbour)}
                p, q = responses(one[user], keep), responses(neighbour[user], keep)
                true = max(true, *(log(p[outcome] / q[outcome]) for outcome in p if p[outcome] > 0))
        counted = counted_in(cell(epsilon), Scope(*other, "local"), OBJECTS)
        assert counted is not None
        assert counted.epsilon == pytest.approx(true, rel=1e-12)


def test_a_delta_of_claims_bounds_what_users_lose() -> None:
    epsilon, delta = 0.8, 0.02
    keep = exp(epsilon) / (2 + exp(epsilon))
    one, other = ((responses(row, keep, delta)) for row in ((0, 0), (1, 1)))
    p, q = list(one.values()), [other[outcome] for outcome in one]
    counted = counted_in(claim("replace-one", epsilon, delta), Scope("user", "replace-one", "central"), 2)
    assert counted is not None
    assert delta < hockey_stick(p, q, counted.epsilon) <= counted.delta
