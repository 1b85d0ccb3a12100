"""Perturbing claims on devices: one device's values, or a whole table as all devices together would do it.

Each user's noise comes from a stream of the user's own name, in the order of the objects' names: an engine
draws it for blocks of whole users, and what is noisy goes back to the objects. So the noise of a user depends
neither on other users nor on any value, and a device that knows only its own claims gives the same law as the
simulation with a table, under a seed even the same values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from crowdveil.arrays import Floats, Ints, frozen
from crowdveil.claims import Claims
from crowdveil.engines import Block, Engine, LocalEngine
from crowdveil.errors import InputError
from crowdveil.guarantee import SEEDED, Promise, Unit
from crowdveil.local.device_input import ascending, finite_numbers, public_objects
from crowdveil.local.grid import Grid
from crowdveil.local.mechanism import About, Mechanism
from crowdveil.local.request import MechanismRequest
from crowdveil.local.wire import Wire, check_whole, opened, sealed
from crowdveil.noise_law import NoiseLaw
from crowdveil.public_range import Range
from crowdveil.randomness import Name, Randomness, Streams, Words, secure

OPERATIONS = 100.0  # for a claim, and for a user: draws take many
NO_PAIR = "a claim of a report is a pair: an object, and a whole number of steps"


class Unpacked(NamedTuple):
    """The claims of many reports, one report after the other."""

    lengths: list[int]  # how many claims each report has
    objects: list[int]  # the code of each claim's object
    steps: list[int]  # where each claim lies on the grid


class ClaimMechanism(Mechanism):
    """Noise that a device adds to all claims of its user, in whole steps of a public grid."""

    about: ClassVar[About] = "claims"
    counted: ClassVar[str] = "claims"
    unit: ClassVar[Unit] = "claim"
    units: ClassVar[tuple[Unit, ...]] = ("claim", "user")

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The public grid that claims are rounded to."""

    @property
    @abstractmethod
    def largest_deviation(self) -> float:
        """The standard deviation of the noise in steps, the largest that a device can draw."""

    @property
    @abstractmethod
    def average_noise(self) -> float:
        """The mean absolute noise of a claim."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of a noisy claim around the rounded one."""

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """What is publicly known about the noise."""

    @cached_property
    def farthest(self) -> int:
        """The farthest place that noise is taken to lead to, on either side of the grid's first one."""
        return self.grid.farthest(self.largest_deviation)

    @abstractmethod
    def fill_noise(self, key: Words, nonces: Words, offsets: Ints, out: Ints) -> None:
        """Fill `out` with the noise of users' claims, in steps of the grid.

        User u has a stream of that nonce under the key, and claims from offsets[u] on.
        """

    @classmethod
    def ends(cls, request: MechanismRequest) -> tuple[float, float]:
        """The ends of the public range."""
        return request.range.low, request.range.high

    @classmethod
    def public_range(cls, low: float, high: float) -> dict[str, Any]:
        """The public range of values."""
        return {"range": Range(low, high)}

    def noisy_places(self, values: Any, *, user: Name = "", rng: Randomness | None = None) -> Ints:
        """Noisy places on the grid of one user's values, which are in the order of their objects' names."""
        numbers = finite_numbers(values)
        if numbers.size == 0:
            raise InputError("the values must be a row of at least one number")
        streams = (rng or secure()).all_streams(purpose=self.method)
        return _noisy_places(self, streams, [user], 0, frozen(np.array([0, numbers.size])), numbers)

    def report_one(
        self,
        values: Mapping[Name, float],
        objects: Iterable[Name] | None = None,
        *,
        place: int = 0,  # noqa: ARG002, all devices are asked about the same
        user: Name = "",
        rng: Randomness | None = None,
    ) -> Wire:
        """The objects of the user's claims, and where these lie on the grid, with noise.

        Without a list of objects the claims may be about any; the place does not matter.
        """
        names, order = ascending(values, "object")
        if objects is not None and not set(names) <= set(public_objects(objects)):
            raise InputError("there is a claim about an object that is not listed")
        numbers = list(values.values())
        places = self.noisy_places([numbers[at] for at in order], user=user, rng=rng)
        return self.to_wire(dict(zip(names.to_list(), places.tolist(), strict=True)))

    def to_wire(self, places: Mapping[Name, int]) -> Wire:
        """Noisy places by object as plain JSON: a list of pairs of an object and a whole number of steps."""
        return sealed(self.name, [[name, place] for name, place in places.items()])

    def from_wire(
        self,
        wire: Any,
        objects: Iterable[Name],
        *,
        place: int = 0,  # noqa: ARG002
    ) -> dict[Name, int]:
        """Noisy places on the grid, by object."""
        names = public_objects(objects).to_list()
        claims = self.unpacked([wire], {name: code for code, name in enumerate(names)})
        return {names[code]: step for code, step in zip(claims.objects, claims.steps, strict=True)}

    def collected(
        self,
        wires: Mapping[Name, Any],
        objects: Iterable[Name],
        places: Mapping[Name, int] | None = None,  # noqa: ARG002
    ) -> Claims:
        """The noisy claims of all users whose devices reported."""
        names = public_objects(objects)
        claims = self.unpacked(list(wires.values()), {name: code for code, name in enumerate(names)})
        users = [user for user, count in zip(wires, claims.lengths, strict=True) for _ in range(count)]
        values = self.grid.values(np.array(claims.steps, dtype=np.int64))
        return Claims.from_columns(names.gather(claims.objects), users, values)

    def unpacked(self, wires: Sequence[Any], codes: Mapping[Any, int]) -> Unpacked:
        """The claims of many reports at once, all of them right; `codes` numbers the names of all objects."""
        payloads = [opened(wire, self.name) for wire in wires]
        if not all(type(each) is list and 1 <= len(each) <= len(codes) for each in payloads):
            raise InputError("a report has at least one claim, and at most one about each object")
        pairs = list(chain.from_iterable(payloads))
        if {*map(type, pairs)} != {list} or {*map(len, pairs)} != {2}:
            raise InputError(NO_PAIR)
        names, steps = [name for name, _ in pairs], [step for _, step in pairs]
        if not {*map(type, names)} <= {str, int}:
            raise InputError(NO_PAIR)
        check_whole(steps, -self.farthest, self.farthest)
        if not codes.keys() >= {*names} or sum(map(len, map(dict, payloads))) < len(pairs):
            raise InputError("a report has a claim about an object that is not listed, or two about one")
        return Unpacked([len(each) for each in payloads], [codes[name] for name in names], steps)


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
    claims_of_a_user: int  # the most that one has, at least 1
    seeded: bool

    def __post_init__(self) -> None:
        if self.seeded:
            object.__setattr__(self, "promise", SEEDED)
            object.__setattr__(self, "user_promise", SEEDED)


def perturb(
    claims: Claims,
    mechanism: ClaimMechanism,
    *,
    rng: Randomness | None = None,
    engine: Engine | None = None,
) -> Perturbed:
    """Every claim as its user's device would send it."""
    rng, engine = rng or secure(), engine or LocalEngine()
    most, users = most_claims_of_a_user(claims), claims.by_user()
    (noisy,) = engine.map(
        *("perturbing", users, _noisy_values),
        (mechanism, rng.all_streams(purpose=mechanism.method)),
        per=("claim",),
        operations=OPERATIONS * (len(claims) + claims.user_count),
    )
    return Perturbed(
        claims=claims.with_values(users.returned(noisy)),
        promise=mechanism.promise(),
        user_promise=mechanism.promise("user", most),
        law=mechanism.law,
        clamped=claims.outside(mechanism.grid.low, mechanism.grid.high),
        claims_of_a_user=most,
        seeded=not rng.private,
    )


def most_claims_of_a_user(claims: Claims) -> int:
    """How many claims the user with the most has, at least 1."""
    return max(1, int(claims.claims_per_user().max()))


def perturb_one(
    values: Any, mechanism: ClaimMechanism, *, user: Name = "", rng: Randomness | None = None
) -> Floats:
    """The values of one device's user, as they may leave the device; in the order given.

    Give the claims in the order of their objects' names. Call it once: noise that is drawn again for the same
    claims averages out, and every call costs what the first did.
    """
    return mechanism.grid.values(mechanism.noisy_places(values, user=user, rng=rng))


def _noisy_values(block: Block, shared: tuple[ClaimMechanism, Streams]) -> tuple[Floats]:
    """What the devices of a block of users send for their values."""
    mechanism, streams = shared
    places = _noisy_places(mechanism, streams, block.names, block.first, block.offsets, block.values)
    return (mechanism.grid.values(places),)


def _noisy_places(
    mechanism: ClaimMechanism,
    streams: Streams,
    users: Collection[Name],
    first: int,
    offsets: Ints,
    values: Floats,
) -> Ints:
    """Noisy places of users' values, those of one after those of the other; the first has that number."""
    noise = np.empty(values.size, dtype=np.int64)
    mechanism.fill_noise(streams.key, streams.nonces(users, first), offsets, noise)
    return mechanism.grid.places(values) + noise
