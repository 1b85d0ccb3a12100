"""crowd-kit's votes: the majority, and Dawid and Skene's model, with a whole confusion matrix or one coin."""

from __future__ import annotations

from importlib.metadata import version

import crowdkit.aggregation as crowdkit  # type: ignore[import-not-found, import-untyped, unused-ignore]
import numpy as np
import pandas as pd

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"crowd-kit {version('crowd-kit')}"


def vote(inputs: Arrays, method: str) -> Steps:
    """A class of its by name, as it comes; the table is there before the clock starts."""
    offsets = inputs["offsets"]
    table = pd.DataFrame(
        {
            "task": np.repeat(np.arange(offsets.size - 1), np.diff(offsets)),
            "worker": inputs["users"],
            "label": inputs["values"].astype(np.int64),
        }
    )
    voting = getattr(crowdkit, method)()
    yield
    found = voting.fit_predict(table)
    yield
    return {"labels": found.reindex(np.arange(offsets.size - 1)).to_numpy()}
