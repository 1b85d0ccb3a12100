"""pandas as libraries for crowdsourced labels use it: a table of weights, or of truths, joined each time.

The tables are keyed by names of tasks and workers, so that nothing depends on their order. Names are numbers
here, which is the best case.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.peers.truth_sweeps import Floats, discover
from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"pandas {pd.__version__}"


def truths(inputs: Arrays, method: str) -> Steps:
    """The table holds names of objects and users, and is there before the clock starts."""
    return discover(inputs, _Merged(inputs), method)


class _Merged:
    def __init__(self, inputs: Arrays) -> None:
        offsets = inputs["offsets"]
        self._claims = pd.DataFrame(
            {
                "object": np.repeat(np.arange(offsets.size - 1), np.diff(offsets)),
                "user": inputs["users"].astype(np.int64),
                "value": inputs["values"],
            }
        )
        self._users = pd.RangeIndex(int(inputs["user_count"]), name="user")

    def prepare(self, power: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        by_object = self._claims.groupby("object")["value"]
        objects = pd.DataFrame({"median": by_object.median(), "sd": by_object.std()})
        claims = self._claims.merge(objects, left_on="object", right_index=True)
        self._objects = objects.index
        self._apart = claims[["object", "user"]].assign(
            apart=claims["value"] - claims["median"], per_scale=claims["sd"] ** -power
        )
        made = claims.groupby("user").size().reindex(self._users)
        return objects["median"].to_numpy(), objects["sd"].to_numpy(), made.to_numpy()

    def means(self, weights: Floats, prior: float) -> Floats:
        table = pd.Series(weights, index=self._users, name="weight")
        joined = self._apart.merge(table, left_on="user", right_index=True)
        joined["weighted"] = joined["weight"] * joined["apart"]
        sums = joined.groupby("object")[["weighted", "weight"]].sum().reindex(self._objects)
        found: Floats = (sums["weighted"] / (prior + sums["weight"])).to_numpy()
        return found

    def losses(self, means: Floats) -> Floats:
        table = pd.Series(means, index=self._objects, name="mean")
        joined = self._apart.merge(table, left_on="object", right_index=True)
        joined["loss"] = (joined["apart"] - joined["mean"]) ** 2 * joined["per_scale"]
        found: Floats = joined.groupby("user")["loss"].sum().reindex(self._users).to_numpy()
        return found
