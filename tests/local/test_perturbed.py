"""What every mechanism on devices shares: streams by user, an order that tells nothing, refused input."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from crowdveil.claims import Claims
from crowdveil.errors import InputError, ParameterError
from crowdveil.guarantee import NoGuarantee
from crowdveil.local import ClaimMechanism, Laplace, perturb, perturb_one
from crowdveil.local.grid import Grid
from crowdveil.randomness import secure, seeded
from every_device import MECHANISMS, TEN

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)


def rows(users: int = 12, objects: int = 9) -> list[tuple[str, int, float]]:
    """Some users' claims about most of the objects, some of them outside the range."""
    return [
        (f"object {i}", s, float((7 * i + 5 * s) % 13) - 1.0)
        for i in range(objects)
        for s in range(users)
        if (i + s) % 4
    ]


def table(of: list[tuple[str, int, float]]) -> Claims:
    return Claims.from_columns(*map(list, zip(*of, strict=True)))


def by_pair(claims: Claims) -> dict[tuple[str, int], float]:
    objects = np.repeat(np.arange(len(claims.objects)), claims.counts())
    names, users = claims.objects.gather(objects).to_list(), claims.users.gather(claims.user_codes).to_list()
    return dict(zip(zip(names, users, strict=True), claims.values.tolist(), strict=True))


@every_mechanism
def test_objects_users_and_who_claimed_what_stay_as_they_are(mechanism: ClaimMechanism) -> None:
    claims = table(rows())
    noisy = perturb(claims, mechanism, rng=secure()).claims
    assert noisy.objects.equals(claims.objects)
    assert noisy.users.equals(claims.users)
    assert by_pair(noisy).keys() == by_pair(claims).keys()
    assert not noisy.values.flags.writeable
    assert not noisy.user_codes.flags.writeable


@every_mechanism
def test_the_order_of_noisy_claims_is_their_own(mechanism: ClaimMechanism) -> None:
    """It is the order that the noisy claims would be given if nobody had ever seen the raw ones."""
    noisy = perturb(table(rows(users=60)), mechanism, rng=seeded(1)).claims
    pairs = list(by_pair(noisy).items())
    shuffled = [pairs[i] for i in np.argsort(seeded(2).stream("order", purpose="test").uniforms(len(pairs)))]
    again = table([(name, user, value) for (name, user), value in shuffled])
    assert np.array_equal(again.values, noisy.values)
    assert np.array_equal(again.user_codes, noisy.user_codes)
    assert np.array_equal(again.offsets, noisy.offsets)


def test_equal_noisy_values_come_in_the_order_of_users_not_of_raw_values() -> None:
    # Two places far apart and little noise: most noisy claims are equal to many others.
    count = 400
    values = [9.0 - 9.0 * s / count for s in range(count)]
    claims = Claims.from_columns(["object"] * count, range(count), values)
    noisy = perturb(claims, Laplace(0.5, TEN, resolution=10.0), rng=seeded(3)).claims
    equal = np.diff(noisy.values) == 0
    assert equal.sum() > 300
    assert (np.diff(noisy.user_codes)[equal] > 0).all()


@every_mechanism
def test_a_users_noise_depends_on_no_other_user(mechanism: ClaimMechanism) -> None:
    everybody = by_pair(perturb(table(rows()), mechanism, rng=seeded(4)).claims)
    few = by_pair(
        perturb(table([row for row in rows() if row[1] in (3, 8)]), mechanism, rng=seeded(4)).claims
    )
    assert few == {pair: value for pair, value in everybody.items() if pair[1] in (3, 8)}


@every_mechanism
def test_the_order_of_rows_does_not_matter(mechanism: ClaimMechanism) -> None:
    there, back = (perturb(table(given), mechanism, rng=seeded(5)).claims for given in (rows(), rows()[::-1]))
    assert by_pair(there) == by_pair(back)


@every_mechanism
def test_a_users_noise_depends_on_no_value(mechanism: ClaimMechanism) -> None:
    moved = [(name, user, 10.0 if (name, user) == ("object 1", 2) else value) for name, user, value in rows()]
    one, other = (
        by_pair(perturb(table(given), mechanism, rng=seeded(6)).claims) for given in (rows(), moved)
    )
    differ = {pair for pair in one if one[pair] != other[pair]}
    assert differ == {("object 1", 2)}


@every_mechanism
def test_a_device_alone_does_what_the_table_does(mechanism: ClaimMechanism) -> None:
    together = by_pair(perturb(table(rows()), mechanism, rng=seeded(7)).claims)
    for user in range(12):
        own = [(name, value) for name, s, value in rows() if s == user]
        sent = perturb_one([value for _, value in own], mechanism, user=user, rng=seeded(7))
        assert sent.tolist() == [together[name, user] for name, _ in own]


@every_mechanism
def test_noise_is_the_same_loop_over_users(mechanism: ClaimMechanism) -> None:
    """A slow twin: user by user, claim by claim, in a dictionary."""
    slow: dict[tuple[str, int], float] = {}
    for user in range(12):
        own = sorted((name, value) for name, s, value in rows() if s == user)
        sent = perturb_one([0.0] * len(own), mechanism, user=user, rng=seeded(8))
        grid = mechanism.grid
        for (name, value), start in zip(own, sent.tolist(), strict=True):
            place = round((min(max(value, 0.0), 10.0)) / grid.step)
            slow[name, user] = grid.step * (round(start / grid.step) + min(place, grid.steps))
    assert by_pair(perturb(table(rows()), mechanism, rng=seeded(8)).claims) == slow


@every_mechanism
def test_users_do_not_share_noise(mechanism: ClaimMechanism) -> None:
    first, second = (
        perturb_one([0.0] * 50, mechanism, user=user, rng=seeded(9)).tolist() for user in ("a", "b")
    )
    assert first != second
    assert perturb_one([0.0] * 50, mechanism).tolist() != perturb_one([0.0] * 50, mechanism).tolist()


@every_mechanism
@pytest.mark.parametrize(
    "given",
    [
        [("a", 1, 5.0)],
        [("a", s, 5.0) for s in range(5)],
        [(name, 1, 5.0) for name in "abc"],
        [("a", 1, -1e100), ("b", 1, 1e100)],
    ],
    ids=["one claim", "all equal", "one user", "far outside"],
)
def test_small_tables_work(mechanism: ClaimMechanism, given: list[tuple[str, int, float]]) -> None:
    perturbed = perturb(table(given), mechanism)
    assert len(perturbed.claims) == len(given)
    assert np.isfinite(perturbed.claims.values).all()


@every_mechanism
def test_noisy_values_lie_on_the_grid(mechanism: ClaimMechanism) -> None:
    values = perturb(table(rows()), mechanism, rng=seeded(10)).claims.values
    assert np.array_equal(values, mechanism.grid.step * np.rint(values / mechanism.grid.step))


@every_mechanism
def test_what_was_clamped_is_counted_and_not_told_apart(mechanism: ClaimMechanism) -> None:
    outside = [("a", s, value) for s, value in enumerate((-0.1, 0.0, 5.0, 10.0, 10.1, 1e9))]
    inside = [("a", s, min(max(value, 0.0), 10.0)) for _, s, value in outside]
    beyond, within = (perturb(table(given), mechanism, rng=seeded(11)) for given in (outside, inside))
    assert (beyond.clamped, within.clamped) == (3, 0)
    assert by_pair(beyond.claims) == by_pair(within.claims)


@every_mechanism
def test_a_seed_takes_the_promises_away(mechanism: ClaimMechanism) -> None:
    private, repeatable = (perturb(table(rows()), mechanism, rng=rng) for rng in (secure(), seeded(1)))
    assert (private.seeded, repeatable.seeded) == (False, True)
    assert not isinstance(private.promise, NoGuarantee)
    for promise in (repeatable.promise, repeatable.user_promise):
        assert isinstance(promise, NoGuarantee)
        assert "seed" in promise.sentence()


def test_objects_and_users_without_claims_stay() -> None:
    claims = table(rows()).about(["object 1", "object 99"])
    perturbed = perturb(claims, MECHANISMS["laplace"])
    assert perturbed.claims.objects.to_list() == ["object 1", "object 99"]
    assert len(perturbed.claims.users) == 12
    nothing = perturb(table(rows()).about(["object 99"]), MECHANISMS["per user"])
    assert (len(nothing.claims), nothing.clamped) == (0, 0)


@every_mechanism
@pytest.mark.parametrize(
    "values",
    [[1.0, nan], [inf], [-inf, 1.0], [], [[1.0]], 3.0, ["secret 7"], [None], [1.0, "secret 7"], [{}]],
)
def test_bad_values_are_refused_and_not_quoted(mechanism: ClaimMechanism, values: Any) -> None:
    with pytest.raises(InputError) as refused:
        perturb_one(values, mechanism)
    assert "secret" not in str(refused.value)
    assert "nan" not in str(refused.value)


@pytest.mark.parametrize("ends", [(1.0, 0.0), (1.0, 1.0), (nan, 1.0), (0.0, inf), (0.0, 1e151)], ids=str)
def test_ends_of_a_grid_are_checked(ends: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="range"):
        Grid(*ends, 1.0)


def test_purposes_of_streams_differ_and_are_short_enough() -> None:
    methods = {mechanism.method for mechanism in MECHANISMS.values()}
    assert methods == {"local laplace", "local gauss-exp"}
    assert max(len(method.encode()) for method in methods) <= 16
