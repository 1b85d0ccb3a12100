"""diffprivlib's geometric mechanism, a value at a time: it takes no arrays."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from diffprivlib.mechanisms import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    Geometric,
)

from benchmarks.stopwatch import Arrays, Steps

LIBRARY = f"diffprivlib {version('diffprivlib')}"


def discrete_laplace(inputs: Arrays) -> Steps:
    """Scale as given: epsilon is one over it."""
    mechanism = Geometric(epsilon=1.0 / float(inputs["scale"]), sensitivity=1)
    count = int(inputs["count"])
    yield
    draws = [mechanism.randomise(0) for _ in range(count)]
    yield
    return {"draws": np.array(draws)}
