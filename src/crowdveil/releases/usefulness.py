"""Whether a certified release is worth its epsilon, and what would make it so.

Only who made claims about what is used here, never a value, and only where that is public (adjacency
replace-one).
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor, log10, sqrt
from typing import TYPE_CHECKING

import numpy as np

from crowdveil.arrays import Ints
from crowdveil.claims import Claims
from crowdveil.engines import Engine
from crowdveil.releases.expected_error import Expectation

if TYPE_CHECKING:
    from crowdveil.releases.certified import Certified

MOST_EPSILON = 1e4
WEAK = 5.0  # above this epsilon hardly anything is protected
PRECISION = 1.02  # of an epsilon that is advised


def claims_used(claims: Claims, settled: Certified) -> Ints:
    """By object: the number of claims that a release uses, possibly 0; pooled, there is one number."""
    if settled.cap is not None:
        claims = claims.capped(settled.cap, keep_objects=True)
    return np.array([len(claims)], dtype=np.int64) if settled.pooled else claims.counts()


def expectation(
    claims: Claims, asked: Certified, spread: float | None, engine: Engine | None = None
) -> Expectation:
    """The error to expect, mean over all objects; one without claims has that of no release."""
    settled = asked.settled(claims, engine)
    return settled.expected_error(spread).over(claims_used(claims, settled))


def ways_out(
    claims: Claims, asked: Certified, spread: float | None, engine: Engine | None = None
) -> list[str]:
    """Options that would make a useless release useful, each by what is then expected."""

    def useful(other: Certified) -> bool:
        return expectation(claims, other, spread, engine).useful

    ways = []
    enough = _enough_epsilon(claims, asked, spread, engine)
    if enough is not None:
        weak = ", though that protects hardly at all" if enough > WEAK else ""
        ways.append(f"--epsilon {enough:g} would do{weak}")
    if asked.unit == "user" and useful(replace(asked, unit="claim", cap=None, delta=0.0)):
        ways.append("--unit claim would do, but protects a person with k claims by k times epsilon only")
    if not asked.pooled and useful(replace(asked, pooled=True, delta=0.0, reliability=None)):
        ways.append("--pooled releases one distribution of all objects")
    return [*ways, "--insist goes on regardless"]


def _enough_epsilon(
    claims: Claims, asked: Certified, spread: float | None, engine: Engine | None
) -> float | None:
    """An epsilon of two digits, about the smallest, at which such a release is useful; None if none is."""

    def useful(epsilon: float) -> bool:
        return expectation(claims, replace(asked, epsilon=epsilon), spread, engine).useful

    low, high = asked.epsilon, MOST_EPSILON
    if low >= high or not useful(high):
        return None
    while high > PRECISION * low:
        middle = sqrt(low * high)
        low, high = (low, middle) if useful(middle) else (middle, high)
    digit = 10.0 ** (floor(log10(high)) - 1)
    enough = float(f"{ceil(high / digit) * digit:.2g}")
    # A larger epsilon may come with another cap: what is advised must hold.
    return enough if useful(enough) else None
