"""Whole tables of noisy claims: the same to the last bit as ever, whatever the blocks and the threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from crowdveil.engines import LocalEngine
from crowdveil.local import perturb
from crowdveil.randomness import seeded
from cutting import OneByOne
from every_device import MECHANISMS, digest, table
from every_method import crowd
from noting import Secure

RECORDED = {
    ("text", "laplace"): "87fd77abc53f577c",
    ("text", "fresh"): "46497588966d6e07",
    ("text", "per user"): "710bf05b21e2e206",
    ("text", "per user, coarse"): "e462d3e892ba28c9",
    ("text", "per user, floor"): "6edf3337148c75e3",
    ("numbers", "laplace"): "36d1ae0175ba2900",
    ("numbers", "fresh"): "66f51cc1b2ef2662",
    ("numbers", "per user"): "dbddbfde4ba40017",
    ("numbers", "per user, coarse"): "9d371e1a5207ecd4",
    ("numbers", "per user, floor"): "22d158d2c0739e8d",
}


every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


@pytest.mark.parametrize(("names", "name"), RECORDED)
def test_seeded_draws_are_what_they_were(names: str, name: str) -> None:
    """Digests of a loop over users in Python, which drew before engines did."""
    perturbed = perturb(table(names), MECHANISMS[name], rng=seeded(12))
    assert digest(perturbed.claims) == RECORDED[names, name]
    assert perturbed.clamped == 1896


@every_mechanism
def test_noisy_claims_depend_neither_on_blocks_nor_on_threads(name: str) -> None:
    whole, cut, threads = (
        perturb(table("text"), MECHANISMS[name], rng=seeded(3), engine=engine)
        for engine in (LocalEngine(1), OneByOne(), LocalEngine(3))
    )
    assert digest(whole.claims) == digest(cut.claims) == digest(threads.claims)
    assert whole.promise == cut.promise
    assert whole.claims_of_a_user == cut.claims_of_a_user == table("text").claims_per_user().max()


@every_mechanism
def test_no_two_users_draw_from_the_same_stream(name: str) -> None:
    rng = Secure(None)
    perturb(crowd(), MECHANISMS[name], rng=rng, engine=OneByOne())
    assert len(rng.used) == len(crowd().users)
    assert max(Counter(rng.used).values()) == 1


def test_claims_by_user_are_those_of_each_user_in_the_order_of_objects() -> None:
    claims = table("text")
    users = claims.by_user()
    for number in range(len(claims.users)):
        mine = claims.user_codes == number
        begin, end = users.offsets[number : number + 2]
        assert users.user_codes[begin:end].tolist() == claims.owners()[mine].tolist()
        assert users.values[begin:end].tolist() == claims.values[mine].tolist()
    assert np.array_equal(users.returned(users.values), claims.values)
