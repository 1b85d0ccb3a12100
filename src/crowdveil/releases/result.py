"""`Release`: synthetic claims together with what was promised about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdveil.arrays import Floats, Ints
from crowdveil.errors import ParameterError
from crowdveil.guarantee import SEEDED, Promise

if TYPE_CHECKING:
    from crowdveil.releases.weights import Weights


class Status(IntEnum):
    """What became of an object."""

    released = 0  # as many claims as asked for
    too_few = 1  # fewer claims than the test needs: refused
    constant = 2  # all claims are equal: a release would state them
    shortfall = 3  # the tries ran out before enough candidates passed


LARGEST_PER_OBJECT = 100_000


def check_per_object(per_object: int) -> None:
    """Refuse a number of claims that is not one."""
    if not isinstance(per_object, int) or not 1 <= per_object <= LARGEST_PER_OBJECT:
        raise ParameterError(
            f"per-object must be at least 1 and at most {LARGEST_PER_OBJECT}, not {per_object}"
        )


@dataclass(frozen=True, eq=False)
class Release:
    """Synthetic claims by object (ascending values, belonging to nobody), and the promise they carry.

    Object i's claims are `values[offsets[i]:offsets[i + 1]]`. `statuses` are for the steward, not for
    publication, and neither are `weights`, the reliability weights that claims were drawn with (paper mode).
    `seeded` is true when the draws can be repeated from a seed: then nothing is promised. `synthetic` is
    false where each value is a person's own, with noise.
    """

    objects: pl.Series  # names of the N objects, ascending
    offsets: Ints  # (N + 1,)
    values: Floats
    statuses: NDArray[np.int8]  # (N,), a Status each
    method: str
    parameters: Mapping[str, Any]  # public: what was asked for
    promise: Promise
    seeded: bool
    synthetic: bool = True
    public: Mapping[str, Any] = field(default_factory=dict)  # public numbers that the promise depends on
    weights: Weights | None = None

    def __post_init__(self) -> None:
        if self.seeded:
            object.__setattr__(self, "promise", SEEDED)

    def __len__(self) -> int:
        return int(self.values.size)

    def of(self, index: int) -> Floats:
        """The released claims of object number `index`."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def to_frame(self) -> pl.DataFrame:
        """Columns `object` and `value`, what is published."""
        codes = np.repeat(np.arange(len(self.objects)), np.diff(self.offsets))
        return pl.DataFrame({"object": self.objects.gather(codes), "value": self.values})

    def parts(self, rows: int) -> Iterator[pl.DataFrame]:
        """The same in frames of whole objects, of about that many rows each; at least one frame."""
        first = 0
        while True:
            aim = int(np.searchsorted(self.offsets, self.offsets[first] + rows, side="right")) - 1
            last = min(len(self.objects), max(first + 1, aim))
            codes = np.repeat(np.arange(first, last), np.diff(self.offsets[first : last + 1]))
            values = self.values[self.offsets[first] : self.offsets[last]]
            yield pl.DataFrame({"object": self.objects.gather(codes), "value": values})
            first = last
            if first == len(self.objects):
                return

    def status_counts(self) -> dict[str, int]:
        """How many objects have each status."""
        counts = np.bincount(self.statuses, minlength=len(Status))
        return {status.name: int(counts[status]) for status in Status}
