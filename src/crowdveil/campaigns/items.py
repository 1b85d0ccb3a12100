"""The objects of a campaign: public names, and for measurements the range and unit of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from crowdveil.campaigns.kind import text_of
from crowdveil.errors import ParameterError
from crowdveil.local.device_input import public_objects
from crowdveil.public_range import Range

MOST_OBJECTS = 10_000
LONGEST_UNIT = 40


@dataclass(frozen=True)
class Item:
    """An object: its name, its own range if it has one, and the unit of its values, for people to read."""

    name: str
    range: tuple[float, float] | None = None
    unit: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        entry: dict[str, Any] = {"name": self.name}
        if self.range is not None:
            entry["range"] = list(self.range)
        return entry if self.unit is None else entry | {"unit": self.unit}


@dataclass(frozen=True)
class Items:
    """The objects of a campaign in the order in which they were given; no name twice."""

    listed: tuple[Item, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.listed) <= MOST_OBJECTS:
            raise ParameterError(f"a campaign has 1 to {MOST_OBJECTS:,} objects, not {len(self.listed):,}")
        if len({item.name for item in self.listed}) < len(self.listed):
            raise ParameterError("the list of objects has one of them twice")

    @classmethod
    def from_list(cls, given: Any) -> Items:
        """From names, or from objects with `name`, `range` and `unit`."""
        if not isinstance(given, list):
            raise ParameterError("objects are a list of names, or of objects with a name")
        return cls(tuple(_item(each) for each in given))

    def to_list(self) -> list[dict[str, Any]]:
        """As plain JSON data."""
        return [item.to_dict() for item in self.listed]

    @cached_property
    def names(self) -> pl.Series:
        """All names, ascending: the order in which devices report and draw."""
        return public_objects([item.name for item in self.listed])

    @cached_property
    def codes(self) -> dict[str, int]:
        """The place of each name in `names`."""
        return {name: code for code, name in enumerate(self.names.to_list())}

    def ranges(self, default: Any) -> dict[str, Range]:
        """The range of each object, its own or the campaign's."""
        common = None if default is None else range_of(default)
        ranges = {item.name: common if item.range is None else Range(*item.range) for item in self.listed}
        if None in ranges.values():
            raise ParameterError("which values can there be? Give a range, as [low, high]")
        return {name: own for name, own in ranges.items() if own is not None}


def range_of(given: Any) -> Range:
    """A range from [low, high]."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ParameterError("a range is a list of two numbers, [low, high]")
    if not all(isinstance(end, float | int) and not isinstance(end, bool) for end in given):
        raise ParameterError("a range is a list of two numbers, [low, high]")
    try:
        return Range(float(given[0]), float(given[1]))
    except OverflowError:
        raise ParameterError("a range is a list of two finite numbers, [low, high]") from None


def _item(given: Any) -> Item:
    if isinstance(given, str):
        return Item(text_of(given, "an object's name"))
    if not isinstance(given, Mapping) or not {"name"} <= given.keys() <= {"name", "range", "unit"}:
        raise ParameterError("an object is a name, or has a name and perhaps a range and a unit")
    own, unit = given.get("range"), given.get("unit")
    limits = None if own is None else range_of(own)
    return Item(
        text_of(given["name"], "an object's name"),
        None if limits is None else (limits.low, limits.high),
        None if unit is None else text_of(unit, "an object's unit", LONGEST_UNIT),
    )
