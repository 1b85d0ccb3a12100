"""smartnoise-synth's MST and AIM: a server that is trusted with all records adds the noise.

Domains are declared, as for everybody else. The mbi 1.1 beneath it makes rows whose columns are tied to each
other by the order of rows (mbi 2.0 shuffles them); with `apart` rows are drawn one by one instead.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import Any

import jax  # type: ignore[import-not-found, import-untyped, unused-ignore]
import numpy as np
import pandas as pd

from benchmarks.stopwatch import Arrays, Steps

jax.config.update("jax_enable_x64", True)  # before mbi is imported: with less it may stall

from snsynth import (  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: E402
    Synthesizer,
    TableTransformer,
)

LIBRARY = f"smartnoise-synth {version('smartnoise-synth')}"
DELTA = 1e-9  # the library's own


class _RowByRow:
    """A fitted model that draws each row by itself."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def synthetic_data(self, rows: int) -> Any:
        return self._model.synthetic_data(rows=rows, method="sample")


def records(inputs: Arrays, method: str, epsilon: float, apart: bool, limits: dict[str, int]) -> Steps:
    """Fit to all records within limits of the method's own, and draw as many."""
    warnings.simplefilter("ignore")  # of deprecated ways in which the library calls mbi
    sizes = inputs["sizes"].tolist()
    names = [f"column {place}" for place in range(len(sizes))]
    real = pd.DataFrame(inputs["codes"], columns=names)
    declared = pd.DataFrame(
        {name: np.arange(max(sizes)) % size for name, size in zip(names, sizes, strict=True)}
    )
    transformer = TableTransformer.create(declared, style="cube", categorical_columns=names)
    transformer.fit(declared)
    found = Synthesizer.create(method, epsilon=epsilon, delta=DELTA, **limits)
    yield
    found.fit(real, transformer=transformer)
    if apart:
        found.synthesizer = _RowByRow(found.synthesizer)
    drawn = found.sample(len(real))
    yield
    return {"codes": np.asarray(drawn).astype(np.int32)}
