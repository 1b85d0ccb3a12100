"""Plans of sensing campaigns: parameters keep the promise, errors are to be expected, advice follows both."""

from __future__ import annotations

import json
from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Guarantee
from crowdveil.local import Laplace, VariancePerUser, fresh_variance
from crowdveil.planning.releases import WORTHLESS
from crowdveil.planning.sensing import (
    EXTRA,
    SensingPlan,
    _digits_down,
    _floored_variance,
    _laplace,
    plan_sensing,
)
from crowdveil.planning.sensing_errors import METHODS, MOST_CLAIMS, ExpectedSensing
from crowdveil.public_range import Range
from crowdveil.truth import mean

TEN = Range(0.0, 10.0)
ENGINE = LocalEngine()
NAMES = ["laplace", "variance-per-user", "variance-per-user-floor"]


@cache
def planned(users: int, epsilon: float, **wish: Any) -> dict[str, Any]:
    told = plan_sensing(SensingPlan(users, TEN, epsilon, **wish), engine=ENGINE)
    strict: dict[str, Any] = json.loads(json.dumps(told, allow_nan=False))
    return strict


def rows(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["mechanism"]: row for row in told["mechanisms"]}


def rebuilt(name: str, parameters: dict[str, float]) -> Laplace | VariancePerUser:
    if name == "laplace":
        return Laplace(parameters["epsilon"], TEN)
    if name == "variance-per-user":
        return VariancePerUser(parameters["lambda2"], TEN)
    return VariancePerUser(parameters["lambda2"], TEN, floor=parameters["floor"], delta=parameters["delta"])


# One claim each costs one search for an epsilon, several cost two.
WISHES: list[dict[str, Any]] = [
    {"users": 600, "epsilon": 4.0, "objects": 10, "claims_per_user": 1},
    {"users": 30, "epsilon": 6.0, "objects": 20, "unit": "user", "delta": 1e-5},
]


@pytest.mark.parametrize("wish", WISHES, ids=["claim", "user"])
def test_the_parameters_given_back_keep_the_promise(wish: dict[str, Any]) -> None:
    told = rows(planned(**wish))
    assert list(told) == NAMES
    claims = wish.get("claims_per_user", wish["objects"])
    for name, row in told.items():
        made = rebuilt(name, row["parameters"])
        user = (
            made.promise("user", claims, delta=wish.get("delta", 1e-6))
            if isinstance(made, Laplace)
            else made.promise("user", claims)
        )
        promises = {"claim": made.promise(), "user": user}
        for level, promise in promises.items():
            assert row[level] == json.loads(json.dumps(promise.to_dict()))
        asked = promises[wish.get("unit", "claim")]
        assert row["meets"] == (name != "variance-per-user")
        if row["meets"]:
            assert isinstance(asked, Guarantee)
            assert 0.98 * wish["epsilon"] <= asked.epsilon <= wish["epsilon"]
            assert asked.delta in (0, wish.get("delta", 1e-6))


@pytest.mark.parametrize("wish", WISHES, ids=["claim", "user"])
def test_one_variance_per_user_is_told_with_its_large_delta_and_never_advised(wish: dict[str, Any]) -> None:
    told = planned(**wish)
    row = rows(told)["variance-per-user"]
    assert row["claim"]["delta"] > 0.001
    assert "This is weak" in row["claim"]["sentence"]
    made = rebuilt("variance-per-user", row["parameters"])
    assert isinstance(made, VariancePerUser)
    claims = wish["objects"] if wish.get("unit") == "user" else 1
    assert row["parameters"]["delta_at_the_epsilon_wished"] == made.delta_at(wish["epsilon"], claims)
    assert told["advice"] != "variance-per-user"
    # The same noise on average as Laplace noise, from the same rate.
    laplace = rows(told)["laplace"]
    assert row["average_noise"] == pytest.approx(laplace["average_noise"], rel=0.01)
    assert fresh_variance(row["parameters"]["lambda2"], TEN).epsilon == pytest.approx(
        laplace["parameters"]["epsilon"], rel=0.01
    )


def test_laplace_is_best_for_claims_and_a_floor_for_users_with_many() -> None:
    claim, user = (rows(planned(**wish)) for wish in WISHES)
    assert claim["laplace"]["noise_ratio"] < 0.2 * claim["variance-per-user-floor"]["noise_ratio"]
    assert user["variance-per-user-floor"]["noise_ratio"] < user["laplace"]["noise_ratio"]
    for told in (claim, user):
        for row in told.values():
            made = rebuilt(row["mechanism"], row["parameters"])
            assert row["noise_ratio"] == pytest.approx(made.noise_variance)  # the spread is 1


def test_the_error_of_the_mean_is_what_its_variance_says() -> None:
    told = planned(**WISHES[0])
    each = told["claims_per_object"]
    assert each == 60
    for row in told["mechanisms"]:
        expected = sqrt(2 / pi) * sqrt(row["noise_ratio"] / each)
        assert row["errors"]["mean"]["change"] == pytest.approx(expected, rel=0.2)
        assert row["errors"]["mean"]["error"] == pytest.approx(expected, rel=0.25)
    assert told["without_noise"]["mean"]["error"] == pytest.approx(sqrt(2 / pi / each), rel=0.2)
    assert told["range_only"]["error"] == pytest.approx(1.5, rel=0.2)  # uniform between 2 and 8


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 2.5, 1 / 3])
def test_laplace_keeps_every_epsilon_that_can_be_asked_for(epsilon: float) -> None:
    assert rows(planned(40, epsilon, objects=2, delta=0.0))["laplace"]["meets"]


def test_without_a_delta_there_is_no_floor_and_no_theory() -> None:
    told = planned(40, 1.0, objects=2, delta=0.0)
    floored = rows(told)["variance-per-user-floor"]
    assert not floored["possible"]
    assert floored["why"] == "needs a delta above 0"
    assert floored["errors"] is floored["command"] is told["theory"] is None
    # Then users pay the sum.
    split = rows(planned(40, 1.0, objects=2, delta=0.0, unit="user"))["laplace"]
    assert split["parameters"]["epsilon"] == 0.5
    assert split["user"]["epsilon"] == 1.0


# --- advice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("users", "epsilon"), [(20, 0.1), (20, 1.0), (600, 1.0), (60, 50.0)])
def test_the_advice_follows_the_error(users: int, epsilon: float) -> None:
    told = planned(users, epsilon, objects=5, delta=0.0)
    row = rows(told)["laplace"]
    error = min(one["error"] for one in row["errors"].values())
    worth = error < WORTHLESS * told["range_only"]["error"]
    assert worth == (users * epsilon**2 > 100)
    assert told["advice"] == ("laplace" if worth else "none")
    assert told["command"] == (row["command"] if worth else None)
    assert told["error"] == (error if worth else None)
    assert told["reached"] is None
    assert (told["claims_per_object_needed"] is None) == worth
    assert worth or told["people_needed"] > users


def test_errors_shrink_with_epsilon_and_with_people() -> None:
    wishes = [(60, 1.0), (60, 3.0), (60, 9.0), (400, 9.0), (10**4, 9.0), (10**6, 9.0)]
    found = [
        ExpectedSensing(users, 5, 5, TEN, 1.0).errors(Laplace(epsilon, TEN), engine=ENGINE)
        for users, epsilon in wishes
    ]
    for method in METHODS:
        for kind in ("error", "change"):
            values = [errors[method][kind] for errors in found]
            assert values == sorted(values, reverse=True)


def test_as_many_people_as_are_said_to_be_needed_reach_the_error() -> None:
    told = planned(60, 4.0, objects=6, delta=0.0, error=0.2)
    assert told["advice"] == "laplace"
    assert told["reached"] is False
    people = told["people_needed"]
    assert people == told["claims_per_object_needed"] > 60
    assert planned(people, 4.0, objects=6, delta=0.0)["error"] <= 1.15 * 0.2
    assert planned(people // 3, 4.0, objects=6, delta=0.0)["error"] > 0.2
    assert planned(4 * people, 4.0, objects=6, delta=0.0, error=0.2)["reached"] is True


def test_fewer_claims_each_take_more_people() -> None:
    told = planned(120, 4.0, objects=6, claims_per_user=3, delta=0.0, error=0.2)
    assert told["people_needed"] == 2 * told["claims_per_object_needed"]


def test_no_number_of_people_mends_what_is_clamped() -> None:
    told = planned(50, 20.0, objects=10, spread=2.5, delta=0.0, error=0.01)
    assert told["reached"] is False
    assert told["claims_per_object_needed"] is told["people_needed"] is None
    # With every claim in the world an error is left: as much as clamping moves the mean of many claims.
    crowd = ExpectedSensing(10**12, 10, 10, TEN, 2.5)
    left = crowd.errors(Laplace(20.0, TEN), engine=ENGINE)["mean"]["error"]
    moved = []
    for seed in crowd.seeds:
        claims, _ = crowd.simulated(seed)
        assert claims.counts().max() == MOST_CLAIMS
        raw, clamped = (mean.discover(one).estimates for one in (claims, claims.clamped(0.0, 10.0)[0]))
        moved.append(np.abs(raw - clamped).mean())
    assert left == pytest.approx(float(np.mean(moved)), rel=0.1)


def test_errors_of_more_claims_than_are_simulated_are_extrapolated() -> None:
    few, many = (ExpectedSensing(users, 4, 4, TEN, 0.5) for users in (MOST_CLAIMS, 100 * MOST_CLAIMS))
    made = Laplace(2.0, TEN)
    before, after = (one.errors(made, engine=ENGINE) for one in (few, many))
    for method in before:
        assert after[method]["error"] == pytest.approx(before[method]["error"] / 10, rel=0.1)
    # Where the noise-aware method knows little more than the range, it has to wait for the mean.
    drowned = Laplace(0.01, TEN)
    told = few.errors(drowned, engine=ENGINE)
    assert told["noise-aware"]["error"] < 0.2 * told["mean"]["error"]
    later = many.errors(drowned, engine=ENGINE)["noise-aware"]["error"]
    assert later == pytest.approx(min(told["noise-aware"]["error"], told["mean"]["error"] / 10), rel=1e-3)
    assert planned(10**9, 1.0, objects=1, delta=0.0)["extrapolated"]
    assert not planned(40, 1.0, objects=2, delta=0.0)["extrapolated"]


def test_users_are_told_what_one_claim_each_would_give() -> None:
    told = planned(**WISHES[1])
    single = told["one_claim_each"]
    best = min(
        row["errors"][m]["error"] for row in told["mechanisms"] if row["meets"] for m in ("gtm", "mean")
    )
    assert single["error"] < best
    assert "--epsilon 6 " in single["command"]
    assert planned(**WISHES[0])["one_claim_each"] is None


# --- parameters ---------------------------------------------------------------------------------------------


def test_the_floor_is_no_larger_than_it_has_to_be() -> None:
    made = _floored_variance(SensingPlan(range=TEN, **WISHES[1]))
    assert made.delta_at(6.0, 20) <= 1e-5
    assert made.rate * made.floor * EXTRA == pytest.approx(1, rel=0.01)
    lower = VariancePerUser(made.rate / 0.98, TEN, floor=0.98 * made.floor)
    assert lower.delta_at(6.0, 20) > 1e-5


def test_an_exponential_part_above_the_floor_only_costs() -> None:
    made = _floored_variance(SensingPlan(range=TEN, **WISHES[0]))
    for share in (0.2, 1.0, 3.0):
        # Whoever has as much variance in all, more of it exponential, has a larger delta.
        floor = made.noise_variance / (1 + share)
        other = VariancePerUser(1 / (share * floor), TEN, floor=floor)
        assert other.noise_variance == pytest.approx(made.noise_variance, rel=1e-3)
        assert other.delta_at(4.0) > 2 * made.delta_at(4.0)


def test_the_epsilon_of_a_claim_is_the_largest_that_users_can_have() -> None:
    wish = SensingPlan(100, TEN, 2.0, objects=30, unit="user")
    made = _laplace(wish)
    assert made.epsilon > 2.0 / 30  # better than the sum
    assert made.promise("user", 30, delta=1e-6).epsilon <= 2.0
    assert Laplace(1.02 * made.epsilon, TEN).promise("user", 30, delta=1e-6).epsilon > 2.0


@pytest.mark.parametrize("number", [1.0, 0.3, 123456.0, 9.999e-7, 0.1 + 0.2, 1e-300, 99950.0])
def test_digits_are_cut_to_one_side(number: float) -> None:
    assert 0.989 * number < _digits_down(number) <= number
    assert number <= -_digits_down(-number) < 1.011 * number
    assert len(f"{_digits_down(number):.15g}".split("e")[0].replace(".", "").strip("0")) <= 3


def test_commands_have_the_parameters_of_their_rows() -> None:
    told = rows(planned(**WISHES[1]))
    start = "crowdveil perturb claims.csv -o noisy.parquet --mechanism"
    values = {name: row["parameters"] for name, row in told.items()}
    shared, floored = values["variance-per-user"]["lambda2"], values["variance-per-user-floor"]
    expected = [
        f"laplace --epsilon {values['laplace']['epsilon']:g}",
        f"gaussian-exponential --variance-per-user --lambda2 {shared}",
        f"gaussian-exponential --variance-per-user --lambda2 {floored['lambda2']:g} "
        f"--floor {floored['floor']:g} --delta 1e-05",
    ]
    assert [row["command"] for row in told.values()] == [f"{start} {one} --range 0:10" for one in expected]


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0},
        {"epsilon": 0.0},
        {"epsilon": 2000.0},
        {"epsilon": float("nan")},
        {"objects": 0},
        {"claims_per_user": 0},
        {"claims_per_user": 31},
        {"users": 20, "claims_per_user": 1},
        {"objects": 20_000},
        {"spread": 0.0},
        {"spread": 2.6},
        {"spread": float("nan")},
        {"delta": 0.5},
        {"delta": 1e-30},
        {"unit": "record"},
        {"error": 0.0},
        {"error": 11.0},
        {"error": float("nan")},
    ],
)
def test_impossible_wishes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        SensingPlan(**{"users": 150, "range": TEN, "epsilon": 1.0, **wrong})
