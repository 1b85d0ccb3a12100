"""Perturbing claims on devices: one device's values, or a whole table as all devices together would do it.

Each user's noise comes from a stream of the user's own name, in the order of the objects' names. So the noise
of a user depends neither on other users nor on any value, and a device that knows only its own claims gives
the same law as the simulation with a table, under a seed even the same values.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from crowdveil.arrays import Floats, Ints
from crowdveil.claims import Claims
from crowdveil.errors import InputError
from crowdveil.guarantee import SEEDED, Promise
from crowdveil.kernels import layout
from crowdveil.local.grid import Grid
from crowdveil.noise_law import NoiseLaw
from crowdveil.randomness import Name, Randomness, Words, secure
from crowdveil.randomness.chacha import STATE_WORDS, start


class Mechanism(Protocol):
    """Noise that a device adds to all claims of its user, and what it promises."""

    @property
    def method(self) -> str:
        """The mechanism's name, which is also the purpose of its streams: at most 16 bytes."""

    @property
    def grid(self) -> Grid:
        """Where claims are rounded to."""

    @property
    def noise_variance(self) -> float:
        """The variance of a noisy claim around the rounded one."""

    @property
    def law(self) -> NoiseLaw:
        """What is publicly known about the noise."""

    def fill_noise(self, state: Words, out: Ints) -> None:
        """Fill `out` with the noise of one user's claims, in steps of the grid."""

    def claim_level(self) -> Promise:
        """What is promised about each claim."""

    def user_level(self, claims: int) -> Promise:
        """What is promised to a user about all of so many claims."""


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Noisy claims of the same users about the same objects, and what was promised about the raw ones.

    The order of the claims is that of their noisy values. `clamped` counts raw claims outside the range: no
    promise covers it, and it is not for publication. `seeded` is true when the draws can be repeated from a
    seed: then nothing is promised.
    """

    claims: Claims
    promise: Promise  # about each claim
    user_promise: Promise  # about all claims of a user, for the user with the most
    law: NoiseLaw  # of the noise around the rounded claims; rounding moves by half a step at most
    clamped: int
    seeded: bool

    def __post_init__(self) -> None:
        if self.seeded:
            object.__setattr__(self, "promise", SEEDED)
            object.__setattr__(self, "user_promise", SEEDED)


def perturb(claims: Claims, parameters: Mechanism, *, rng: Randomness | None = None) -> Perturbed:
    """Every claim as its user's device would send it."""
    rng = rng or secure()
    grid = parameters.grid
    by_user = np.argsort(claims.user_codes, kind="stable")  # and by object, as claims are laid out
    each = claims.claims_per_user()
    places = grid.places(claims.values)
    places[by_user] += _noise(parameters, claims.users, each, rng)
    return Perturbed(
        claims=_laid_out(claims, grid.values(places)),
        promise=parameters.claim_level(),
        user_promise=parameters.user_level(max(1, int(each.max()))),
        law=parameters.law,
        clamped=grid.clamped(claims.values),
        seeded=not rng.private,
    )


def perturb_one(
    values: Any, parameters: Mechanism, *, user: Name = "", rng: Randomness | None = None
) -> Floats:
    """The values of one device's user, as they may leave the device; in the order given.

    Give the claims in the order of their objects' names. Call it once: noise that is drawn again for the same
    claims averages out, and every call costs what the first did.
    """
    numbers = _numbers(values)
    places = parameters.grid.places(numbers)
    places += _noise(parameters, [user], np.array([numbers.size]), rng or secure())
    return parameters.grid.values(places)


def _numbers(values: Any) -> Floats:
    """Finite floats in a row. What NumPy would complain about quotes cells, so it is not passed on."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the values are not all numbers") from None
    if numbers.ndim != 1 or numbers.size == 0:
        raise InputError("the values must be a row of at least one number")
    if not np.isfinite(numbers).all():
        raise InputError("some of the values are not finite numbers")
    return numbers


def _noise(parameters: Mechanism, users: Collection[Name], each: Ints, rng: Randomness) -> Ints:
    """The noise of all users, one after the other, so many claims of each."""
    key, nonces = rng.streams(users, purpose=parameters.method)
    state = np.zeros(STATE_WORDS, dtype=np.uint32)
    noise = np.empty(int(each.sum()), dtype=np.int64)
    last = 0
    for nonce, count in zip(nonces, each.tolist(), strict=True):
        first, last = last, last + count
        start(state, key, nonce)
        parameters.fill_noise(state, noise[first:last])
    return noise


def _laid_out(claims: Claims, values: Floats) -> Claims:
    """The same claims with other values, laid out by these; equal ones in the order of users' names."""
    objects = np.repeat(np.arange(len(claims.objects), dtype=np.int32), claims.counts())
    users, laid_out = np.empty_like(claims.user_codes), np.empty(len(claims))
    offsets = claims.offsets.copy()
    layout.lay_out(objects, claims.user_codes.copy(), values, offsets, len(claims.users), users, laid_out)
    layout.sort_values(offsets, users, laid_out)
    for array in (users, laid_out):
        array.setflags(write=False)
    return Claims(claims.objects, claims.users, claims.offsets, users, laid_out)
