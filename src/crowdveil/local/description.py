"""A mechanism as plain data, to be kept beside what it made and to be built again from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crowdveil.errors import ParameterError
from crowdveil.local.registry import MECHANISMS


@dataclass(frozen=True)
class Description:
    """A mechanism's name and its parameters: numbers, and `range` as a list of two."""

    mechanism: str
    parameters: Mapping[str, Any]

    @property
    def about(self) -> str:
        """What the mechanism is about: "claims" that were made, or every one of the "cells"."""
        return str(self._mechanism().about)

    def build(self) -> Any:
        """The mechanism: a `ClaimMechanism` or a `CellMechanism`, as `about` tells."""
        mechanism, numbers = self._mechanism(), dict(self.parameters)
        try:
            ends = numbers.pop("range")
            if not all(type(number) in (int, float) for number in (*ends, *numbers.values())):
                raise TypeError
            built = mechanism(**mechanism.public_range(*ends), **numbers)
            built.promise()  # nothing is left that could fail once something was spent
            return built
        except ParameterError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ParameterError(f"these are not the parameters of {self.mechanism!r}") from None

    def _mechanism(self) -> Any:
        """The class of that name. A shortcut has another name than its mechanism and is not described."""
        entry: Any = MECHANISMS.get(self.mechanism)
        if getattr(entry, "name", None) != self.mechanism:
            raise ParameterError(f"there is no mechanism {self.mechanism!r}: is this version too old?")
        return entry
