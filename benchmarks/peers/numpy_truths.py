"""NumPy alone: sums by group are `bincount`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.truth_sweeps import Floats, discover
from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"numpy {np.__version__}"


def truths(inputs: Arrays, method: str) -> Steps:
    """Codes of objects and users are given for each claim, claims of an object stand together, ascending."""
    return discover(inputs, _Bincounts(inputs), method)


class _Bincounts:
    def __init__(self, inputs: Arrays) -> None:
        self._offsets = inputs["offsets"]
        self._object = np.repeat(np.arange(self._offsets.size - 1), np.diff(self._offsets))
        self._user = inputs["users"].astype(np.int64)  # else every bincount would convert it
        self._values = inputs["values"]
        self._users = int(inputs["user_count"])

    def prepare(self, power: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        x, counts, first = self._values, np.diff(self._offsets), self._offsets[:-1]
        medians = 0.5 * (x[first + counts // 2] + x[first + (counts - 1) // 2])
        self._apart = x - medians[self._object]
        means = np.bincount(self._object, self._apart) / counts
        squares = np.bincount(self._object, (self._apart - means[self._object]) ** 2)
        sd = np.sqrt(squares / (counts - 1))
        self._per_scale = (sd**-power)[self._object]
        return medians, sd, np.bincount(self._user, minlength=self._users)

    def means(self, weights: Floats, prior: float) -> Floats:
        w = weights[self._user]
        found: Floats = np.bincount(self._object, w * self._apart) / (prior + np.bincount(self._object, w))
        return found

    def losses(self, means: Floats) -> Floats:
        residuals = self._apart - means[self._object]
        losses = residuals * residuals * self._per_scale
        found: Floats = np.bincount(self._user, losses, minlength=self._users).astype(np.float64, copy=False)
        return found
