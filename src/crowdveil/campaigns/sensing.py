"""Sensing campaigns: numbers about objects, with noise that the device adds to each.

Where objects have different ranges, a device sends each value as a share of its object's own range, so that
one mechanism with the range 0 to 1 serves all of them; truths are given in the objects' own units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from crowdveil.arrays import Floats, Ints
from crowdveil.campaigns.items import Items
from crowdveil.campaigns.kind import Asked, Batch, Gathered, Kind, Plans, Result, numbers_in
from crowdveil.campaigns.request import described, epsilon_of, unit_of
from crowdveil.campaigns.results import truths_result
from crowdveil.certificates.certificate import Certificate
from crowdveil.claims import Claims
from crowdveil.errors import InputError, ParameterError
from crowdveil.local.description import Description
from crowdveil.local.device_input import finite_numbers
from crowdveil.local.perturbed import ClaimMechanism
from crowdveil.local.split_epsilon import share_of
from crowdveil.local.wire import Wire
from crowdveil.public_range import Range
from crowdveil.randomness import Name, Randomness
from crowdveil.truth.registry import discover

MECHANISMS = ("laplace", "gaussian-exponential", "gaussian-exponential-per-user")
SHARE = Range(0.0, 1.0)
_PAIRS = np.dtype([("object", "<u4"), ("step", "<i8")])


@dataclass(frozen=True)
class Sensing(Kind):
    """Objects, and the mechanism that protects each claim about one of them."""

    items: Items
    description: Description
    unit: Literal["claim", "person"] = "claim"

    name: ClassVar[str] = "sensing"

    def __post_init__(self) -> None:
        if self.description.mechanism not in MECHANISMS:
            raise ParameterError(f"a sensing campaign takes {', '.join(MECHANISMS)}")
        if self.scaled and self._limits != SHARE:
            raise ParameterError("objects with different ranges are reported on the scale 0 to 1")
        _ = self.certificate()  # refuses parameters that cannot be

    @classmethod
    def asked(cls, request: Mapping[str, Any]) -> Sensing:
        """One epsilon for each claim or, for persons, split over all objects."""
        items, unit = Items.from_list(request.get("objects")), unit_of(request, "claim", "person")
        ranges = items.ranges(request.get("range"))
        alike = len(set(ranges.values())) == 1
        epsilon = epsilon_of(request)
        if unit == "person":
            if epsilon is None:
                raise ParameterError("the unit person takes an epsilon, which is split over all objects")
            epsilon = share_of(epsilon, len(items.listed))
        given = tuple(
            replace(item, range=(own.low, own.high))
            for item, own in zip(items.listed, ranges.values(), strict=True)
        )
        description = described(
            request,
            {"auto": "laplace"} | {name: name for name in MECHANISMS},
            next(iter(ranges.values())) if alike else SHARE,
            epsilon,
            objects=len(items.listed),
        )
        return cls(Items(given), description, unit)

    def to_dict(self) -> dict[str, Any]:
        """Objects with their ranges, and the unit that is protected."""
        return {"objects": self.items.to_list(), "unit": self.unit, "scaled": self.scaled}

    @classmethod
    def from_dict(cls, public: Mapping[str, Any]) -> Sensing:
        """From the public document of a campaign."""
        mechanism = public["mechanism"]
        return cls(
            Items.from_list(public["objects"]),
            Description(mechanism["name"], mechanism["parameters"]),
            unit_of(public, "claim", "person"),
        )

    @cached_property
    def claim_mechanism(self) -> ClaimMechanism:
        """What devices do."""
        built: ClaimMechanism = self.description.build()
        return built

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """The range of each object."""
        return self.items.ranges(None)

    @property
    def _limits(self) -> Range:
        return Range(self.claim_mechanism.grid.low, self.claim_mechanism.grid.high)

    @cached_property
    def scaled(self) -> bool:
        """Whether values are sent as shares of their objects' ranges."""
        return any(own != self._limits for own in self.ranges.values())

    def mechanism(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"name": self.description.mechanism, "parameters": dict(self.description.parameters)}

    def _certified(self) -> Certificate:
        """Of a claim, and of a person with one about each object."""
        objects = len(self.items.listed)
        return Certificate(
            kind="noisy claims",
            method=self.description.mechanism,
            parameters=self.description.parameters,
            public={"claims_of_a_user": objects},
            promise=self.claim_mechanism.promise(),
            user_promise=self.claim_mechanism.promise("user", objects),
            seeded=False,
            synthetic=False,
        )

    # --- the device ----------------------------------------------------------------------------------------

    def report_one(
        self,
        answer: Mapping[str, Any],
        asked: Asked,  # noqa: ARG002
        question: Mapping[str, Any] | None = None,  # noqa: ARG002
        *,
        rng: Randomness | None = None,
    ) -> Wire:
        """Noisy claims about the objects that there is a value of."""
        if not answer.keys() <= self.ranges.keys():
            raise InputError("there is a claim about an object that is not listed")
        numbers = finite_numbers(list(answer.values())).tolist()
        values: dict[Name, float] = {
            name: self._sent(name, number) for name, number in zip(answer, numbers, strict=True)
        }
        return self.claim_mechanism.report_one(values, self.items.names, rng=rng)

    def _sent(self, name: str, value: float) -> float:
        """A finite value on the scale of the mechanism."""
        if not self.scaled:
            return value
        own = self.ranges[name]
        return (min(max(value, own.low), own.high) - own.low) / own.length

    # --- the server ----------------------------------------------------------------------------------------

    def receive(self, report: Any, wave: int, asked: Asked, plans: Plans) -> bytes:  # noqa: ARG002
        """Pairs of an object and a number of steps."""
        return self.receive_all([report])[0]

    def receive_all(self, reports: Sequence[Any]) -> list[bytes]:
        """The pairs of each report."""
        claims = self.claim_mechanism.unpacked(reports, self.items.codes)
        pairs = np.empty(len(claims.steps), dtype=_PAIRS)
        pairs["object"], pairs["step"] = claims.objects, claims.steps
        kept, ends = pairs.tobytes(), [0, *accumulate(claims.lengths)]
        size = _PAIRS.itemsize
        return [kept[size * first : size * end] for first, end in pairwise(ends)]

    def gather(self, wave: int) -> Gathered:  # noqa: ARG002
        """No claims yet."""
        return _Gathered(self)


class _Gathered(Gathered):
    """The pairs of all reports, and the places that they come from."""

    def __init__(self, kind: Sensing) -> None:
        self._kind = kind
        self._pairs: list[Any] = [np.zeros(0, dtype=_PAIRS)]
        self._users: list[Ints] = [np.zeros(0, dtype=np.int64)]

    def add(self, batch: Batch, plans: Plans) -> None:  # noqa: ARG002
        """Take in more reports."""
        lengths = np.array([len(payload) for payload in batch.payloads], dtype=np.int64)
        self._pairs.append(numbers_in(batch.payloads, _PAIRS))
        self._users.append(np.repeat(batch.places, lengths // _PAIRS.itemsize))

    def result(self) -> Result:
        """Truths under the law of the noise."""
        truths = discover(self._claims(), law=self._kind.claim_mechanism.law)
        return truths_result(truths, self._own_units() if self._kind.scaled else None)

    def exported(self) -> tuple[pl.DataFrame, Certificate]:
        """Noisy claims as `perturb` writes them; users are places."""
        claims = self._claims()
        frame = pl.DataFrame(
            {
                "object": claims.objects.gather(claims.owners()),
                "user": claims.users.gather(claims.user_codes),
                "value": claims.values,
            }
        )
        return frame, self._kind.certificate()

    def _claims(self) -> Claims:
        """All claims; objects are coded already, in the order of their names."""
        self._pairs, self._users = [np.concatenate(self._pairs)], [np.concatenate(self._users)]
        (pairs,), (users,) = self._pairs, self._users
        values: Floats = self._kind.claim_mechanism.grid.values(pairs["step"].astype(np.int64))
        claims = Claims.from_columns(pairs["object"].astype(np.int64), users, values)
        names = self._kind.items.names.gather(claims.objects).alias("object")
        return replace(claims, objects=names)

    def _own_units(self) -> dict[str, tuple[float, float]]:
        """For each object where its range begins, and how long it is."""
        return {name: (own.low, own.length) for name, own in self._kind.ranges.items()}
