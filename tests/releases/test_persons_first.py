"""A certified release protects persons unless it is told otherwise, and says what that means for claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from crowdveil import Certified, Claims, Range, release
from crowdveil.certificates.certificate import of_release
from crowdveil.errors import ParameterError
from crowdveil.guarantee import ONE_NAME, Guarantee
from crowdveil.names import similar_names
from crowdveil.randomness import secure
from crowdveil.releases.attempts import Attempts
from crowdveil.releases.basic import Basic
from crowdveil.releases.method import ReleaseMethod
from crowdveil.releases.pattern import Pattern
from crowdveil.releases.smoothed import Smoothed

TEN = Range(0, 10)


def crowd(values: int = 1) -> Claims:
    """60 users with four claims each about six objects, and one with six; `values` seeds the values."""
    rng = np.random.default_rng(values)
    rows = [((s + i) % 6, s) for s in range(60) for i in range(4)] + [(i, 60) for i in range(6)]
    objects, users = np.array(rows).T
    return Claims.from_columns(objects, users, rng.uniform(0, 10, len(rows)))


def test_a_release_protects_persons_and_each_of_their_claims() -> None:
    released = release(crowd(), Certified(8.0, TEN))
    promise = released.promise
    assert isinstance(promise, Guarantee)
    assert (promise.unit, promise.adjacency, promise.epsilon) == ("user", "replace-one", 8.0)
    assert ONE_NAME in promise.assumptions
    assert [level.sentence() for level in of_release(released).levels()] == [
        "a person, with everything they said: epsilon 8",
        "each of their claims: epsilon 8",
    ]


def test_the_cap_is_chosen_without_looking_at_values() -> None:
    caps = {Certified(8.0, TEN).settled(crowd(seed)).cap for seed in range(5)}
    extreme = replace(crowd(), values=np.where(np.arange(246) % 2, 0.0, 10.0))
    assert caps == {Certified(8.0, TEN).settled(extreme).cap}
    assert 1 <= (caps.pop() or 0) <= 6


def test_a_cap_that_is_given_stands() -> None:
    assert Certified(8.0, TEN, cap=2).settled(crowd()).cap == 2
    assert release(crowd(), Certified(8.0, TEN, cap=2)).parameters["cap"] == 2


def test_where_persons_come_and_go_the_cap_is_declared() -> None:
    with pytest.raises(ParameterError, match="--cap"):
        Certified(1.0, TEN, adjacency="add-remove", objects=("a",))


def test_nothing_is_promised_before_the_cap_is_chosen() -> None:
    with pytest.raises(ParameterError, match="not chosen yet"):
        Certified(1.0, TEN).promise(Pattern.even(1, 10))


@pytest.mark.parametrize(
    "method",
    [
        Certified(2.0, TEN, unit="claim"),
        Basic(2.0, TEN),
        Smoothed(TEN, bandwidth=0.5),
        Attempts(TEN, bandwidth=0.5, attempts=1, k=30, epsilon0=1.0),
    ],
    ids=lambda method: method.name,
)
def test_a_release_that_protects_claims_says_what_that_is_worth_for_a_person(method: ReleaseMethod) -> None:
    released = release(crowd(), method, rng=secure())
    claim, user = released.promise, released.user_promise
    assert isinstance(claim, Guarantee)
    assert isinstance(user, Guarantee)
    assert (claim.unit, user.unit) == ("claim", "user")
    assert claim.epsilon < user.epsilon <= 6 * claim.epsilon * (1 + 1e-12)
    assert claim.delta <= user.delta <= 6 * claim.delta * (1 + 1e-12)
    assert ONE_NAME in user.assumptions
    own, persons = [level.sentence() for level in of_release(released).levels()]
    assert own.startswith("each claim: epsilon ")
    assert persons.startswith("a person with 6 claims, and nobody has more: epsilon ")


def test_a_promise_about_claims_costs_a_person_epsilon_times_their_claims() -> None:
    pattern = Pattern.of(crowd())
    user = Certified(2.0, TEN, unit="claim").user_promise(pattern)
    assert isinstance(user, Guarantee)
    assert user.epsilon == 12.0


def test_what_a_smoothed_release_promises_to_a_person_is_that_of_all_draws_together() -> None:
    method, pattern = Smoothed(TEN, bandwidth=0.5), Pattern.of(crowd())
    user = method.user_promise(pattern)
    assert isinstance(user, Guarantee)
    assert user.epsilon == replace(method, per_object=6 * method.per_object).epsilon(
        int(pattern.per_object.min())
    )
    assert user.delta == method.delta


def test_where_claims_come_and_go_two_values_are_hidden_half_as_well_and_no_count_is_told() -> None:
    coming = Certified(1.0, TEN, unit="claim", adjacency="add-remove", objects=tuple(range(6)))
    released = release(crowd(), coming, rng=secure())
    certificate = of_release(released)
    assert released.user_promise is None
    assert certificate.public == {}
    assert [level.sentence() for level in certificate.levels()] == [
        "whether a claim is there: epsilon 1",
        "between two values of a claim: epsilon 2",
        "whether a person took part, with all their claims: epsilon 1 times their number",
    ]


def test_where_persons_come_and_go_what_they_said_is_hidden_half_as_well() -> None:
    coming = Certified(1.0, TEN, cap=4, adjacency="add-remove", objects=tuple(range(6)))
    epsilons = [level.epsilon for level in of_release(release(crowd(), coming, rng=secure())).levels()]
    assert epsilons == [1.0, 2.0, 2.0, 2.0]


def test_names_that_differ_by_case_or_blanks_are_counted() -> None:
    names = pl.Series(["Ann", "ann ", "bob", "b ob", "Zoë", "ZOË", "zoe", "c  d", "C D"])
    assert similar_names(names) == 6
    assert similar_names(pl.Series([1, 2, 3])) == 0
