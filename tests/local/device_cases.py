"""What tests of devices share: every mechanism of the registry, and a few people with claims and answers."""

from __future__ import annotations

from typing import Any

from crowdveil.answers import Answers
from crowdveil.claims import Claims
from crowdveil.local.description import Description
from crowdveil.local.device_input import public_objects
from crowdveil.local.registry import MECHANISMS
from crowdveil.local.request import MechanismRequest
from crowdveil.public_range import Range

OBJECTS = ["zebra", "Ähre", "apple", "e\u0301", "\U0001f600", "\ufb01n", "10", "9"]
"""In no order. One name is not NFC; one sorts differently by code points and by UTF-16 units."""

USERS = [f"user {s:02}" for s in range(11)]
TEN, FIVE = Range(0.0, 10.0), Range(0.0, 4.0)

WISHES = {
    "laplace": MechanismRequest(TEN, 1.0, options={"resolution": 0.5}),
    "gaussian-exponential": MechanismRequest(TEN, options={"lambda2": 0.02}),
    "gaussian-exponential-per-user": MechanismRequest(TEN, options={"lambda2": 0.02, "floor": 300.0}),
    "auto": MechanismRequest(Range(-2.0, 7.0), 1.5, options={"sparsity": 0.5}),
    "rr": MechanismRequest(FIVE, 1.0),
    "three-symbols": MechanismRequest(FIVE, 1.0),
    "cell-response": MechanismRequest(FIVE, 2.0),
    "lp": MechanismRequest(FIVE, 1.0, options={"null": 2}),
    "two-layer": MechanismRequest(FIVE, 2.0),
    "mf": MechanismRequest(FIVE, 1.0, options={"dimensions": 2, "ridge": 1.0}),
    "mf-sound": MechanismRequest(FIVE, 1.0, options={"dimensions": 2}),
    "slots": MechanismRequest(FIVE, 4.0, users=len(USERS), objects=len(OBJECTS), options={"sparsity": 0.5}),
}
"""A wish for every name of the registry."""

MORE = {
    "lp, random for NULL": Description("lp", {"epsilon": 2.5, "range": [-3, 3]}),
    "slots, some unnamed": Description(
        "slots",
        {"epsilon": 3.0, "range": [0, 9], "slots": 2, "listed": 2, "levels": 3, "unnamed": 3, "seed": 9},
    ),
    "no floor": Description("gaussian-exponential-per-user", {"rate": 0.5, "range": [-1.0, 1.0]}),
    "negative range": Description("laplace", {"epsilon": 0.3, "range": [-7.5, -1.25]}),
}
"""Parameters that no wish above leads to."""

CASES = {name: MECHANISMS[name].describe(wish) for name, wish in WISHES.items()} | MORE
FOR_CLAIMS = {name: case for name, case in CASES.items() if case.about == "claims"}
FOR_CELLS = {name: case for name, case in CASES.items() if case.about == "cells"}


def said(place: int, *, nothing: bool) -> dict[str, float]:
    """What the person in that place says about some objects; some say `nothing` if they may."""
    if nothing and place % 5 == 4:
        return {}
    about = [name for at, name in enumerate(OBJECTS) if (at + place) % 3 or at == place % len(OBJECTS)]
    return {name: ((7 * at + 5 * place) % 29) / 2 - 2.0 for at, name in enumerate(about)}


def claims() -> Claims:
    """Everybody's claims in one table."""
    rows = [
        (name, user, value) for s, user in enumerate(USERS) for name, value in said(s, nothing=False).items()
    ]
    return Claims.from_columns(*map(list, zip(*rows, strict=True)))


def answers(mechanism: Any) -> Answers:
    """Everybody's answers in one table; some people have none."""
    rows = [
        (name, user, value) for s, user in enumerate(USERS) for name, value in said(s, nothing=True).items()
    ]
    table = Claims.from_columns(*map(list, zip(*rows, strict=True)))
    return Answers.from_claims(table, mechanism.domain, objects=public_objects(OBJECTS), users=USERS)
