"""What every mechanism on a person's device tells of itself: its name, its unit, its options, its promise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from crowdveil.accounting.parameters import check_whole
from crowdveil.errors import ParameterError
from crowdveil.guarantee import Promise, Unit
from crowdveil.local.description import Description
from crowdveil.local.request import MechanismRequest
from crowdveil.local.wire import Wire
from crowdveil.randomness import Name, Randomness

About = Literal["claims", "cells"]


class Mechanism(ABC):
    """A mechanism that runs on a person's own device. Its fields are its parameters.

    `ClaimMechanism` and `CellMechanism` say what a device does; this is what all of them have in common.
    """

    name: ClassVar[str]  # in the registry, in files and in what devices send
    method: ClassVar[str]  # the purpose of its streams of random numbers: at most 16 bytes
    about: ClassVar[About]  # claims that were made, or every cell whether there is an answer or not
    counted: ClassVar[str]  # what `count` counts in a promise to a user
    unit: ClassVar[Unit]  # what its own epsilon protects
    units: ClassVar[tuple[Unit, ...]]  # all that it can promise about
    options: ClassVar[tuple[str, ...]] = ()  # of a request, besides epsilon and the range

    @abstractmethod
    def promise(self, unit: Unit | None = None, count: int = 1) -> Promise:
        """What is promised for each claim, cell or user; by default for the mechanism's own unit.

        For a user it depends on `count`: how many claims the user made or, where every cell is reported, how
        many objects there are. For one claim or cell it does not.
        """

    @abstractmethod
    def report_one(
        self,
        values: Mapping[Name, float],
        objects: Iterable[Name],
        *,
        place: int = 0,
        user: Name = "",
        rng: Randomness | None = None,
    ) -> Wire:
        """What one device sends, as plain JSON, given its user's values alone.

        Call it once and keep the result: noise that is drawn again for the same values averages out, and
        every call costs what the first did.

        Parameters
        ----------
        values:
            What the user says, by the object's name.
        objects:
            The public list of all objects.
        place:
            The device's place in the public list of devices, from 0; mechanisms that ask different people
            about different objects go by it.
        user:
            The name of the stream under a seed. It is not sent.

        """

    @abstractmethod
    def from_wire(self, wire: Any, objects: Iterable[Name], *, place: int = 0) -> Any:
        """What the device in that place may have sent about these objects; anything else is refused."""

    @abstractmethod
    def collected(
        self, wires: Mapping[Name, Any], objects: Iterable[Name], places: Mapping[Name, int] | None = None
    ) -> Any:
        """What all devices sent, by their users' names, in the table that the bulk path gives.

        `places` are those that devices were given, by default 0, 1, ... in the order of users' names.
        """

    @classmethod
    @abstractmethod
    def ends(cls, request: MechanismRequest) -> tuple[float, float]:
        """The ends of the public range that a request leads to."""

    @classmethod
    @abstractmethod
    def public_range(cls, low: float, high: float) -> dict[str, Any]:
        """The ends of the public range as the parameter of the constructor that takes them."""

    @classmethod
    def describe(cls, request: MechanismRequest) -> Description:
        """The name and the parameters for a request: by default epsilon, the range and the options."""
        return cls.described(request, epsilon=request.strength)

    @classmethod
    def described(cls, request: MechanismRequest, /, **parameters: Any) -> Description:
        """These parameters, then the range and the options that were given, as plain data."""
        return Description(
            cls.name, parameters | {"range": list(cls.ends(request))} | request.given(*cls.options)
        )

    def _unit(self, unit: Unit | None, count: int) -> Unit:
        """The unit that is asked about; a unit or a count that makes no sense here is refused."""
        check_whole(count, f"the number of {self.counted}")
        if unit is not None and unit not in self.units:
            raise ParameterError(
                f"{self.name} promises nothing for a {unit}, only for a {self.units[0]} or user"
            )
        return unit or self.unit


@dataclass(frozen=True)
class Shortcut:
    """A name to ask for a mechanism by, with some of its parameters chosen."""

    mechanism: type[Mechanism]
    describe: Callable[[MechanismRequest], Description]
    options: tuple[str, ...] = ()

    @property
    def about(self) -> About:
        """What the mechanism is about."""
        return self.mechanism.about

    @property
    def unit(self) -> Unit:
        """What the mechanism's own epsilon protects."""
        return self.mechanism.unit
