"""`Release`: synthetic claims with their promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.engines import Engine, Kept
from crowdveil.errors import ParameterError
from crowdveil.guarantee import SEEDED, Promise

if TYPE_CHECKING:
    from crowdveil.releases.weights import Weights


class Status(IntEnum):
    """The outcome of a release for one object."""

    released = 0  # with as many claims as requested
    too_few = 1  # fewer claims than the test needs: refused
    constant = 2  # all claims are equal: a release would publish them
    shortfall = 3  # the tries ran out before enough candidates passed


LARGEST_PER_OBJECT = 100_000


def check_per_object(per_object: int) -> None:
    """Raise `ParameterError` for a number of claims per object outside 1 ... LARGEST_PER_OBJECT."""
    if not isinstance(per_object, int) or not 1 <= per_object <= LARGEST_PER_OBJECT:
        raise ParameterError(
            f"per-object must be at least 1 and at most {LARGEST_PER_OBJECT}, not {per_object}"
        )


@dataclass(frozen=True, eq=False)
class Release:
    """Synthetic claims by object (ascending values, without users) and their promise.

    Object i's claims are `values[offsets[i]:offsets[i + 1]]`; an engine may keep the values elsewhere.
    `statuses` and `weights` (the reliability weights of PrisCrowd) are private: they are for the steward and
    are not published. `seeded` is true if the draws can be repeated from a seed; such a release promises
    nothing. `synthetic` is false if each value is one claim with noise.
    """

    objects: pl.Series  # names of the N objects, ascending
    offsets: Ints  # (N + 1,)
    values: Kept  # by value
    statuses: NDArray[np.int8]  # (N,), a Status each
    method: str
    parameters: Mapping[str, Any]  # of the method; public
    promise: Promise
    seeded: bool
    synthetic: bool = True
    user_promise: Promise | None = None  # about all claims of a user, where that is known to differ
    public: Mapping[str, Any] = field(default_factory=dict)  # public numbers on which the promises depend
    weights: Weights | None = None

    def __post_init__(self) -> None:
        if self.seeded:
            object.__setattr__(self, "promise", SEEDED)
            object.__setattr__(self, "user_promise", self.user_promise and SEEDED)

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def of(self, index: int) -> Floats:
        """The released claims of object number `index`, where the values are at hand."""
        values: Floats = self.values[self.offsets[index] : self.offsets[index + 1]]
        return values

    def some(self, rows: Sequence[int], engine: Engine) -> list[Floats]:
        """The released claims of each of these objects, whose numbers ascend, wherever the values are."""
        numbers = np.array(rows, dtype=np.int64)
        if not numbers.size:
            return []
        together = engine.collect(self.values, numbers, self.offsets)
        return np.split(together, np.cumsum(np.diff(self.offsets)[numbers])[:-1])

    def to_frame(self) -> pl.DataFrame:
        """The published table, with columns `object` and `value`, where the values are at hand."""
        codes = np.repeat(np.arange(len(self.objects)), np.diff(self.offsets))
        return pl.DataFrame({"object": self.objects.gather(codes), "value": self.values[:]})

    def status_counts(self) -> dict[str, int]:
        """The number of objects by status."""
        counts = np.bincount(self.statuses, minlength=len(Status))
        return {status.name: int(counts[status]) for status in Status}
