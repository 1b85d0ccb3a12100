"""Plans of releases: what they choose is private enough, worth having, and not chosen where nothing is."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.planning import releases
from crowdveil.planning.releases import (
    MOST_CLAIMS,
    PUBLIC_SHARES,
    STRICTER,
    WORTHLESS,
    ReleasePlan,
    plan_release,
)
from crowdveil.public_range import Range
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.certified import Certified
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.registry import RELEASES
from crowdveil.releases.smoothed import Smoothed

TEN = Range(0.0, 10.0)


@cache
def planned(objects: int, claims: int, epsilon: float, **wish: Any) -> dict[str, Any]:
    return plan_release(ReleasePlan(objects, claims, TEN, epsilon, **{"unit": "claim", **wish}))


def rows(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in told["methods"]}


WISHES = [(20, 30, 1.0), (20, 247, 1.0), (20, 1000, 4.0), (60, 3, 0.1)]


@pytest.mark.parametrize("wish", WISHES)
def test_every_method_costs_what_was_wished_at_most_and_the_best_is_advised(
    wish: tuple[int, int, float],
) -> None:
    plan = planned(*wish)
    told = rows(plan)
    assert list(told) == ["certified", "pooled", "smoothed", "attempts", "basic"]
    for row in told.values():
        assert row["possible"] == (row["why"] is None) == (row["command"] is not None)
        assert not row["possible"] or (0 < row["epsilon"] <= wish[2] and row["delta"] in (0, 1e-6))
    single = [row for row in told.values() if row["possible"] and row["method"] != "pooled"]
    best = min(single, key=lambda row: float(row["relative_ise"]))
    worth = best["relative_ise"] < min(WORTHLESS, plan["without_release"]["relative_ise"])
    assert worth == (wish[1] > 3)
    assert plan["advice"] == (best["method"] if worth else "pooled")
    assert plan["command"] == told[plan["advice"]]["command"]


def test_a_method_that_cannot_reach_the_epsilon_says_so() -> None:
    told = rows(planned(60, 3, 0.1))
    for method in ("certified", "smoothed", "attempts"):
        assert not told[method]["possible"]
        assert "few claims" in told[method]["why"]
        assert told[method]["relative_ise"] is told[method]["epsilon"] is None
    # It is true: one draw, nearly all of it public, costs more. An attempt that fails half the time does too.
    assert Smoothed(TEN, 2.5, 1, max(PUBLIC_SHARES)).epsilon(3) > 0.1
    assert Attempts(TEN, 2.5, 1, 3, epsilon0=0.07, eta=0.5).epsilon([3]) > 0.1


def test_the_smallest_public_share_is_taken() -> None:
    chosen = rows(planned(20, 247, 1.0))["smoothed"]["parameters"]
    place = PUBLIC_SHARES.index(chosen["lam"])
    assert place > 0
    less = Smoothed(TEN, **chosen | {"lam": PUBLIC_SHARES[place - 1]})
    assert less.epsilon(247) > 1.0 >= Smoothed(TEN, **chosen).epsilon(247)


def test_the_test_is_no_stricter_than_it_has_to_be_and_larger_objects_cost_no_more() -> None:
    chosen = rows(planned(20, 247, 1.0))["attempts"]["parameters"]
    looser = Attempts(TEN, **chosen | {"k": int(chosen["k"] / STRICTER[-1] * STRICTER[0])})
    assert looser.epsilon([247]) > 1.0
    assert Attempts(TEN, **chosen).epsilon([247, 300, 1000, 50_000]) <= 1.0
    assert Attempts(TEN, **chosen).epsilon([247, 60]) > 1.0


def test_no_more_claims_are_released_than_asked_for() -> None:
    told = rows(planned(10, 400, 2.0, per_object=3))
    assert told["smoothed"]["parameters"]["per_object"] <= 3
    assert told["attempts"]["parameters"]["attempts"] <= 3
    assert told["certified"]["parameters"]["per_object"] == 3


def test_what_the_range_alone_tells_is_not_worth_a_release() -> None:
    # Wide objects look like the range; so do draws that are mostly public.
    told = planned(1, 2, 1.0, spread=2.5)
    assert told["without_release"]["relative_ise"] < 0.3
    assert told["advice"] == "none"
    assert told["command"] is None


def test_one_value_is_no_density() -> None:
    told = rows(planned(20, 30, 1.0))["attempts"]
    assert told["parameters"]["attempts"] == 1
    assert told["relative_ise"] == pytest.approx(1.0)


def test_a_delta_buys_less_error() -> None:
    pure, some = (rows(planned(20, 100, 1.0, delta=delta)) for delta in (0.0, 1e-3))
    assert pure["smoothed"]["delta"] == 0
    assert some["smoothed"]["relative_ise"] < pure["smoothed"]["relative_ise"]
    assert pure["attempts"]["why"] == "needs a delta above 0"


def test_users_are_protected_by_the_certified_release_alone() -> None:
    alone, ten = (rows(planned(20, 300, 1.0, unit="user", cap=cap)) for cap in (1, 10))
    for method in ("smoothed", "attempts", "basic"):
        assert ten[method]["why"] == "protects claims, not users"
    assert alone["certified"]["relative_ise"] < ten["certified"]["relative_ise"]
    # A cap of one is what a claim is: the same noise, the same seeds, the same release.
    claim = rows(planned(20, 300, 1.0))["certified"]
    assert alone["certified"]["relative_ise"] == claim["relative_ise"]
    assert not rows(planned(20, 300, 1.0, unit="user", cap=100))["certified"]["possible"]


def test_claims_beyond_the_largest_object_change_no_figure() -> None:
    told, more = (planned(1, claims, 1.0) for claims in (MOST_CLAIMS, 10**9))
    assert told["methods"][2:] == more["methods"][2:]
    row, other = (rows(one)["certified"] for one in (told, more))
    assert other["relative_ise"] < 2 * row["relative_ise"]  # so much evidence changes little
    costs = [Pattern.even(1, n) for n in (MOST_CLAIMS, 3 * MOST_CLAIMS)]
    for make, method in ((Smoothed, "smoothed"), (Attempts, "attempts")):
        parameters = make(TEN, **rows(told)[method]["parameters"])
        assert parameters.promise(costs[1]).epsilon <= parameters.promise(costs[0]).epsilon


BY_DAY = [
    ("user", 50, 1, 1.0, 1.0),
    ("user", 1, 10**6, 0.001, 1.0),
    ("user", 50, 30, 0.3, 0.001),
    ("claim", 50, 30, 0.3, 1.0),
    ("claim", 50, 1, 100.0, 1.0),
]
FAR_AND_WIDE = [
    *[("user", 50, 1, epsilon, 1.0) for epsilon in (0.001, 1.0, 100.0)],
    *[("user", 1, claims, 100.0, 1.0) for claims in (1, 30)],
    *[("user", 1, 10**6, epsilon, spread) for epsilon in (0.001, 100.0) for spread in (0.001, 1.0, 2.5)],
    *[("user", 50, 30, epsilon, spread) for epsilon in (0.1, 0.3) for spread in (0.001, 1.0, 2.5)],
    *[("claim", 50, 30, epsilon, 1.0) for epsilon in (0.001, 0.3, 100.0)],
    *[("claim", 50, 1, epsilon, 1.0) for epsilon in (1.0, 100.0)],
]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("unit", "objects", "claims", "epsilon", "spread"),
    [case if case in BY_DAY else pytest.param(*case, marks=pytest.mark.slow_audit) for case in FAR_AND_WIDE],
)
def test_what_is_advised_is_better_than_nothing_in_a_simulation_of_its_own(
    unit: Any, objects: int, claims: int, epsilon: float, spread: float
) -> None:
    plan = ReleasePlan(objects, claims, TEN, epsilon, spread, unit=unit)
    told = plan_release(plan)
    if told["advice"] == "none":
        assert told["command"] is None
        return
    row = rows(told)[told["advice"]]
    assert f"--unit {unit}" in told["command"] or told["advice"] not in ("certified", "pooled")
    world = releases._world(plan, pooled=told["advice"] == "pooled")
    method: Any = RELEASES["certified" if told["advice"] == "pooled" else told["advice"]]
    parameters = method(range=TEN, **row["parameters"])
    if isinstance(parameters, Certified):
        parameters = releases._as_much_evidence(parameters, plan, world)
    seeds = range(5000, 5000 + len(world.seeds))
    errors = np.mean([releases._trial(parameters, world, seed, LocalEngine()) for seed in seeds], axis=0)
    nothing = row["without_release"]
    assert errors[0] < nothing["relative_ise"]
    assert errors[1] < nothing["centre_error"]


def test_nothing_is_advised_where_nothing_helps_and_pooling_where_it_does() -> None:
    assert planned(50, 1, 0.001, unit="user")["advice"] == "none"
    assert planned(200, 3, 0.5, unit="user")["advice"] == "pooled"
    # Pooled claims are judged as well: today's few claims say nothing together either.
    few = planned(3, 2, 0.1, unit="user")
    assert few["advice"] == "none"
    assert not rows(few)["pooled"]["possible"]


def test_the_cap_of_a_plan_follows_the_claims_of_each_user() -> None:
    for count in (1, 4, 20):
        plan = ReleasePlan(20, 300, TEN, 8.0, claims_per_user=count)
        assert plan.certified(pooled=False).cap == count  # users alike: more claims bring more than noise
    assert ReleasePlan(20, 300, TEN, 8.0, claims_per_user=20, cap=5).claims == 75
    assert ReleasePlan(20, 300, TEN, 8.0, cap=5).of_each_user == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": 0.5},
        {"delta": -1e-9},
        {"spread": 2.6},
        {"spread": 0.0},
        {"unit": "claim", "cap": 3},
        {"unit": "user", "cap": 0},
        {"unit": "user", "claims_per_user": 0},
        {"unit": "user", "claims_per_user": 21},
        {"unit": "claim", "claims_per_user": 2},
        {"per_object": 0},
    ],
)
def test_impossible_wishes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        ReleasePlan(20, 30, TEN, 1.0, **wrong)
